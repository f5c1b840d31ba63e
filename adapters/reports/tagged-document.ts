import { deflateSync } from 'node:zlib'
import Mustache from 'mustache'
import PDFDocument from 'pdfkit'
import { internalsOf } from './pdfkit-internals.ts'

/** Objects of the structure have numbers from here on; those of pdfkit are below. */
const firstOwnId = 1_000_000
const objectsInStream = 2_000

/** pdfkit writes values that it does not know as their text. */
class OwnReference {
  readonly id: number
  constructor(id: number) {
    this.id = id
  }
  get [Symbol.toStringTag](): string {
    return 'OwnReference'
  }
  toString(): string {
    return `${this.id} 0 R`
  }
}

/** A text as a string object: UTF-16 in hexadecimal, which needs no escapes. */
export const textObject = (text: string): string => `<FEFF${Buffer.from(text, 'utf16le').swap16().toString('hex')}>`

/** Where an own object is: at an offset in the file, or at an index in a stream of objects. */
type Place = { readonly offset: number } | { readonly stream: number; readonly index: number }

interface OpenElement {
  readonly id: number
  readonly type: string
  readonly attributes: string
  readonly kids: string[]
}

/**
 * A document of pdfkit with a structure for screen readers. pdfkit has one of its own, which takes 100 bytes of the
 * file and 2,000 bytes of memory for each cell of a table. Here the elements are written as soon as they end,
 * compressed, into streams of objects, and the table of references is a stream as well (PDF 1.5).
 */
export class TaggedDocument extends PDFDocument {
  readonly #places: Place[] = []
  readonly #open: OpenElement[] = []
  #waiting: { readonly id: number; readonly body: string }[] = []
  readonly #pages: number[] = []
  #leaves: number[] = []
  readonly #treeId: number

  constructor(options: PDFKit.PDFDocumentOptions) {
    super({
      ...options,
      autoFirstPage: false,
      bufferPages: false,
      compress: true,
      displayTitle: true,
      pdfVersion: '1.7',
      subset: 'PDF/A-2a',
    })
    this.#treeId = this.#newId()
    const root = internalsOf(this)._root.data
    root['MarkInfo'] = { Marked: true }
    root['StructTreeRoot'] = new OwnReference(this.#treeId)
    this.beginElement('Document')
  }

  #newId(): number {
    return firstOwnId + this.#places.push({ offset: 0 }) - 1
  }

  #add(id: number, body: string): void {
    this.#waiting.push({ id, body })
    if (this.#waiting.length >= objectsInStream) this.#writeObjects()
  }

