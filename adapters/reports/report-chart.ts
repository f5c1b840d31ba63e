import type { ReportChart } from '../../core/usage/reports/ports.ts'
import type { Palette } from './report-style.ts'
import { black, filled, grey, page, rule } from './report-style.ts'
import { textObject } from './tagged-document.ts'
import type { Typesetter } from './typesetter.ts'

/** Of a chart with its axis and legend, in points. */
export const chartHeight = 132

const plot = { left: page.left + 46, right: page.right, height: 92 } as const
const small = { weight: 'regular', size: 7 } as const

/**
 * Returns the distance of the lines of an axis: 1, 2 or 5 times a power of ten, so that four lines or fewer reach the
 * highest value.
 *
 * @internal
 */
export const axisStep = (highest: number): number => {
  const power = 10 ** Math.floor(Math.log10(highest / 4))
  return power * ([1, 2, 5, 10].find((factor) => factor * power * 4 >= highest * (1 - 1e-9)) ?? 10)
}

const separated = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 })
const shownNumber = (value: number): string =>
  separated.format(value >= 1000 ? Math.round(value) : Number(value.toPrecision(3)))

const sumsOf = ({ series }: ReportChart): readonly number[] =>
  Array.from({ length: Math.max(0, ...series.map(({ values }) => values.length)) }, (_, day) =>
    series.reduce((sum, { values }) => sum + (values[day] ?? 0), 0),
  )

/** Returns the text that stands for a chart where it cannot be seen. */
const chartText = (chart: ReportChart): string => {
  const sums = sumsOf(chart)
  const highest = Math.max(0, ...sums)
  if (highest === 0) return `${chart.title}, a bar for each day. There was no use in this month.`
  const lowest = Math.min(...sums)
  return (
    `${chart.title}, a bar for each day, in ${chart.unit}. The highest is ${shownNumber(highest)} on day ` +
    `${sums.indexOf(highest) + 1}, ` +
    `the lowest ${shownNumber(lowest)} on day ${sums.indexOf(lowest) + 1}.`
  )
}

/** Returns the entries of the structure for a chart whose upper edge is at `top`. */
export const chartAttributes = (chart: ReportChart, top: number): string =>
  `/Alt ${textObject(chartText(chart))}/A<</O/Layout/Placement/Block/BBox[${page.left} ` +
  `${Math.round(page.height - top - chartHeight)} ${Math.round(page.right)} ` +
  `${Math.round(page.height - top)}]>>`

/** Returns the operators of a chart: bars of a day on top of each other, in the order of the series. */
export const chartOperators = (
  chart: ReportChart,
  top: number,
  typesetter: Typesetter,
  { series: colors }: Palette,
): string => {
  const sums = sumsOf(chart)
  const highest = Math.max(0, ...sums)
  const base = top + 14 + plot.height
  const parts: string[] = []
  const legend = chart.series.length > 1 ? chart.series : []
  let x = plot.left
  legend.forEach(({ name }, i) => {
    parts.push(
      colors[i % colors.length] ?? black,
      filled(x, top + 1, 7, 7),
      grey,
      typesetter.line(name, { x: x + 10, y: top + 7.5, room: 120 }, small),
    )
    x += 24 + Math.min(120, typesetter.width(name, 'regular', small.size))
  })
  if (highest === 0) {
    parts.push(
      grey,
      typesetter.line(
        'No use in this month',
        { x: plot.left + 8, y: base - plot.height / 2, room: 200 },
        { weight: 'regular', size: 9 },
      ),
    )
  } else {
    const step = axisStep(highest)
    const lines = Math.ceil(highest / step - 1e-9)
    const scale = plot.height / (lines * step)
    for (let line = 1; line <= lines; line++) {
      const y = base - line * step * scale
      parts.push(rule, filled(plot.left, y, plot.right - plot.left, 0.4), grey)
      parts.push(
        typesetter.line(
          shownNumber(line * step),
          { x: page.left, y: y + 2.5, room: 40, isFigure: true, align: 'right' },
          small,
        ),
      )
    }
    const slot = (plot.right - plot.left) / sums.length
    chart.series.forEach(({ values }, i) => {
      parts.push(colors[i % colors.length] ?? black)
      values.forEach((value, day) => {
        const below = chart.series.slice(0, i).reduce((sum, lower) => sum + (lower.values[day] ?? 0), 0)
        if (value > 0)
          parts.push(
            filled(plot.left + day * slot + slot * 0.14, base - (below + value) * scale, slot * 0.72, value * scale),
          )
      })
    })
  }
  parts.push(
    grey,
    filled(plot.left, base, plot.right - plot.left, 0.6),
    typesetter.line('0', { x: page.left, y: base + 2, room: 40, isFigure: true, align: 'right' }, small),
  )
  const slot = (plot.right - plot.left) / Math.max(1, sums.length)
  for (let day = 0; day < sums.length; day++) {
    const text = String(day + 1)
    const width = typesetter.width(text, 'regular', small.size)
    parts.push(
      typesetter.line(text, { x: plot.left + day * slot + (slot - width) / 2, y: base + 9.5, room: slot + 6 }, small),
    )
  }
  return parts.join('\n')
}
