/** An indirect object of pdfkit. */
export interface PdfReference {
  readonly id: number
  readonly data: Record<string, unknown>
  write(text: string): void
  end(): void
}

/** A glyph and its place, in units of the font. */
interface ShapedGlyph {
  readonly id: number
  readonly advanceWidth: number
  readonly codePoints: readonly number[]
}

/** A font as fontkit reads it. */
interface FontFile {
  readonly unitsPerEm: number
  hasGlyphForCodePoint(codePoint: number): boolean
  glyphForCodePoint(codePoint: number): ShapedGlyph
  layout(
    text: string,
    features: readonly string[],
    script: undefined,
    language: undefined,
    direction: 'ltr' | 'rtl',
  ): {
    readonly glyphs: readonly ShapedGlyph[]
    readonly positions: readonly { readonly xAdvance: number; readonly xOffset: number; readonly yOffset: number }[]
  }
}

/**
 * A font of a document. Only the glyphs of the subset are embedded; their widths and texts are kept by their number in
 * it.
 */
export interface EmbeddedFont {
  readonly id: string
  readonly font: FontFile
  readonly subset: { includeGlyph(id: number): number }
  readonly widths: (number | undefined)[]
  readonly unicode: (readonly number[] | undefined)[]
  ref(): PdfReference
}

/**
 * What pdfkit's types leave out. The version of pdfkit is exact in package.json; the tests read the documents that come
 * of it.
 */
interface Internals {
  readonly _offsets: readonly number[]
  readonly _offset: number
  readonly _root: PdfReference
  readonly _info: PdfReference
  readonly _id: Uint8Array
  readonly _font: EmbeddedFont
  readonly page: {
    readonly dictionary: PdfReference
    readonly fonts: Record<string, PdfReference>
    readonly xobjects: Record<string, PdfReference>
  }
  ref(data: Readonly<Record<string, unknown>>): PdfReference
  _write(data: string | Uint8Array): void
}

export const internalsOf = (document: PDFKit.PDFDocument): Internals => document as unknown as Internals
