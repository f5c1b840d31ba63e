import { crc32, inflateRawSync } from 'node:zlib'

const endOfDirectory = 0x06054b50
const directoryHeader = 0x02014b50
const localHeader = 0x04034b50

/** The content of one entry of a zip archive; the check sum must hold. ZIP64 and encryption are not read. */
export function readZipEntry(archive: Buffer, name: string): Buffer {
  const end = archive.lastIndexOf(Buffer.from(Uint32Array.of(endOfDirectory).buffer))
  if (end < 0) throw new Error('not a zip archive')
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (archive.readUInt32LE(at) !== directoryHeader) throw new Error('damaged zip directory')
    const nameLength = archive.readUInt16LE(at + 28)
    if (archive.toString('utf8', at + 46, at + 46 + nameLength) === name) return contentOf(archive, at)
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  throw new Error(`the zip archive has no ${name}`)
}

function contentOf(archive: Buffer, header: number): Buffer {
  const method = archive.readUInt16LE(header + 10)
  const checkSum = archive.readUInt32LE(header + 16)
  const storedBytes = archive.readUInt32LE(header + 20)
  const local = archive.readUInt32LE(header + 42)
  if (archive.readUInt32LE(local) !== localHeader) throw new Error('damaged zip entry')
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const stored = archive.subarray(start, start + storedBytes)
  if (method !== 0 && method !== 8) throw new Error(`zip method ${method} is not supported`)
  const content = method === 0 ? stored : inflateRawSync(stored)
  if (crc32(content) !== checkSum) throw new Error('the check sum of a zip entry does not hold')
  return content
}
