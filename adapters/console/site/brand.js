/** @typedef {readonly [red: number, green: number, blue: number]} Color */

/** @param {string} text such as `#0b6070` @returns {Color} */
const colorOf = (text) => {
  const value = Number.parseInt(text.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

/** The relative luminance of WCAG 2. @param {Color} color */
const luminance = (color) => {
  const [red = 0, green = 0, blue = 0] = color.map((each) => {
    const part = each / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** @param {Color} a @param {Color} b */
const contrast = (a, b) => {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((left, right) => left - right)
  return (light + 0.05) / (dark + 0.05)
}

/** What text needs on its background. */
const leastContrast = 4.6

/**
 * Returns the color mixed with black or white until it can be read on the background.
 *
 * @param {Color} color
 * @param {Color} background
 * @returns {Color}
 */
const readable = (color, background) => {
  const goal = luminance(background) > 0.4 ? 0 : 255
  for (let part = 0; part <= 1; part += 0.05) {
    const [red, green, blue] = color
    const mix = (/** @type {number} */ each) => Math.round(each + (goal - each) * part)
    /** @type {Color} */
    const mixed = [mix(red), mix(green), mix(blue)]
    if (contrast(mixed, background) >= leastContrast) return mixed
  }
  return [goal, goal, goal]
}

const css = (/** @type {Color} */ color) => `rgb(${color.join(' ')})`

/**
 * Uses the color, name and icon of the vendor. Any color stays readable in both color schemes.
 *
 * @param {{ primaryColor: string, favicons: Record<string, unknown> } | undefined} branding
 */
export const applyBrand = (branding) => {
  if (branding === undefined || !/^#[0-9a-f]{6}$/i.test(branding.primaryColor)) return
  const color = colorOf(branding.primaryColor)
  const { style } = document.documentElement
  const onLight = readable(color, [241, 244, 246])
  const onDark = readable(color, [32, 44, 53])
  style.setProperty('--brand', css(color))
  style.setProperty('--accent-light', css(onLight))
  style.setProperty('--accent-dark', css(onDark))
  const icon = Object.values(branding.favicons).find((each) => typeof each === 'string' && each !== '')
  if (typeof icon === 'string') document.querySelector('link[rel=icon]')?.setAttribute('href', icon)
}
