import { fileURLToPath } from 'node:url'
import PDFDocument from 'pdfkit'
import { printFigures, reportColumns, reportRow, reportRows } from './sample-table.ts'

/** The same table with pdfkit alone: its own text, in one thread, without a structure for screen readers. */

const font = (name: string): string =>
  fileURLToPath(new URL(`../../../adapters/reports/fonts/${name}.ttf`, import.meta.url))
const [left, width, rowHeight, bottom] = [40, 73.6, 13, 790]
const document = new PDFDocument({ size: 'A4', margin: 0, autoFirstPage: false })
let bytes = 0
document.on('data', (piece: Uint8Array) => void (bytes += piece.length))
document.on('end', () => printFigures(bytes))
document.registerFont('regular', font('NotoSans-Regular')).registerFont('bold', font('NotoSans-Bold'))

const cells = (texts: readonly string[], y: number): void =>
  texts.forEach((text, i) => {
    const x = i > 3 ? left + (i + 1) * width - 4 - document.widthOfString(text) : left + i * width + 4
    document.text(text, x, y, { lineBreak: false })
  })

let y = bottom
for (let n = 0; n < reportRows; n += 1) {
  if (y + rowHeight > bottom) {
    document.addPage().font('bold').fontSize(8)
    cells(
      reportColumns.map((title) => title.replace('\n', ' ')),
      62,
    )
    document.font('regular')
    y = 77
  }
  if (n % 2 === 1)
    document
      .rect(left, y, 7 * width, rowHeight)
      .fill('#f6f7f8')
      .fillColor('#1f1f24')
  cells(reportRow(n), y + 1)
  y += rowHeight
}
document.end()
