import { fileURLToPath } from 'node:url'
import type { Bidi } from 'bidi-js'
import * as bidiModule from 'bidi-js'
import { getOrMake } from '../../core/kernel/cache.ts'
import type { EmbeddedFont } from './pdfkit-internals.ts'
import { internalsOf } from './pdfkit-internals.ts'
import type { TaggedDocument } from './tagged-document.ts'
import { textObject } from './tagged-document.ts'

export type Weight = 'regular' | 'bold'

const fontFile = (name: string): string => fileURLToPath(new URL(`./fonts/${name}.ttf`, import.meta.url))

const emoji = 'NotoEmoji-Regular'
/** Scripts beyond Latin, Greek and Cyrillic have one weight. */
const otherScripts = [
  'NotoSansArabic-Regular',
  'NotoSansHebrew-Regular',
  'NotoSansThai-Regular',
  'NotoSansDevanagari-Regular',
  'DroidSansFallback',
  emoji,
]

/** In the order in which they are searched for a character. */
const families: Readonly<Record<Weight, readonly string[]>> = {
  regular: ['NotoSans-Regular', ...otherScripts],
  bold: ['NotoSans-Bold', ...otherScripts],
}

/**
 * A glyph to draw: its number in the font of the document, in hexadecimal, and how far it moves on, in thousandths of
 * the size.
 */
interface Glyph {
  readonly code: string
  readonly advance: number
  readonly up: number
  readonly right: number
}

/** Glyphs of one font, in the order in which they are seen. */
interface Run {
  readonly face: Face
  readonly glyphs: readonly Glyph[]
}

interface Face {
  readonly id: string
  readonly embedded: EmbeddedFont
  readonly known: Map<number, Glyph | undefined>
}

/** The types of the package are those of its other form, which Node does not load. */
const bidi = (bidiModule.default as unknown as () => Bidi)()

/**
 * Scripts whose letters are joined, moved or reordered, marks that are put on letters, and emoji of several characters:
 * they need the tables of the font.
 */
const complex = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\p{M}\p{Cf}\p{Emoji_Modifier}\p{RI}]/u
const rightToLeft = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufeff]/

/** How a text is set. */
interface Look {
  readonly weight: Weight
  readonly size: number
}

/** Where a text is drawn. */
interface TextPlace {
  readonly x: number
  readonly y: number
  readonly room: number
  readonly align?: 'left' | 'right'
  readonly isFigure?: boolean
}

/** One line of a text within its room. */
interface Fitted {
  readonly text: string
  readonly runs: readonly Run[]
  readonly width: number
  readonly isShort: boolean
  readonly look: Look
}

/** A text that is set, and not drawn yet. */
export interface SetText {
  readonly lines: readonly Fitted[]
  /** Attributes of the element that has the text, if programs could not read it as it is drawn. */
  readonly attributes: string
}

const ellipsis = '…'
/** Names often differ only at their ends. */
const keptAtEnd = 5
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** It is drawn in the place of characters that no font has. */
const replacement = '\ufffd'
const invisible = /\p{Cf}/u

/** Sets texts. Every text is shown as far as the fonts of this folder have its characters. */
export class Typesetter {
  readonly #document: TaggedDocument
  readonly #faces = new Map<string, Face>()

  constructor(document: TaggedDocument) {
    this.#document = document
  }

