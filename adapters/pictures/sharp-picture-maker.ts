import { hash } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import { accountNameKey } from '../../core/kernel/ids.ts'
import type { PictureMaker } from '../../core/kernel/picture.ts'
import { PictureRefused } from '../../core/kernel/picture.ts'

/** A larger picture is a decompression bomb, or not a portrait or logo. */
const maxPixels = 24_000_000
const secondsToDraw = 5

/** The first bytes of each accepted format. Other content never reaches the decoder. */
const signatures: readonly (readonly number[])[] = [
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  [0xff, 0xd8, 0xff],
  [0x47, 0x49, 0x46, 0x38],
]
const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean => start.every((byte, i) => bytes[i] === byte)
const isWebp = (bytes: Uint8Array): boolean =>
  startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes.subarray(8), [0x57, 0x45, 0x42, 0x50])

/** Loaded for the first picture: the native library is large, and few commands draw. */
const libvips = async () => (await import('sharp')).default

/** Runs work on a picture of so many bytes in turn. Throws Busy if too much work of the caller waits. */
export type DrawInQueue = <A>(bytes: number, work: () => Promise<A>) => Promise<A>

const draw = async (bytes: Uint8Array, side: number): Promise<Buffer | undefined> => {
  try {
    const sharp = await libvips()
    const picture = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', pages: 1 })
    const { width, height } = (await picture.metadata()).autoOrient
    // `withoutEnlargement` would leave a picture with one small side as it is: not a square.
    const size = Math.min(side, width, height)
    return await picture
      .rotate()
      .resize(size, size, { fit: 'cover' })
      .timeout({ seconds: secondsToDraw })
      .png({ compressionLevel: 9 })
      .toBuffer()
  } catch {
    return undefined
  }
}

const cells = 7
const pixelsPerCell = 40
const ground = [240, 240, 240] as const

/** Colours on which both white and black text are legible. */
const inks = [
  [182, 73, 73],
  [176, 104, 52],
  [140, 122, 44],
  [88, 132, 58],
  [48, 134, 96],
  [44, 128, 140],
  [58, 112, 172],
  [92, 92, 184],
  [130, 82, 176],
  [164, 74, 150],
  [176, 74, 112],
  [104, 112, 124],
] as const

/**
 * Draws the picture of a name: five rows of five cells within a margin, mirrored, in one colour. The digest of the name
 * decides which of the fifteen cells of the left half and the middle are coloured.
 */
const drawName = async (name: string): Promise<Buffer> => {
  const sharp = await libvips()
  const digest = hash('sha256', accountNameKey(name), 'buffer')
  const ink = inks[digest.readUInt8(0) % inks.length] ?? inks[0]
  const isInked = (row: number, column: number): boolean =>
    row >= 0 &&
    row < 5 &&
    column >= 0 &&
    column < 5 &&
    digest.readUInt8(1 + row * 3 + Math.min(column, 4 - column)) % 2 === 1
  const pixels = Array.from({ length: cells * cells }, (_, i) =>
    isInked(Math.floor(i / cells) - 1, (i % cells) - 1) ? ink : ground,
  )
  return sharp(Uint8Array.from(pixels.flat()), { raw: { width: cells, height: cells, channels: 3 } })
    .resize(cells * pixelsPerCell, cells * pixelsPerCell, { kernel: 'nearest' })
    .png()
    .toBuffer()
}

const plainBytes = (buffer: Buffer): Uint8Array => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)

/**
 * PictureMaker on libvips. A picture of a hundred kilobytes can take a core for most of a second, on the threads that
 * also serve files and name resolution. Pictures are therefore processed in turn, and refused if too many wait.
 */
export const makeSharpPictureMaker = (inTurn: DrawInQueue): PictureMaker => ({
  async square(bytes, side) {
    const isTaken = signatures.some((signature) => startsWith(bytes, signature)) || isWebp(bytes)
    if (!isTaken) return left(PictureRefused('Send a picture as PNG, JPEG, GIF or WebP.'))
    const png = await inTurn(bytes.byteLength, () => draw(bytes, side))
    return png === undefined
      ? left(PictureRefused('The picture cannot be opened, or it is larger than a picture of this kind needs to be.'))
      : right(plainBytes(png))
  },
  ofName: async (name) => plainBytes(await drawName(name)),
})
