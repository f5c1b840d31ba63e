import { left, right } from 'fp-ts/lib/Either.js'
import sharp from 'sharp'
import type { PictureMaker } from '../../core/kernel/picture.ts'
import { PictureRefused, PicturesBusy } from '../../core/kernel/picture.ts'

/** What opens into more pixels than this is a bomb, or no picture of a face or a logo. */
const maxPixels = 24_000_000
const secondsToDraw = 5

/** The first bytes of each kind that is taken; the decoder is not even asked about others. */
const signatures: readonly (readonly number[])[] = [
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  [0xff, 0xd8, 0xff],
  [0x47, 0x49, 0x46, 0x38],
]
const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean => start.every((byte, i) => bytes[i] === byte)
const isWebp = (bytes: Uint8Array): boolean =>
  startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes.subarray(8), [0x57, 0x45, 0x42, 0x50])

/** Gives out turns, and no promise of one where too many wait already. */
export interface Turns {
  tryRun<A>(work: () => Promise<A>): Promise<A> | undefined
}

const draw = async (bytes: Uint8Array, side: number): Promise<Buffer | undefined> => {
  try {
    return await sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', pages: 1 })
      .rotate()
      .resize(side, side, { fit: 'cover', withoutEnlargement: true })
      .timeout({ seconds: secondsToDraw })
      .png({ compressionLevel: 9 })
      .toBuffer()
  } catch {
    return undefined
  }
}

/**
 * PictureMaker on libvips. A hundred kilobytes can take a core for most of a second, on threads that files and names are
 * read on as well: so pictures are drawn in turn, and a crowd of them is turned away.
 */
export const makeSharpPictureMaker = (turns: Turns): PictureMaker => ({
  async square(bytes, side) {
    const isTaken = signatures.some((signature) => startsWith(bytes, signature)) || isWebp(bytes)
    if (!isTaken) return left(PictureRefused('Send a picture as PNG, JPEG, GIF or WebP.'))
    const drawing = turns.tryRun(() => draw(bytes, side))
    if (drawing === undefined) return left(PicturesBusy('Too many pictures at this moment, try again in a few seconds.', { retryAfterSeconds: 5 }))
    const png = await drawing
    return png === undefined
      ? left(PictureRefused('The picture cannot be opened, or it is larger than a picture of this kind needs to be.'))
      : right(new Uint8Array(png.buffer, png.byteOffset, png.length))
  },
})
