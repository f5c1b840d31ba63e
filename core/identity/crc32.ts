const table: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value >>> 0
})

/** CRC-32 (IEEE 802.3, as in zip) of ASCII text, in 0..2^32-1. */
export const crc32 = (ascii: string): number => {
  let value = 0xffffffff
  for (let i = 0; i < ascii.length; i += 1) {
    value = (value >>> 8) ^ (table[(value ^ ascii.charCodeAt(i)) & 0xff] ?? 0)
  }
  return (value ^ 0xffffffff) >>> 0
}
