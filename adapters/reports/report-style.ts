/** Points from the upper left corner of a page, A4 in landscape: tables have all classes of both measures. */
export const page = { width: 841.89, height: 595.28, left: 36, right: 805.89, top: 44, bottom: 546 } as const

type Rgb = readonly [number, number, number]

export interface Palette {
  /** The colour of the branding, for areas without text. */
  readonly area: string
  /** The same, as dark as a text on white must be. */
  readonly text: string
  /** A light ground for the heads of tables. */
  readonly ground: string
  /** For the series of a chart, in order. */
  readonly series: readonly string[]
}

/** Operators that set the colour of areas and texts. */
export const black = '0.12 0.12 0.14 rg'
export const grey = '0.38 0.4 0.44 rg'
export const stripe = '0.965 0.97 0.975 rg'
export const rule = '0.8 0.82 0.84 rg'

const operatorOf = (color: Rgb): string => `${color.map((part) => Math.round(part * 1000) / 1000).join(' ')} rg`

const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
const luminance = ([red, green, blue]: Rgb): number =>
  0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

/** Contrast 4.5 to white, which WCAG 2 asks of text. */
const darkEnough = 1.05 / 4.5 - 0.05

const mixed = (color: Rgb, other: Rgb, share: number): Rgb => [
  color[0] * share + other[0] * (1 - share),
  color[1] * share + other[1] * (1 - share),
  color[2] * share + other[2] * (1 - share),
]

const white: Rgb = [1, 1, 1]

const darkened = (color: Rgb): Rgb => {
  let dark = color
  while (luminance(dark) > darkEnough) dark = mixed(dark, [0, 0, 0], 0.93)
  return dark
}

/** Returns the colours of a report. A text that is not `#rrggbb` gives those of a dark blue. */
export const paletteOf = (color: string): Palette => {
  const [, red = '0b', green = '60', blue = '70'] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? []
  const area: Rgb = [parseInt(red, 16) / 255, parseInt(green, 16) / 255, parseInt(blue, 16) / 255]
  const text = darkened(area)
  return {
    area: operatorOf(area),
    text: operatorOf(text),
    ground: operatorOf(mixed(text, white, 0.12)),
    // They differ in lightness, so that they can be distinguished without seeing colours.
    series: [text, mixed(text, white, 0.5), [0.75, 0.77, 0.8] as const, [0.3, 0.32, 0.36] as const].map(operatorOf),
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100

/** Operators that fill a rectangle in the present colour. */
export const filled = (x: number, y: number, width: number, height: number): string =>
  `${rounded(x)} ${rounded(y)} ${rounded(width)} ${rounded(height)} re f`

/** Operators that readers of the structure leave out. */
export const artifact = (operators: string): string => `/Artifact BMC\n${operators}\nEMC`
