import { crc32 } from 'node:zlib'
import type { PackedText } from '../../../core/kernel/exchange.ts'

const header = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
/** The most bytes of a deflate block that is not compressed. */
const longestBlock = 65_535

/** The reversed polynomial of CRC-32. */
const polynomial = 0xedb88320

/** Returns the product of two polynomials over GF(2), modulo that of CRC-32, as zlib does. */
const multiplied = (a: number, b: number): number => {
  let product = 0
  let factor = b
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ polynomial
  }
  return product >>> 0
}

/** x to the power of 2^n. */
const powers: number[] = [0x40000000]
for (let n = 1; n < 32; n += 1) powers.push(multiplied(powers[n - 1] ?? 0, powers[n - 1] ?? 0))

/** Returns x to the power of 8 * bytes. */
const shiftOf = (bytes: number): number => {
  let shift = 0x80000000
  for (let rest = bytes, n = 3; rest > 0; rest = Math.floor(rest / 2), n += 1) if (rest % 2 === 1) shift = multiplied(powers[n % 32] ?? 0, shift)
  return shift
}

/** Returns the CRC-32 of two texts in a row from that of each and the length of the second. */
export const joinedCrc = (first: number, second: number, secondBytes: number): number => (multiplied(shiftOf(secondBytes), first) ^ second) >>> 0

/** Returns bytes as deflate blocks that are not compressed. */
const storedBlocks = (bytes: Uint8Array): Uint8Array => {
  const blocks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += longestBlock) {
    const block = bytes.subarray(at, at + longestBlock)
    const head = Buffer.alloc(5)
    head.writeUInt16LE(block.length, 1)
    head.writeUInt16LE(~block.length & 0xffff, 3)
    blocks.push(head, block)
  }
  return Buffer.concat(blocks)
}

/**
 * Returns pieces as one gzip file. Packed pieces are taken as they are, so that nothing is compressed or inflated for a request; what is
 * between them is short and not compressed.
 */
export const gzipPieces = async function* (pieces: AsyncIterable<string | Uint8Array | PackedText>): AsyncGenerator<Uint8Array> {
  let crc = 0
  let size = 0
  yield header
  for await (const piece of pieces) {
    if (typeof piece === 'string' || piece instanceof Uint8Array) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      crc = crc32(bytes, crc)
      size += bytes.length
      yield storedBlocks(bytes)
    } else {
      crc = joinedCrc(crc, piece.crc32, piece.size)
      size += piece.size
      yield piece.deflated
    }
  }
  // An empty last block, and the checksum and the length of the whole, modulo 2^32.
  const end = Buffer.alloc(10)
  end.set([3, 0])
  end.writeUInt32LE(crc, 2)
  end.writeUInt32LE(size % 0x1_0000_0000, 6)
  yield end
}
