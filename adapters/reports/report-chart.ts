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
  return [
    ...(chart.series.length > 1 ? legend(chart, top, typesetter, colors) : []),
    ...(highest === 0 ? noUse(base, typesetter) : gridAndBars(chart, highest, base, typesetter, colors)),
    grey,
    filled(plot.left, base, plot.right - plot.left, 0.6),
    typesetter.line('0', { x: page.left, y: base + 2, room: 40, isFigure: true, align: 'right' }, small),
    ...days(sums.length, base, typesetter),
  ].join('\n')
}

const colorOf = (colors: Palette['series'], index: number): string => colors[index % colors.length] ?? black

const legend = (
  { series }: ReportChart,
  top: number,
  typesetter: Typesetter,
  colors: Palette['series'],
): readonly string[] => {
  let x = plot.left
  return series.flatMap(({ name }, i) => {
    const entry = [
      colorOf(colors, i),
      filled(x, top + 1, 7, 7),
      grey,
      typesetter.line(name, { x: x + 10, y: top + 7.5, room: 120 }, small),
    ]
    x += 24 + Math.min(120, typesetter.width(name, 'regular', small.size))
    return entry
  })
}

const noUse = (base: number, typesetter: Typesetter): readonly string[] => [
  grey,
  typesetter.line(
    'No use in this month',
    { x: plot.left + 8, y: base - plot.height / 2, room: 200 },
    { weight: 'regular', size: 9 },
  ),
]

/** The lines of the axis with their numbers, and the bars in their scale. */
const gridAndBars = (
  { series }: ReportChart,
  highest: number,
  base: number,
  typesetter: Typesetter,
  colors: Palette['series'],
): readonly string[] => {
  const parts: string[] = []
  const step = axisStep(highest)
  const lines = Math.ceil(highest / step - 1e-9)
  const scale = plot.height / (lines * step)
  for (let line = 1; line <= lines; line++) {
    const y = base - line * step * scale
    parts.push(
      rule,
      filled(plot.left, y, plot.right - plot.left, 0.4),
      grey,
      typesetter.line(
        shownNumber(line * step),
        { x: page.left, y: y + 2.5, room: 40, isFigure: true, align: 'right' },
        small,
      ),
    )
  }
  const slot = slotWidth(Math.max(...series.map(({ values }) => values.length)))
  series.forEach(({ values }, i) => {
    parts.push(colorOf(colors, i))
    values.forEach((value, day) => {
      const below = series.slice(0, i).reduce((sum, lower) => sum + (lower.values[day] ?? 0), 0)
      if (value > 0)
        parts.push(
          filled(plot.left + day * slot + slot * 0.14, base - (below + value) * scale, slot * 0.72, value * scale),
        )
    })
  })
  return parts
}

const slotWidth = (days: number): number => (plot.right - plot.left) / Math.max(1, days)

/** The numbers of the days, below the axis. */
const days = (count: number, base: number, typesetter: Typesetter): readonly string[] => {
  const slot = slotWidth(count)
  return Array.from({ length: count }, (_, day) => {
    const text = String(day + 1)
    const width = typesetter.width(text, 'regular', small.size)
    return typesetter.line(
      text,
      { x: plot.left + day * slot + (slot - width) / 2, y: base + 9.5, room: slot + 6 },
      small,
    )
  })
}
