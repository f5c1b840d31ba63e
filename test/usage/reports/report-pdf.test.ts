import test from 'ava'
import fc from 'fast-check'
import sharp from 'sharp'
import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { axisStep } from '../../../adapters/reports/report-chart.ts'
import { TaggedDocument } from '../../../adapters/reports/tagged-document.ts'
import { Typesetter } from '../../../adapters/reports/typesetter.ts'
import type { ReportTable } from '../../../core/usage/reports/ports.ts'
import { contentOf, countPacked, readPdf, renderedBy, scripts, tableOf } from './report-values.ts'
import { anyText } from '../../support/any-text.ts'

const renderer = makePdfRenderer()
test.after.always(() => renderer.close())

test('a report shows its facts, figures and rows in every script, with a structure', async (t) => {
  const bytes = await renderedBy(renderer, contentOf([tableOf(scripts.length)]))
  const { pages, elements, info, isMarked, bookmarks } = await readPdf(bytes)
  t.is(pages.length, 2)
  const [cover = '', section = ''] = pages
  for (const shown of [
    'Usage report',
    'ООО «Пример»',
    'June 2026',
    'Final',
    '123.456',
    '2026-07-04 00:30 UTC',
    'Page 1 of 2',
  ])
    t.true(cover.includes(shown), shown)
  // A reader of texts gets letters of other directions in the order of reading.
  for (const shown of [
    'orders',
    'Кластер «Москва»',
    'Ελληνικά',
    '北京生产集群',
    'شركة المثال',
    'בדיקה',
    '서울',
    '東京クラスタ',
    'emoji 😀',
    'ระบบทดสอบ น',
    'rocket 🚀 👩‍💻',
    'Total',
    '0.011',
  ])
    t.true(section.includes(shown), shown)
  // A long name is broken into lines, not shortened.
  t.regex(section, new RegExp(`${'(?:long- ?)'.repeat(40)}end`))
  t.false(section.includes('…'))
  t.is(info['Title'], 'Usage report, ООО «Пример», June 2026')
  t.is(info['Language'], 'en')
  t.true(isMarked)
  t.deepEqual(bookmarks, ['Databases'])
  const count = (role: string): number => elements.filter((element) => element.role === role).length
  t.is(count('H1'), 2)
  t.is(countPacked(bytes, '/Scope/Column'), 3 + 2)
  t.is(
    elements.find(({ role }) => role === 'Figure')?.alt,
    'CPU per day, a bar for each day, in core-months. The highest is 29.5 on day 30, the lowest 0.5 on day 1.',
  )
  // Each row of the table and of the summary, with heads and totals, and the figures of the two pages.
  t.is(count('TR'), scripts.length + 2 + 3 + 2 + 3 + 2)
})

test('a table of the cover is on one page with its sum and its footnotes', async (t) => {
  const [section] = contentOf([]).sections
  if (section === undefined) return t.fail('There is no section.')
  const { summary, ...rest } = section
  for (const sections of [1, 2, 3])
    for (const rows of [3, 5, 6, 7, 8]) {
      const shown = {
        ...rest,
        charts: [],
        summary: { ...summary, rows: Array.from({ length: rows }, (_, i) => [`use ${i}`, '1.000']) },
      }
      const content = contentOf([], {
        sections: Array.from({ length: sections }, () => shown),
      })
      const { pages } = await readPdf(await renderedBy(renderer, content))
      const counts = (text: string) => pages.map((page) => page.split(text).length - 1)
      const units = counts('A core-month is one core')
      t.deepEqual([...units].sort(), [...units.map(() => 0).slice(1), 1])
      t.true((counts('All use')[units.indexOf(1)] ?? 0) > 0, `${sections} of ${rows} rows`)
      t.deepEqual(counts(summary.footnote), counts('All use'), `${sections} of ${rows} rows`)
    }
})

test('a table over pages repeats its head and has every row once', async (t) => {
  const bytes = await renderedBy(renderer, contentOf([tableOf(200, ['orders'])]))
  const { pages } = await readPdf(bytes)
  t.true(pages.length > 4)
  pages.slice(2).forEach((page, i) => {
    t.true(page.includes('Production CPU'), page)
    t.true(page.includes(`Page ${i + 3} of ${pages.length}`), page)
  })
  t.is(countPacked(bytes, '/Scope/Column'), 3 + 2)
  const shown = pages.flatMap((page) => page.match(/\b0\.\d{3}\b/g) ?? [])
  t.deepEqual(
    shown,
    Array.from({ length: 200 }, (_, i) => (i / 1000).toFixed(3)),
  )
})

test('a report is PDF/A-2a and PDF/UA-1 with its owner', async (t) => {
  const { properties, info } = await readPdf(
    await renderedBy(renderer, contentOf([], { ownerName: 'Smith & Sons</rdf:li> <b>"x"\u0001\ufffe' })),
  )
  const { xml } = properties
  for (const stated of [
    '<pdfaid:part>2</pdfaid:part>',
    '<pdfaid:conformance>A</pdfaid:conformance>',
    '<pdfuaid:part>1</pdfuaid:part>',
  ])
    t.true(xml.includes(stated), stated)
  t.deepEqual(properties.get('dc:creator'), ['Smith & Sons</rdf:li> <b>"x"'])
  t.is(properties.get('dc:title'), 'Usage report, Smith & Sons</rdf:li> <b>"x", June 2026')
  t.true(String(info['Title']).includes('Smith & Sons</rdf:li>'))
  // XML has neither of them.
  t.notRegex(xml, /[\u0001\ufffe]|<b>/)
})

