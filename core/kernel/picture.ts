import type { Outcome } from './failure.ts'
import { defineFailure } from './failure.ts'
import { token } from './token.ts'

/** The bytes are no picture of a kind that is taken, or one that is too large to be opened. */
export const PictureRefused = defineFailure('PictureRefused', 'Unprocessable')
/** So many pictures wait to be drawn that this one was not taken. */
export const PicturesBusy = defineFailure('PicturesBusy', 'Backoff')

/** What the wire calls a picture's type. */
export const pictureType = 'image/png'

/** Makes safe pictures of what people upload. */
export interface PictureMaker {
  /**
   * A square PNG of at most `side` pixels from a PNG, JPEG, GIF (its first frame) or WebP, drawn anew: nothing else that
   * stood in the file survives (place, camera, scripts). Formats that carry scripts or references, as SVG, are refused.
   * Failures: PictureRefused, PicturesBusy.
   */
  square(bytes: Uint8Array, side: number): Outcome<ReturnType<typeof PictureRefused> | ReturnType<typeof PicturesBusy>, Uint8Array>
  /** The square PNG that stands for a name: always the same for the same name, without regard to case. Nothing is kept. */
  ofName(name: string): Promise<Uint8Array>
}
export const PictureMakerToken = token<PictureMaker>('kernel.PictureMaker')
