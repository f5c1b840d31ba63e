import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

/** Pictures are compared at this width, so that fonts of another machine count little. */
const comparedWidth = 320
/** By how much a channel of a pixel must differ to count, of 255. */
const leastDifference = 48
/** The part of the pixels that may differ. */
const tolerance = 0.04

const pathOf = (name: string): string => fileURLToPath(new URL(`./pictures/${name}.png`, import.meta.url))

const differing = `async ([was, is, width, least]) => {
  const pixelsOf = async (data) => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + data)).blob())
    const height = Math.round((image.height * width) / image.width)
    const canvas = new OffscreenCanvas(width, height)
    const context = canvas.getContext('2d')
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, 0, 0, width, height)
    return context.getImageData(0, 0, width, height)
  }
  const [one, other] = [await pixelsOf(was), await pixelsOf(is)]
  if (one.height !== other.height) return 1
  let count = 0
  for (let at = 0; at < one.data.length; at += 4)
    if ([0, 1, 2].some((channel) => Math.abs(one.data[at + channel] - other.data[at + channel]) >= least)) count++
  return count / (one.data.length / 4)
}`

/**
 * Compares what a page shows with the picture of that name, without times and identifiers. Returns what differs, or
 * undefined. With `MOORAGE_TEST_PICTURES=write` the picture is replaced.
 */
export const differenceFromPicture = async (page: Page, name: string): Promise<string | undefined> => {
  // Notices go by themselves.
  await page.locator('.notices').evaluate((element: { hidden: boolean }) => (element.hidden = true))
  const mask = [page.locator('time'), page.locator('code')]
  const shot = await page.screenshot({ mask, maskColor: '#888888', animations: 'disabled' })
  const path = pathOf(name)
  if (process.env['MOORAGE_TEST_PICTURES'] === 'write') {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, shot)
    return undefined
  }
  if (!existsSync(path)) return `${name}: there is no picture`
  // A page without the policy of the console, which forbids the data addresses.
  const blank = await page.context().newPage()
  const given = [readFileSync(path).toString('base64'), shot.toString('base64'), comparedWidth, leastDifference]
  const part = await blank.evaluate<number>(`(${differing})(${JSON.stringify(given)})`)
  await blank.close()
  return part <= tolerance ? undefined : `${name}: ${(100 * part).toFixed(1)} % of the picture differ`
}
