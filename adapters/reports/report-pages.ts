import type { ReportChart, ReportColumn, ReportCover, ReportSummary } from '../../core/usage/reports/ports.ts'
import { monthNames } from '../../core/usage/types.ts'
import { internalsOf } from './pdfkit-internals.ts'
import type { PdfReference } from './pdfkit-internals.ts'
import { chartAttributes, chartHeight, chartOperators } from './report-chart.ts'
import type { ReportOutline } from './pdf-renderer.ts'
import type { Palette } from './report-style.ts'
import { artifact, black, filled, grey, page, paletteOf, rule, stripe } from './report-style.ts'
import type { TaggedDocument } from './tagged-document.ts'
import { Typesetter } from './typesetter.ts'

type Rows = readonly (readonly string[])[]

/** Where the rows come from and the pages go. */
export interface ReportStreams {
  /** Returns the next rows of a table; undefined after the last. */
  rows(table: number): Promise<Rows | undefined>
  /** Called when pages are complete. */
  flush(): Promise<void>
}

const cellText = { weight: 'regular', size: 7.5 } as const
const idText = { weight: 'regular', size: 5.8 } as const
const headText = { weight: 'bold', size: 6.5 } as const
const totalText = { weight: 'bold', size: 7.5 } as const
const rowHeight = 12.5
const lineHeight = 9
const headLine = 8
const padding = 2.5
const logoBox = { width: 180, height: 56 } as const

/** Returns `June 2026`. */
export const monthTitle = (month: number): string => `${monthNames[(month % 100) - 1] ?? ''} ${Math.floor(month / 100)}`

const minuteText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

type Cover = ReportCover & { readonly footer: string; readonly warning: string }

/** Returns the cover of a document; that of a report of usage if it has none of its own. */
export const coverOf = ({ cover, month, revision, status, generatedAt }: ReportOutline): Cover => {
  if (cover !== undefined) return { ...cover, footer: `${cover.title}, ${monthTitle(month)}`, warning: '' }
  const isFinal = status === 'final'
  return {
    title: 'Usage report',
    figures: [
      ['Status', isFinal ? 'Final' : 'Provisional'],
      ['Revision', String(revision)],
      ['Computed at', minuteText(generatedAt)],
    ],
    summaries: [],
    footnote:
      'Days and months are those of UTC. A core-month is one core for every second of this month; a ' +
      'GiB-month is one GiB likewise.',
    notes: [],
    footer: `${monthTitle(month)}, revision ${revision}, ${status}`,
    warning: isFinal ? '' : 'The figures of a provisional report can change until it is final.',
  }
}

interface PlacedColumn extends ReportColumn {
  readonly x: number
  readonly room: number
}

const placed = (columns: readonly ReportColumn[]): readonly PlacedColumn[] => {
  const total = columns.reduce((sum, { width }) => sum + width, 0)
  let x: number = page.left
  return columns.map((column) => {
    const width = ((page.right - page.left) * column.width) / total
    const at = x
    x += width
    return { ...column, x: at + padding, room: width - 2 * padding }
  })
}

/** Writes the pages of one report. */
export class ReportPages {
  readonly #document: TaggedDocument
  readonly #typesetter: Typesetter
  readonly #outline: ReportOutline
  readonly #streams: ReportStreams
  readonly #palette: Palette
  /** The number of pages, which is known at the end. All pages refer to it. */
  readonly #pageCount: PdfReference
  #pages = 0
  #y = 0

  constructor(document: TaggedDocument, outline: ReportOutline, streams: ReportStreams) {
    this.#document = document
    this.#outline = outline
    this.#streams = streams
    this.#typesetter = new Typesetter(document)
    this.#palette = paletteOf(outline.branding.color)
    this.#pageCount = internalsOf(document).ref({ Type: 'XObject', Subtype: 'Form', BBox: [0, -12, 60, 6] })
  }

