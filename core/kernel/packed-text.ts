/**
 * A text in compressed form, as it is stored and as clients that accept gzip get it: raw deflate blocks of which none is the last, cut at
 * a byte. The blocks of several texts in a row, with a last block, are the compressed form of all of them.
 */
export interface PackedText {
  readonly deflated: Uint8Array
  /** CRC-32 of the text in UTF-8. */
  readonly crc32: number
  /** The length of the text in UTF-8, in bytes. */
  readonly size: number
}