test('a figure that is too long for its column is set smaller, and never shortened', async (t) => {
  const figures = ['9999.999', '12345.678', '212370.051', '9876543210123.456']
  const columns = [
    { title: 'Contract', width: 3, isNumber: false },
    ...figures.map(() => ({ title: 'CPU', width: 0.9, isNumber: true })),
    { title: 'Kind', width: 5.5, isNumber: false },
  ]
  const rows = async function* () {
    yield [['a name', ...figures, 'Postgres']]
  }
  const table: ReportTable = {
    title: 'Contracts',
    columns,
    rows: rows(),
    totals: ['Total', ...figures.map((figure) => `1${figure}`), ''],
    note: '',
  }
  const { pages } = await readPdf(await renderedBy(renderer, contentOf([table])))
  const words = pages[1]?.split(' ') ?? []
  for (const figure of figures) t.true(words.includes(figure) && words.includes(`1${figure}`), figure)
  t.notRegex(pages.join(), /…/)
})

test('a letter that no font has is replaced, and a reader of texts gets it', async (t) => {
  const { pages } = await readPdf(await renderedBy(renderer, contentOf([tableOf(2, ['ქართული x', '\ue000 y'])])))
  t.regex(pages[1] ?? '', /\ufffd{7} x.*\ufffd y/)
})

test('equal contents give equal bytes', async (t) => {
  const picture = await sharp({
    create: { width: 90, height: 30, channels: 4, background: { r: 200, g: 0, b: 0, alpha: 0.5 } },
  })
    .png()
    .toBuffer()
  const branding = { logo: new Uint8Array(picture), color: '#ffee00' }
  const once = await renderedBy(renderer, contentOf([tableOf(300)], { branding }))
  const again = await renderedBy(renderer, contentOf([tableOf(300)], { branding }))
  t.deepEqual(again, once)
  const other = await renderedBy(renderer, contentOf([tableOf(300)], { branding, revision: 3 }))
  t.notDeepEqual(other, once)
})

test('a logo is drawn, and an unreadable one omitted', async (t) => {
  const hasPicture = async (logo: Uint8Array): Promise<boolean> =>
    Buffer.from(await renderedBy(renderer, contentOf([], { branding: { logo, color: '#0b6070' } }))).includes(
      '/Subtype /Image',
    )
  const drawn = sharp({ create: { width: 40, height: 40, channels: 3, background: '#123456' } })
  t.true(await hasPicture(new Uint8Array(await drawn.png().toBuffer())))
  t.true(await hasPicture(new Uint8Array(await drawn.jpeg().toBuffer())))
  const png = new Uint8Array(await drawn.png().toBuffer())
  t.false(await hasPicture(png.slice(0, 60)))
  t.false(await hasPicture(new TextEncoder().encode('no picture')))
})

test('a month without use has a report that says so', async (t) => {
  const { pages } = await readPdf(await renderedBy(renderer, contentOf([], { sections: [], status: 'provisional' })))
  t.is(pages.length, 1)
  t.regex(pages[0] ?? '', /Nothing was used in this month\./)
  t.regex(pages[0] ?? '', /Provisional.*can change until it is final/)
})

test('a table without rows shows its note', async (t) => {
  const { pages } = await readPdf(await renderedBy(renderer, contentOf([tableOf(0)])))
  t.regex(pages[1] ?? '', /Objects None in this month\./)
})

test('a footnote is below the totals, on the same page', async (t) => {
  const footnote = 'An object counts once for each contract.'
  for (let count = 14; count < 28; count += 1) {
    const { pages, elements } = await readPdf(
      await renderedBy(renderer, contentOf([{ ...tableOf(count, ['orders']), footnote }])),
    )
    t.is(pages.join(' ').split(footnote).length, 2, `${count} rows`)
    t.is(pages.filter((page) => /Total 123\.456 .*An object counts once/.test(page)).length, 1, `${count} rows`)
    t.is(elements.filter(({ role }) => role === 'P').length, 4 + 1)
  }
})

/** Counts the batches that were read, and whether the reader has given the rows back. */
const endlessTable = (): { readonly table: ReportTable; readonly seen: { batches: number; isReturned: boolean } } => {
  const seen = { batches: 0, isReturned: false }
  const rows = async function* (): AsyncGenerator<readonly (readonly string[])[]> {
    try {
      for (;;) {
        seen.batches += 1
        yield Array.from({ length: 250 }, (_, i) => [`object ${seen.batches}/${i}`, 'a', '1.000'])
      }
    } finally {
      seen.isReturned = true
    }
  }
  return { table: { ...tableOf(0), rows: rows() }, seen }
}