  #writeObjects(): void {
    if (this.#waiting.length === 0) return
    const stream = this.#newId()
    let offset = 0
    const head: string[] = []
    this.#waiting.forEach(({ id, body }, index) => {
      head.push(`${id} ${offset}`)
      offset += body.length + 1
      this.#places[id - firstOwnId] = { stream, index }
    })
    const start = `${head.join(' ')}\n`
    const bytes = Buffer.from(start + this.#waiting.map(({ body }) => body).join('\n'), 'latin1')
    this.#writeStream(stream, `/Type /ObjStm /N ${this.#waiting.length} /First ${start.length}`, bytes)
    this.#waiting = []
  }

  #writeStream(id: number, dictionary: string, bytes: Uint8Array): void {
    const inner = internalsOf(this)
    this.#places[id - firstOwnId] = { offset: inner._offset }
    const compressed = deflateSync(bytes)
    inner._write(`${id} 0 obj\n<< ${dictionary} /Length ${compressed.length} /Filter /FlateDecode >>\nstream`)
    inner._write(compressed)
    inner._write('\nendstream\nendobj')
  }

  #endPage(): void {
    if (this.#pages.length === 0) return
    const id = this.#pages.at(-1) ?? 0
    this.#add(id, `[${this.#leaves.map((leaf) => `${leaf} 0 R`).join(' ')}]`)
    this.#leaves = []
  }

  /** Begins a page. The pages before it are complete. */
  beginPage(): void {
    this.#endPage()
    this.addPage()
    const { data } = internalsOf(this).page.dictionary
    data['StructParents'] = this.#pages.length
    data['Tabs'] = 'S'
    this.#pages.push(this.#newId())
  }

  /** Begins an element inside of the one that was begun last. `attributes` are entries of its dictionary. */
  beginElement(type: string, attributes = ''): void {
    const id = this.#newId()
    this.#open.at(-1)?.kids.push(`${id} 0 R`)
    this.#open.push({ id, type, attributes, kids: [] })
  }

  /** Ends the element that was begun last. */
  endElement(): void {
    const element = this.#open.pop()
    if (element === undefined) return
    const parent = this.#open.at(-1)?.id ?? this.#treeId
    this.#add(
      element.id,
      `<</Type/StructElem/S/${element.type}/P ${parent} 0 R${element.attributes}/K[${element.kids.join(' ')}]>>`,
    )
  }

  /** Returns operators of the content of the page as one element without elements of its own. */
  tagged(type: string, operators: string, attributes = ''): string {
    const id = this.#newId()
    const parent = this.#open.at(-1)
    parent?.kids.push(`${id} 0 R`)
    const mark = this.#leaves.push(id) - 1
    const page = internalsOf(this).page.dictionary.id
    this.#add(
      id,
      `<</Type/StructElem/S/${type}/P ${parent?.id ?? this.#treeId} 0 R/Pg ${page} 0 R${attributes}/K ${mark}>>`,
    )
    return `/${type} <</MCID ${mark}>> BDC\n${operators}\nEMC`
  }

  /** Ends the document. Its last bytes can be read after it. */
  override end(): void {
    while (this.#open.length > 1) this.endElement()
    this.#endPage()
    const root = this.#open.at(-1)
    this.endElement()
    const parents = this.#newId()
    this.#add(parents, `<</Nums[${this.#pages.map((id, page) => `${page} ${id} 0 R`).join(' ')}]>>`)
    this.#add(
      this.#treeId,
      `<</Type/StructTreeRoot/K ${root?.id ?? 0} 0 R/ParentTree ${parents} 0 R/ParentTreeNextKey ` +
        `${this.#pages.length}>>`,
    )
    super.end()
  }

  /** Called by pdfkit to end its own structure, which is not used. */
  override endMarkings(): void {
    this.#writeObjects()
  }

  /** Called by pdfkit to write the properties of the document, whose texts it does not escape. */
  override endMetadata(): void {
    this.appendXML(universalAccess)
    this.info = Object.fromEntries(
      Object.entries(this.info).map(([name, value]) => [name, typeof value === 'string' ? xmlOf(value) : value]),
    )
    super.endMetadata()
  }

  /** Called by pdfkit when all objects are written, to write the table of their places. */
  _finalize(): void {
    const { _offsets, _offset, _root, _info, _id } = internalsOf(this)
    const id = this.#newId()
    this.#places[id - firstOwnId] = { offset: _offset }
    const places: Place[] = [..._offsets.map((offset) => ({ offset })), ...this.#places]
    const identity = `<${Buffer.from(_id).toString('hex')}>`
    this.#writeStream(
      id,
      `/Type /XRef /Size ${id + 1} /Root ${_root.id} 0 R /Info ${_info.id} 0 R /ID [${identity} ` +
        `${identity}] /W [1 5 2] ` +
        `/Index [0 1 1 ${_offsets.length} ${firstOwnId} ${this.#places.length}] /DecodeParms << /Predictor ` +
        `12 /Columns ${columns} >>`,
      rowsOf(places),
    )
    internalsOf(this)._write(`startxref\n${_offset}\n%%EOF`)
    this.push(null)
  }
}

/** Returns a text as content of XML, without the characters that XML does not have. */
const xmlOf = (text: string): string =>
  Mustache.escape(text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ''))

/**
 * The statement that the document is PDF/UA-1, and the description of that property, which PDF/A needs for all that it
 * does not define.
 */
const universalAccess = `
  <rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/"><pdfuaid:part>1</pdfuaid:part></rdf:Description>
  <rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
      xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
    <pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
      <pdfaSchema:schema>PDF/UA identification</pdfaSchema:schema>
      <pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
      <pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
      <pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
        <pdfaProperty:name>part</pdfaProperty:name>
        <pdfaProperty:valueType>Integer</pdfaProperty:valueType>
        <pdfaProperty:category>internal</pdfaProperty:category>
        <pdfaProperty:description>The part of ISO 14289 to which the document conforms</pdfaProperty:description>
      </rdf:li></rdf:Seq></pdfaSchema:property>
    </rdf:li></rdf:Bag></pdfaExtension:schemas>
  </rdf:Description>`

const columns = 8

/**
 * The rows of the table of references, as differences from the row before. The first is that of object 0, which is
 * free.
 */
const rowsOf = (places: readonly Place[]): Uint8Array => {
  const rows = Buffer.alloc((places.length + 1) * columns)
  rows.writeUInt16BE(0xffff, columns - 2)
  places.forEach((place, i) => {
    const at = (i + 1) * columns
    rows[at] = 'stream' in place ? 2 : 1
    rows.writeUIntBE('stream' in place ? place.stream : place.offset, at + 1, 5)
    rows.writeUInt16BE('stream' in place ? place.index : 0, at + 6)
  })
  const differences = Buffer.alloc((places.length + 1) * (columns + 1))
  for (let row = 0; row <= places.length; row++) {
    differences[row * (columns + 1)] = 2
    for (let column = 0; column < columns; column++) {
      const before = row === 0 ? 0 : (rows[(row - 1) * columns + column] ?? 0)
      differences[row * (columns + 1) + 1 + column] = ((rows[row * columns + column] ?? 0) - before) & 0xff
    }
  }
  return differences
}
