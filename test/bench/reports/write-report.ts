import { makePdfRenderer } from '../../../adapters/reports/pdf-renderer.ts'
import { monthKey } from '../../../core/usage/month.ts'
import { printFigures, reportColumns, reportRow, reportRows } from './sample-table.ts'

/** Writes one large report as the service does, and prints what it took. */

const rows = async function* (): AsyncGenerator<readonly (readonly string[])[]> {
  for (let from = 0; from < reportRows; from += 250) yield Array.from({ length: 250 }, (_, i) => reportRow(from + i))
}
const columns = reportColumns.map((title, i) => ({ title, width: 1, isNumber: i > 3 }))
const renderer = makePdfRenderer()
let bytes = 0
for await (const piece of renderer.render(
  {
    ownerName: 'Example, Inc.',
    branding: { logo: undefined, color: '#0b6070' },
    month: monthKey(2026, 6),
    revision: 1,
    status: 'final',
    generatedAt: new Date('2026-07-04T00:30:00Z'),
    sections: [
      {
        title: 'Databases',
        summary: { columns: [], rows: [], subtotals: [], totals: [], footnote: '' },
        figures: [],
        charts: [],
        tables: [{ title: 'Objects', columns, rows: rows(), totals: undefined, note: '' }],
      },
    ],
  },
  new AbortController().signal,
))
  bytes += piece.length
await renderer.close()
printFigures(bytes)