test('an abort ends a report with its reason, and the next one is written', async (t) => {
  const abort = new AbortController()
  const { table, seen } = endlessTable()
  const reason = new Error('the lease was lost')
  const error = await t.throwsAsync(async () => {
    for await (const piece of renderer.render(contentOf([table]), abort.signal))
      if (piece.length > 0) abort.abort(reason)
  })
  t.is(error, reason)
  t.true(seen.isReturned)
  const before = await t.throwsAsync(() =>
    renderedBy({ ...renderer, render: (content) => renderer.render(content, abort.signal) }, contentOf([])),
  )
  t.is(before, reason)
  t.is((await readPdf(await renderedBy(renderer, contentOf([])))).pages.length, 2)
})

test('a caller that stops reading ends the report', async (t) => {
  const { table, seen } = endlessTable()
  for await (const piece of renderer.render(contentOf([table]), new AbortController().signal)) {
    t.true(piece.length > 0)
    break
  }
  t.true(seen.isReturned)
})

test('the thread writes only as far as the caller reads', async (t) => {
  const { table, seen } = endlessTable()
  const pieces = renderer.render(contentOf([table]), new AbortController().signal)[Symbol.asyncIterator]()
  await pieces.next()
  const taken = seen.batches
  // The thread can ask for nothing until the piece is taken: other reports that are written meanwhile show that time
  // has passed.
  const other = makePdfRenderer()
  await renderedBy(other, contentOf([tableOf(500)]))
  await other.close()
  t.is(seen.batches, taken)
  await pieces.return?.()
})

test('a failure of the rows fails the report', async (t) => {
  const rows = async function* (): AsyncGenerator<never> {
    throw new Error('the database is gone')
  }
  await t.throwsAsync(() => renderedBy(renderer, contentOf([{ ...tableOf(0), rows: rows() }])), {
    message: 'the database is gone',
  })
  t.true((await renderedBy(renderer, contentOf([]))).length > 0)
})

test('a thread that does nothing is ended', async (t) => {
  const impatient = makePdfRenderer({ silentMilliseconds: 1 })
  await t.throwsAsync(() => renderedBy(impatient, contentOf([tableOf(10)])), { message: /did nothing/ })
  await impatient.close()
})

test('ligatures, combining marks and emoji are shaped with their text', (t) => {
  const document = new TaggedDocument({ size: 'A4', margin: 0 })
  document.resume()
  document.beginPage()
  const typesetter = new Typesetter(document)
  const width = (text: string): number => typesetter.width(text, 'regular', 1000)
  // One glyph for all of it.
  for (const one of ['👩‍💻', '👍🏽', '🇮🇳', '🏳️‍🌈', '❤️']) t.is(width(one), width('😀'), one)
  t.true(width('क्ष') < width('क') + width('ष'), 'a conjunct')
  t.is(width('กั'), width('ก'), 'a vowel above')
  t.is(width('😀 1'), width('😀') + width(' 1'), 'spaces and digits are not those of the emoji')
  for (const text of ['हिन्दी', 'น้ำ', '🇮🇳', 'شركة', 'ქართული']) {
    const set = typesetter.set(text, 200, { weight: 'regular', size: 8 })
    const drawn = typesetter.draw(set, { x: 0, y: 100, room: 200 }, 10)
    // A text from right to left has it at its element.
    t.true(
      text === 'شركة'
        ? set.attributes.includes('/ActualText') && !drawn.includes('/ActualText')
        : drawn.includes('/ActualText'),
      text,
    )
    t.false(drawn.includes('<0000>'), text)
  }
  document.end()
})

test('every text fits its room without a missing glyph', (t) => {
  const document = new TaggedDocument({ size: 'A4', margin: 0 })
  document.resume()
  document.beginPage()
  const typesetter = new Typesetter(document)
  const look = { weight: 'regular', size: 8 } as const
  const someText = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    anyText({ maxLength: 60 }),
    fc
      .array(fc.constantFrom(...scripts, '(', '12', '\u202e', 'ّ', '\ud800', 'ქ', '\u200d', '\u2069'), { maxLength: 8 })
      .map((parts) => parts.join(' ')),
  )
  fc.assert(
    fc.property(someText, fc.integer({ min: 20, max: 200 }), (text, room) => {
      const drawn = typesetter.line(text, { x: 0, y: 100, room, align: 'right' }, look)
      const glyphs = [...drawn.matchAll(/<([0-9a-f]+)> Tj/g)].flatMap(([, codes = '']) => codes.match(/.{4}/g) ?? [])
      if (glyphs.includes('0000')) return false
      // The first place is the left end of a text that is aligned to the right: it is outside of the room if the text
      // is too wide.
      const first = /1 0 0 -1 (\S+) /.exec(drawn)
      return first === null || Number(first[1]) >= -2
    }),
    { numRuns: 300 },
  )
  t.pass()
  document.end()
})

test('the lines of an axis are few and reach the highest value', (t) => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 1e12, noNaN: true }), (highest) => {
      const step = axisStep(highest)
      const lines = Math.ceil(highest / step - 1e-9)
      return lines >= 1 && lines <= 4 && lines * step >= highest * (1 - 1e-6)
    }),
  )
  t.pass()
})