  #face(name: string): Face {
    return getOrMake(this.#faces, name, () => {
      this.#document.font(fontFile(name))
      const embedded = internalsOf(this.#document)._font
      return { id: embedded.id, embedded, known: new Map() }
    })
  }

  #glyphOf(face: Face, codePoint: number): Glyph | undefined {
    if (face.known.has(codePoint)) return face.known.get(codePoint)
    const { font } = face.embedded
    const glyph = font.hasGlyphForCodePoint(codePoint) ? font.glyphForCodePoint(codePoint) : undefined
    const made = glyph === undefined ? undefined : included(face, glyph.id, glyph.advanceWidth, [codePoint])
    face.known.set(codePoint, made)
    return made
  }

  #faceFor(codePoint: number, weight: Weight, before: Face | undefined): Face {
    // A space or a mark stays with the letters before it, so that words of a script are shaped together. Spaces and
    // digits of emoji are as wide as these.
    const isKept = isMark(codePoint) || (codePoint < 0x41 && before !== this.#faces.get(emoji))
    if (before !== undefined && isKept && this.#glyphOf(before, codePoint) !== undefined) return before
    for (const name of families[weight]) {
      const face = this.#face(name)
      if (this.#glyphOf(face, codePoint) !== undefined) return face
    }
    return before ?? this.#face(families[weight][0] ?? '')
  }

  /** Parts of a text in the same font. */
  #byFace(text: string, weight: Weight): { readonly face: Face; text: string }[] {
    const parts: { readonly face: Face; text: string }[] = []
    for (const character of text) {
      const last = parts.at(-1)
      const face = this.#faceFor(character.codePointAt(0) ?? 0, weight, last?.face)
      if (last?.face === face) last.text += character
      else parts.push({ face, text: character })
    }
    return parts
  }

  #plain(face: Face, text: string): Run {
    return {
      face,
      glyphs: Array.from(text, (character) => this.#glyphOf(face, character.codePointAt(0) ?? 0)).filter(
        (glyph) => glyph !== undefined,
      ),
    }
  }

  /** Returns a text of which the first font has all characters, as most have; undefined if it has not. */
  #simple(text: string, weight: Weight): Run | undefined {
    const face = this.#face(families[weight][0] ?? '')
    const glyphs: Glyph[] = []
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      // Marks are from here on, and the halves of characters beyond 16 bits.
      if (code >= 0x300 && (code < 0x370 || code >= 0x483)) return undefined
      const glyph = this.#glyphOf(face, code)
      if (glyph === undefined) return undefined
      glyphs.push(glyph)
    }
    return { face, glyphs }
  }

  /**
   * Returns a text without the characters that no font has. PDF/A and PDF/UA do not allow the glyph that fonts have for
   * these.
   */
  #drawable(text: string, weight: Weight): string {
    const hasGlyph = (codePoint: number): boolean =>
      families[weight].some((name) => this.#glyphOf(this.#face(name), codePoint) !== undefined)
    return Array.from(text, (character) =>
      hasGlyph(character.codePointAt(0) ?? 0) ? character : invisible.test(character) ? '' : replacement,
    ).join('')
  }

  #isReplaced(text: string, weight: Weight): boolean {
    return this.#simple(text, weight) === undefined && this.#drawable(text, weight) !== text
  }

  /** Returns the runs of a text of one direction. */
  #directed(text: string, weight: Weight, isRightToLeft: boolean): readonly Run[] {
    const runs = this.#byFace(text, weight).map((part) =>
      isRightToLeft || complex.test(part.text)
        ? shaped(part.face, part.text, isRightToLeft)
        : this.#plain(part.face, part.text),
    )
    return isRightToLeft ? runs.reverse() : runs
  }

  #runs(text: string, weight: Weight): readonly Run[] {
    const simple = this.#simple(text, weight)
    if (simple !== undefined) return [simple]
    const drawable = this.#drawable(text, weight)
    if (!rightToLeft.test(drawable)) return this.#directed(drawable, weight, false)
    return visualParts(drawable).flatMap((part) => this.#directed(part.text, weight, part.isRightToLeft))
  }

  /** Returns the width of a text in points. */
  width(text: string, weight: Weight, size: number): number {
    return widthOf(this.#runs(shown(text), weight), size)
  }

  /**
   * Returns the operators that draw a text at a base line, at most `room` points wide: a longer text has an ellipsis
   * before its last letters, and a longer figure, of which nothing may be left out, is set smaller. `align` is of the
   * text in its room.
   */
  line(text: string, place: TextPlace, given: Look): string {
    return this.#drawn(
      place.isFigure === true ? this.#whole(text, place.room, given) : this.#fitted(shown(text), place.room, given),
      place,
      text,
    )
  }

  /**
   * Sets a text in as many lines as it needs, `mostLines` at most: the last of them is shortened then. A figure has one
   * line.
   */
  set(text: string, room: number, look: Look, isFigure = false): SetText {
    const lines = isFigure ? [this.#whole(text, room, look)] : this.#broken(shown(text), room, look)
    const isBroken = lines.length > 1 || lines.some(({ isShort }) => isShort)
    return { lines, attributes: isBroken || rightToLeft.test(text) ? actualText(text) : '' }
  }

  /** Returns the operators that draw a text that was set. `place.y` is the base line of its first line. */
  draw({ lines }: SetText, place: TextPlace, lineHeight: number): string {
    return lines
      .map((line, index) => this.#drawn(line, { ...place, y: place.y + index * lineHeight }, line.text))
      .join('\n')
  }

  #drawn({ runs, width, isShort, look }: Fitted, place: TextPlace, text: string): string {
    const { fonts } = internalsOf(this.#document).page
    let x = place.align === 'right' ? place.x + place.room - width : place.x
    const drawn: string[] = []
    for (const { face, glyphs } of runs) {
      fonts[face.id] ??= face.embedded.ref()
      drawn.push(`/${face.id} ${look.size} Tf`)
      if (glyphs.every(({ up, right }) => up === 0 && right === 0)) {
        drawn.push(`1 0 0 -1 ${points(x)} ${points(place.y)} Tm <${glyphs.map(({ code }) => code).join('')}> Tj`)
        x += glyphs.reduce((sum, { advance }) => sum + advance, 0) * (look.size / 1000)
        continue
      }
      for (const { code, advance, up, right } of glyphs) {
        drawn.push(
          `1 0 0 -1 ${points(x + (right * look.size) / 1000)} ${points(place.y - (up * look.size) / 1000)} ` +
            `Tm <${code}> Tj`,
        )
        x += (advance * look.size) / 1000
      }
    }
    const operators = `BT ${drawn.join(' ')} ET`
    // The text for programs that read the document: of glyphs that are joined or replaced, and of a shortened line.
    // Programs take the glyphs of a line from right to left in the order of reading by themselves, and would reverse a
    // text that is given here; such a text is at the element.
    const isGiven = !rightToLeft.test(text) && (isShort || complex.test(text) || this.#isReplaced(text, look.weight))
    return isGiven ? `/Span <<${actualText(text)}>> BDC ${operators} EMC` : operators
  }

  /** Breaks a text where words or parts of names end, otherwise between letters. */
  #broken(text: string, room: number, look: Look): readonly Fitted[] {
    const lines: Fitted[] = []
    let rest = text
    for (;;) {
      const runs = this.#runs(rest, look.weight)
      const width = widthOf(runs, look.size)
      if (width <= room) return [...lines, { text: rest, runs, width, isShort: false, look }]
      if (lines.length === mostLines - 1) return [...lines, this.#fitted(rest, room, look)]
      const end = this.#endOfLine(rest, room, look)
      const line = rest.slice(0, end)
      rest = rest.slice(end).trimStart()
      lines.push(this.#fitted(line.trimEnd(), room, look))
    }
  }

  /** Returns where the first line of a text ends. A letter is at most as wide alone as it is joined to others. */
  #endOfLine(text: string, room: number, look: Look): number {
    let [width, end, lastBreak] = [0, 0, 0]
    for (const { segment } of graphemes.segment(text)) {
      width += widthOf(this.#runs(segment, look.weight), look.size)
      if (width > room && end > 0) break
      end += segment.length
      if (breaksAfter.test(segment)) lastBreak = end
    }
    // A line that is nearly empty would cost more than a name that is broken within a part of it.
    return lastBreak * 3 > end ? lastBreak : end
  }

  #whole(text: string, room: number, { weight, size }: Look): Fitted {
    const runs = this.#runs(shown(text), weight)
    const width = widthOf(runs, size)
    // Sizes are written with two decimals.
    const fitting = width <= room ? size : Math.floor(((size * room) / width) * 100) / 100
    return { text, runs, width: widthOf(runs, fitting), isShort: false, look: { weight, size: fitting } }
  }

  #fitted(text: string, room: number, look: Look): Fitted {
    const { weight, size } = look
    const runs = this.#runs(text, weight)
    const width = widthOf(runs, size)
    if (width <= room) return { text, runs, width, isShort: false, look }
    // A text is measured only as far as it may fit: the narrowest letters are a fifth of the size.
    const parts = Array.from(
      graphemes.segment(text.slice(0, Math.ceil((room / size) * 8) + 8)),
      ({ segment }) => segment,
    )
    const end = Array.from(graphemes.segment(text.slice(-4 * keptAtEnd)), ({ segment }) => segment)
      .slice(-keptAtEnd)
      .join('')
    const cut = (count: number): string =>
      parts.slice(0, count).join('').trimEnd() + ellipsis + (room < size * keptAtEnd * 2 ? '' : end)
    let [fits, tooMany] = [0, parts.length]
    while (fits + 1 < tooMany) {
      const middle = (fits + tooMany) >> 1
      if (widthOf(this.#runs(cut(middle), weight), size) <= room) fits = middle
      else tooMany = middle
    }
    const short = this.#runs(cut(fits), weight)
    return { text, runs: short, width: widthOf(short, size), isShort: true, look }
  }
}

/** More lines of one text would leave no room for others. */
const mostLines = 30
const breaksAfter = /[\s\-./_:,]$/

/** The entry of a dictionary that gives the text of what is drawn. */
const actualText = (text: string): string => `/ActualText ${textObject(text)}`

/**
 * Longer texts are cut before anything is measured. Control characters have no glyphs, and there is one form of each
 * emoji.
 */
const longest = 1_000
const shown = (text: string): string =>
  (text.length > longest ? text.slice(0, longest) : text)
    .toWellFormed()
    .replace(/\p{Cc}/gu, ' ')
    .replace(/[\ufe0e\ufe0f]/g, '')

const isMark = (codePoint: number): boolean => /[\p{M}\p{Cf}]/u.test(String.fromCodePoint(codePoint))

const points = (value: number): string => String(Math.round(value * 100) / 100)

const widthOf = (runs: readonly Run[], size: number): number => {
  let sum = 0
  for (const { glyphs } of runs) for (const { advance } of glyphs) sum += advance
  return (sum * size) / 1000
}

/** Takes a glyph into the part of the font that is embedded. `advance` and the offsets are in units of the font. */
const included = (
  { embedded }: Face,
  id: number,
  advance: number,
  codePoints: readonly number[],
  up = 0,
  right = 0,
  width = advance,
): Glyph => {
  const code = embedded.subset.includeGlyph(id)
  const scale = 1000 / embedded.font.unitsPerEm
  embedded.widths[code] ??= width * scale
  embedded.unicode[code] ??= codePoints
  return { code: code.toString(16).padStart(4, '0'), advance: advance * scale, up: up * scale, right: right * scale }
}

/** Returns the glyphs by the tables of the font, which join letters and place marks. */
const shaped = (face: Face, text: string, isRightToLeft: boolean): Run => {
  const { glyphs, positions } = face.embedded.font.layout(text, [], undefined, undefined, isRightToLeft ? 'rtl' : 'ltr')
  return {
    face,
    glyphs: glyphs.map((glyph, i) => {
      const { xAdvance = glyph.advanceWidth, yOffset = 0, xOffset = 0 } = positions[i] ?? {}
      return included(
        face,
        glyph.id,
        xAdvance,
        isRightToLeft ? oneCharacter(glyph.codePoints) : glyph.codePoints,
        yOffset,
        xOffset,
        glyph.advanceWidth,
      )
    }),
  }
}

const lam = 0x644
/** The ligatures of lam with these letters as single characters. */
const lamWith: ReadonlyMap<number | undefined, number> = new Map([
  [0x622, 0xfef5],
  [0x623, 0xfef7],
  [0x625, 0xfef9],
  [0x627, 0xfefb],
])

/**
 * Programs that put the glyphs of a line into the order of reading differ in the order of the characters of one glyph,
 * so a ligature is given as one character.
 */
const oneCharacter = (codePoints: readonly number[]): readonly number[] => {
  const ligature = codePoints.length === 2 && codePoints[0] === lam ? lamWith.get(codePoints[1]) : undefined
  return ligature === undefined ? codePoints : [ligature]
}

/**
 * A part that is read from right to left: its letters, and what is between them unless that has letters of the other
 * direction.
 */
const rightToLeftPart =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff](?:(?:[^\p{L}]|[\u200e\u200f])*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff])*\p{M}*/gu

/**
 * Returns the parts of a text from left to right. Each part is in the order of reading. As in the rest of the document,
 * parts follow each other from left to right, so that `-prod-1` is behind a name in Arabic, and programs find it there.
 */
const visualParts = (text: string): readonly VisualPart[] => {
  const parts: VisualPart[] = []
  let end = 0
  for (const { 0: part, index } of text.matchAll(rightToLeftPart)) {
    if (index > end) parts.push({ text: text.slice(end, index), isRightToLeft: false })
    parts.push(...partsOfRightToLeft(part))
    end = index + part.length
  }
  if (end < text.length) parts.push({ text: text.slice(end), isRightToLeft: false })
  return parts
}

interface VisualPart {
  text: string
  readonly isRightToLeft: boolean
}

/** Returns the parts of a text that is read from right to left, with numbers in it, from left to right. */
const partsOfRightToLeft = (text: string): readonly VisualPart[] => {
  const embedding = bidi.getEmbeddingLevels(text, 'rtl')
  const order = Array.from({ length: text.length }, (_, i) => i)
  for (const [start = 0, end = 0] of bidi.getReorderSegments(text, embedding)) {
    order.splice(start, end - start + 1, ...order.slice(start, end + 1).reverse())
  }
  const parts: VisualPart[] = []
  let before = -2
  for (const index of order) {
    const isRightToLeft = (embedding.levels[index] ?? 0) % 2 === 1
    const character = (isRightToLeft ? bidi.getMirroredCharacter(text.charAt(index)) : null) ?? text.charAt(index)
    const last = parts.at(-1)
    if (last?.isRightToLeft === isRightToLeft && index === before + (isRightToLeft ? -1 : 1))
      last.text = isRightToLeft ? character + last.text : last.text + character
    else parts.push({ text: character, isRightToLeft })
    before = index
  }
  return parts
}
