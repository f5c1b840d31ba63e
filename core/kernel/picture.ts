import type { Outcome } from './failure.ts'
import { defineFailure } from './failure.ts'
import { portKey } from './port-key.ts'

/** The bytes are not a picture of a supported format, or the picture is too large to decode. */
export const PictureRefused = defineFailure(
  'PictureRefused',
  'Unprocessable',
  'The picture is missing, too large, or of a format that is not accepted.',
)

/** The media type of a picture on the wire. */
export const pictureType = 'image/png'

/** Makes safe pictures from uploads. */
export interface PictureMaker {
  /**
   * Re-encodes a PNG, JPEG, GIF (its first frame) or WebP as a square PNG of at most `side` pixels. No other content of
   * the file is kept (location, camera, scripts). Formats that carry scripts or references, such as SVG, are refused.
   * Failure: PictureRefused. Throws Busy if too many pictures of the caller wait.
   */
  square(bytes: Uint8Array, side: number): Outcome<ReturnType<typeof PictureRefused>, Uint8Array>
  /**
   * Returns the square PNG generated from a name. It is deterministic and does not depend on case. Nothing is stored.
   */
  ofName(name: string): Promise<Uint8Array>
}
export const PictureMakerPort = portKey<PictureMaker>('kernel.PictureMaker')