  /** Writes all pages. */
  async write(): Promise<void> {
    await this.#cover()
    let table = 0
    for (const section of this.#outline.sections) {
      await this.#newPage()
      this.#document.beginElement('Sect')
      const bookmark = this.#document.outline.addItem(section.title)
      this.#heading('H1', section.title, 20)
      await this.#figures(section.figures)
      if (section.charts.length + section.tables.length === 0)
        this.#text('P', 'Nothing was used in this month.', { x: page.left, y: this.#y + 8, room: 300 }, cellText, grey)
      for (const chart of section.charts) await this.#chart(chart)
      for (const each of section.tables) {
        await this.#room(80)
        bookmark.addItem(each.title)
        await this.#table(each, table)
        table += 1
      }
      this.#document.endElement()
    }
    const { weight, size } = footerText
    this.#pageCount.write(
      `${grey}\n${this.#typesetter.line(String(this.#pages), { x: 0, y: 0, room: 60 }, { weight, size })}`,
    )
    this.#pageCount.data['Resources'] = { Font: { ...internalsOf(this.#document).page.fonts } }
    this.#pageCount.end()
  }

  #add(operators: string): void {
    this.#document.addContent(operators)
  }

  #text(
    tag: string,
    text: string,
    at: { readonly x: number; readonly y: number; readonly room: number },
    look: { readonly weight: 'regular' | 'bold'; readonly size: number },
    color: string,
  ): void {
    const set = this.#typesetter.set(text, at.room, look)
    this.#add(
      this.#document.tagged(tag, `${color}\n${this.#typesetter.draw(set, at, look.size * 1.2)}`, set.attributes),
    )
    this.#y += (set.lines.length - 1) * look.size * 1.2
  }

  async #newPage(): Promise<void> {
    this.#document.beginPage()
    this.#pages += 1
    this.#y = page.top
    const { ownerName } = this.#outline
    const y = page.height - 26
    const isCover = this.#pages === 1
    const count = internalsOf(this.#document).page
    count.xobjects['PageCount'] = this.#pageCount
    const parts = [
      this.#palette.area,
      filled(0, 0, page.width, isCover ? 14 : 6),
      rule,
      filled(page.left, y - 12, page.right - page.left, 0.5),
      grey,
    ]
    parts.push(this.#typesetter.line(coverOf(this.#outline).footer, { x: page.left, y, room: 200 }, footerText))
    parts.push(this.#typesetter.line(ownerName, { x: page.left + 220, y, room: 400 }, footerText))
    parts.push(
      this.#typesetter.line(`Page ${this.#pages} of`, { x: page.right - 120, y, room: 97, align: 'right' }, footerText),
    )
    parts.push(`q 1 0 0 1 ${page.right - 20.5} ${y} cm /PageCount Do Q`)
    this.#add(artifact(parts.join('\n')))
    if (this.#pages > 1) await this.#streams.flush()
  }

  /** Begins a page if there are fewer points left on this one. */
  async #room(height: number): Promise<void> {
    if (this.#y + height > page.bottom) await this.#newPage()
  }

  #heading(tag: 'H1' | 'H2' | 'H3', text: string, size: number): void {
    this.#y += size
    this.#text(
      tag,
      text,
      { x: page.left, y: this.#y, room: page.right - page.left },
      { weight: 'bold', size },
      this.#palette.text,
    )
    this.#y += size * 0.7
  }

  async #cover(): Promise<void> {
    await this.#newPage()
    this.#document.beginElement('Sect')
    this.#logo()
    await this.#coverHead()
    await this.#summaries()
    const { footnote, notes } = coverOf(this.#outline)
    for (const note of [footnote, ...notes]) {
      await this.#room(footnoteHeight)
      this.#text(
        'P',
        note,
        { x: page.left, y: this.#y + 11, room: page.right - page.left },
        { weight: 'regular', size: 8 },
        grey,
      )
      this.#y += 12
    }
    this.#y += 12
    this.#document.endElement()
  }

  /** Whose report it is, of which month, and how final. */
  async #coverHead(): Promise<void> {
    const { ownerName, month } = this.#outline
    const { title, figures, warning } = coverOf(this.#outline)
    const room = page.right - page.left
    this.#text('H1', title, { x: page.left, y: 126, room }, { weight: 'bold', size: 26 }, this.#palette.text)
    // A long name is set smaller, as long as it can be read.
    const size = Math.max(11, Math.min(20, (20 * room) / this.#typesetter.width(ownerName, 'regular', 20)))
    this.#y = 0
    this.#text(
      'P',
      ownerName,
      { x: page.left, y: 154, room: room + 1 },
      { weight: 'regular', size: Math.floor(size * 10) / 10 },
      black,
    )
    this.#y += 176
    this.#text('P', monthTitle(month), { x: page.left, y: this.#y, room }, { weight: 'regular', size: 15 }, grey)
    this.#y += 16
    await this.#figures(figures)
    if (warning !== '') {
      this.#text('P', warning, { x: page.left, y: this.#y + 4, room }, { weight: 'regular', size: 9 }, grey)
      this.#y += 16
    }
  }

  /** What each section adds up to. */
  async #summaries(): Promise<void> {
    const { sections } = this.#outline
    const shown = [...coverOf(this.#outline).summaries, ...sections]
    for (const [index, section] of shown.entries()) {
      const isLast = index === shown.length - 1
      await this.#room(summaryHeight(section.summary) + (isLast ? footnoteHeight : 0))
      this.#y += 6
      await this.#summary(section.title, section.summary)
    }
    if (sections.length === 0) {
      this.#text(
        'P',
        'Nothing was used in this month.',
        { x: page.left, y: this.#y + 12, room: page.right - page.left },
        { weight: 'regular', size: 11 },
        black,
      )
      this.#y += 22
    }
  }

  #logo(): void {
    const { logo } = this.#outline.branding
    if (logo === undefined) return
    this.#add('/Artifact BMC')
    this.#document.image(Buffer.from(logo), page.left, 36, { fit: [logoBox.width, logoBox.height] })
    this.#add('EMC')
  }

  /** Names and values, three in a row. */
  async #figures(figures: readonly (readonly [string, string])[]): Promise<void> {
    if (figures.length === 0) return
    const width = (page.right - page.left) / 3
    const tagged: string[] = []
    this.#document.beginElement('Table')
    for (const [i, [name, value]] of figures.entries()) {
      if (i % 3 === 0) {
        if (i > 0) this.#y += 34
        await this.#room(34)
      }
      const x = page.left + (i % 3) * width
      this.#document.beginElement('TR')
      tagged.push(
        this.#document.tagged(
          'TH',
          `${grey}\n${this.#typesetter.line(name, { x, y: this.#y + 10, room: width - 12 }, { weight: 'regular', size: 8 })}`,
          rowHead,
        ),
      )
      tagged.push(
        this.#document.tagged(
          'TD',
          `${black}\n${this.#typesetter.line(value, { x, y: this.#y + 24, room: width - 12, isFigure: true }, { weight: 'bold', size: 12 })}`,
        ),
      )
      this.#document.endElement()
      this.#add(tagged.splice(0).join('\n'))
    }
    this.#document.endElement()
    this.#y += 40
  }

  async #chart(chart: ReportChart): Promise<void> {
    await this.#room(chartHeight + 34)
    this.#heading('H2', `${chart.title} (${chart.unit})`, 11)
    const top = this.#y
    this.#add(
      this.#document.tagged(
        'Figure',
        chartOperators(chart, top, this.#typesetter, this.#palette),
        chartAttributes(chart, top),
      ),
    )
    this.#y += chartHeight + 6
  }

  async #table(
    { title, columns, totals, note, footnote, sums }: ReportOutline['sections'][number]['tables'][number],
    table: number,
  ): Promise<void> {
    this.#y += 10
    this.#heading('H2', title, 12)
    const cells = placed(columns)
    let rows = await this.#streams.rows(table)
    while (rows?.length === 0) rows = await this.#streams.rows(table)
    if (rows === undefined) {
      this.#text('P', note, { x: page.left, y: this.#y + 8, room: page.right - page.left }, cellText, grey)
      this.#y += 22
      return
    }
    this.#beginTable(cells)
    for (let count = 0; rows !== undefined; rows = await this.#streams.rows(table)) {
      for (const row of rows) {
        const look = sums !== undefined && row[sums.column] === sums.text ? totalText : cellText
        await this.#row(cells, row, { ground: count % 2 === 1 ? stripe : undefined, look })
        count += 1
      }
    }
    if (totals !== undefined) await this.#totals(cells, totals, footnote === undefined ? 0 : footnoteHeight)
    this.#document.endElement()
    if (footnote !== undefined) await this.#footnote(footnote)
    this.#y += 12
  }

  /** A short table of the cover. */
  async #summary(title: string, { columns, rows, subtotals, totals, footnote }: ReportSummary): Promise<void> {
    this.#heading('H2', title, 12)
    const cells = placed(columns)
    this.#beginTable(cells)
    for (const [index, row] of rows.entries()) {
      const isSum = subtotals.includes(index)
      await this.#row(cells, row, { ground: isSum ? stripe : undefined, look: isSum ? totalText : cellText })
    }
    if (totals !== undefined) await this.#totals(cells, totals, footnoteHeight)
    this.#document.endElement()
    await this.#footnote(footnote)
  }

  #beginTable(cells: readonly PlacedColumn[]): void {
    this.#document.beginElement('Table')
    this.#document.beginElement('TR')
    this.#head(cells, true)
    this.#document.endElement()
  }

  async #footnote(text: string): Promise<void> {
    await this.#room(footnoteHeight)
    this.#text('P', text, { x: page.left, y: this.#y + 9, room: page.right - page.left }, footnoteText, grey)
    this.#y += footnoteStep
  }

  /** Begins a page with the head of the table if there is no room for a row on this one. */
  async #roomForRow(cells: readonly PlacedColumn[], height: number): Promise<void> {
    if (this.#y + height <= page.bottom) return
    await this.#newPage()
    this.#head(cells, false)
  }

  /** The head is repeated on each page; the structure has it once. */
  #head(cells: readonly PlacedColumn[], isFirst: boolean): void {
    const { ground, text } = this.#palette
    const height = headHeight(cells)
    const parts = [artifact(`${ground}\n${filled(page.left, this.#y, page.right - page.left, height)}`)]
    for (const { title, x, room, isNumber } of cells) {
      const own = title.split('\n')
      const first = this.#y + height - 4.5 - (own.length - 1) * headLine
      const drawn = own.map((line, i) =>
        this.#typesetter.line(
          line,
          { x, y: first + i * headLine, room, isFigure: true, align: isNumber ? 'right' : 'left' },
          headText,
        ),
      )
      const all = [text, ...drawn].join('\n')
      parts.push(isFirst ? this.#document.tagged('TH', all, columnHead) : artifact(all))
    }
    this.#add(parts.join('\n'))
    this.#y += height
  }

  /** Draws a row, whose texts may have several lines. */
  async #row(
    cells: readonly PlacedColumn[],
    row: readonly string[],
    { ground, look, rise = 0, below = 0 }: RowLook,
  ): Promise<void> {
    const set = cells.map(({ room, isNumber, isId }, i) =>
      this.#typesetter.set(row[i] ?? '', room, isId === true ? { ...look, size: idText.size } : look, isNumber),
    )
    const lines = Math.max(...set.map((each) => each.lines.length))
    const height = rowHeight + rise + (lines - 1) * lineHeight
    await this.#roomForRow(cells, height + below)
    const parts: string[] =
      ground === undefined ? [] : [artifact(`${ground}\n${filled(page.left, this.#y, page.right - page.left, height)}`)]
    if (rise > 0) parts.push(artifact(`${grey}\n${filled(page.left, this.#y, page.right - page.left, 0.7)}`))
    parts.push(black)
    this.#document.beginElement('TR')
    const y = this.#y + rise + 9
    for (const [i, { x, room, isNumber }] of cells.entries()) {
      const each = set[i]
      if (each === undefined) continue
      parts.push(
        this.#document.tagged(
          'TD',
          this.#typesetter.draw(each, { x, y, room, align: isNumber ? 'right' : 'left' }, lineHeight),
          each.attributes,
        ),
      )
    }
    this.#document.endElement()
    this.#add(parts.join('\n'))
    this.#y += height
  }

  /** `below` is the height of what must not be alone on the next page. */
  async #totals(cells: readonly PlacedColumn[], totals: readonly string[], below: number): Promise<void> {
    await this.#row(cells, totals, { ground: undefined, look: totalText, rise: 1, below })
    this.#y += 2
  }
}

/** How a row looks. With `rise`, a line is above it, and so many points more. */
interface RowLook {
  readonly ground: string | undefined
  readonly look: { readonly weight: 'regular' | 'bold'; readonly size: number }
  readonly rise?: number
  /** Points that must be left below the row on its page. */
  readonly below?: number
}

const footnoteHeight = 14
const footnoteStep = 12

const headHeight = (columns: readonly Pick<ReportColumn, 'title'>[]): number =>
  rowHeight + 1 + (Math.max(...columns.map(({ title }) => title.split('\n').length)) - 1) * headLine

/** Returns the height of a table of the cover: with its title and its footnote it is on one page. */
const summaryHeight = ({ columns, rows }: Pick<ReportSummary, 'columns' | 'rows'>): number =>
  26.4 + headHeight(columns) + (rows.length + 1) * rowHeight + 3 + footnoteStep

const footerText = { weight: 'regular', size: 7.5 } as const
const footnoteText = { weight: 'regular', size: 8 } as const
const columnHead = '/A<</O/Table/Scope/Column>>'
const rowHead = '/A<</O/Table/Scope/Row>>'
