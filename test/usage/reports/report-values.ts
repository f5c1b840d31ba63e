import { inflateSync } from 'node:zlib'
import { getDocument } from 'unpdf/pdfjs'
import { monthKey } from '../../../core/usage/month.ts'
import type { ReportContent, ReportRenderer, ReportTable } from '../../../core/usage/reports/ports.ts'

/** Names in the scripts of the fonts, one that is too long for its column, and one without a glyph. */
export const scripts = [
  'orders',
  'Кластер «Москва»',
  'Ελληνικά',
  '北京生产集群',
  'شركة المثال',
  'בדיקה (1)',
  '서울 東京クラスタ',
  'emoji 😀',
  'ระบบทดสอบ น้ำ',
  'हिन्दी क्लस्टर',
  'rocket 🚀 👩‍💻 👍🏽 🇮🇳 ❤️',
  `${'long-'.repeat(40)}end`,
]

const columns = [
  { title: 'Name', width: 3, isNumber: false },
  { title: 'Cluster', width: 2, isNumber: false },
  { title: 'Production\nCPU', width: 1, isNumber: true },
]

export const tableOf = (count: number, names: readonly string[] = scripts): ReportTable => ({
  title: 'Objects',
  columns,
  rows: (async function* () {
    for (let from = 0; from < count; from += 250) {
      yield Array.from({ length: Math.min(250, count - from) }, (_, i) => [
        `${names[(from + i) % names.length] ?? ''}`,
        `cluster-${i % 9}`,
        ((from + i) / 1000).toFixed(3),
      ])
    }
  })(),
  totals: ['Total', '', '123.456'],
  note: 'None in this month.',
})

const june = monthKey(2026, 6)

export const contentOf = (tables: readonly ReportTable[], more: Partial<ReportContent> = {}): ReportContent => ({
  ownerName: 'ООО «Пример»',
  branding: { logo: undefined, color: '#0b6070' },
  month: june,
  revision: 2,
  status: 'final',
  generatedAt: new Date('2026-07-04T00:30:00Z'),
  sections: [
    {
      title: 'Databases',
      summary: {
        columns: [
          { title: 'Use', width: 2, isNumber: false },
          { title: 'CPU,\ncore-months', width: 1, isNumber: true },
        ],
        rows: [
          ['Production, billed', '100.000'],
          ['Billed', '100.000'],
          ['Free', '23.456'],
        ],
        subtotals: [1],
        totals: ['All use', '123.456'],
        footnote: 'There is no report of the month before to compare with.',
      },
      figures: [
        ['CPU, core-months', '123.456'],
        ['Objects', '9'],
      ],
      charts: [
        {
          title: 'CPU per day',
          unit: 'core-months',
          series: [
            { name: 'Production', values: Array.from({ length: 30 }, (_, day) => day) },
            { name: 'Trials', values: Array.from({ length: 30 }, () => 0.5) },
          ],
        },
      ],
      tables,
    },
  ],
  ...more,
})

const never = new AbortController().signal

export const renderedBy = async (renderer: ReportRenderer, content: ReportContent): Promise<Uint8Array> => {
  const pieces: Uint8Array[] = []
  for await (const piece of renderer.render(content, never)) pieces.push(piece)
  return new Uint8Array(Buffer.concat(pieces))
}

interface Element {
  readonly role: string
  readonly alt?: string
  readonly children?: readonly Element[]
}

/** How often a text is in the parts of a document that are compressed, as its structure is. */
export const countPacked = (bytes: Uint8Array, text: string): number => {
  const file = Buffer.from(bytes)
  let count = 0
  for (let at = file.indexOf('stream\n'); at >= 0; at = file.indexOf('stream\n', at + 1)) {
    if (file.subarray(at - 3, at).toString('latin1') === 'end') continue
    try {
      count +=
        inflateSync(file.subarray(at + 7))
          .toString('latin1')
          .split(text).length - 1
    } catch {
      // A picture or a font that is not compressed.
    }
  }
  return count
}

/** A document as an independent program reads it. */
export interface ReadPdf {
  readonly pages: readonly string[]
  readonly elements: readonly Element[]
  readonly info: Readonly<Record<string, unknown>>
  /** Properties of the document in XMP, by their names with prefix, and the XML itself. */
  readonly properties: { readonly get: (name: string) => unknown; readonly xml: string }
  readonly isMarked: boolean
  readonly bookmarks: readonly string[]
}

export const readPdf = async (bytes: Uint8Array): Promise<ReadPdf> => {
  const task = getDocument({ data: bytes.slice(), verbosity: 0, useSystemFonts: false })
  const document = await task.promise
  try {
    const pages: string[] = []
    const elements: Element[] = []
    const collect = (element: Element): void => {
      elements.push(element)
      element.children?.forEach(collect)
    }
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      pages.push(
        (await page.getTextContent()).items
          .map((item) => ('str' in item ? item.str : ''))
          .join(' ')
          .replace(/\s+/g, ' '),
      )
      collect((await page.getStructTree()) as Element)
    }
    const { info, metadata } = await document.getMetadata()
    const outline = (await document.getOutline()) as readonly { readonly title: string }[] | null
    return {
      pages,
      elements,
      info: info as Readonly<Record<string, unknown>>,
      properties: { get: (name) => metadata?.get(name), xml: metadata?.getRaw() ?? '' },
      isMarked: (await document.getMarkInfo())?.Marked === true,
      bookmarks: (outline ?? []).map(({ title }) => title),
    }
  } finally {
    await task.destroy()
  }
}
