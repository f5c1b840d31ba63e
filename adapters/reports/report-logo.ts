const maxPixels = 24_000_000
const secondsToDraw = 5
/** Twice the size at which it is printed, in pixels at 150 per inch. */
const box = { width: 750, height: 240 } as const

/**
 * Returns a logo as a small picture in PNG without transparency; undefined if it cannot be read. pdfkit decodes transparency after it
 * has gone on, so the bytes of two equal documents would differ.
 */
export const readLogo = async (bytes: Uint8Array): Promise<Uint8Array | undefined> => {
  try {
    // Loaded for the first logo: the native library is large.
    const sharp = (await import('sharp')).default
    const drawn = await sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error', pages: 1 })
      .rotate()
      .resize(box.width, box.height, { fit: 'inside', withoutEnlargement: true })
      .flatten({ background: '#ffffff' })
      .timeout({ seconds: secondsToDraw })
      .png({ compressionLevel: 9, palette: false })
      .toBuffer()
    return new Uint8Array(drawn)
  } catch {
    return undefined
  }
}
