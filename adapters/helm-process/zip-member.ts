import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { openPromise, type Entry, type ZipFile } from 'yauzl'

const entryOf = async (zip: ZipFile, name: string): Promise<Entry> => {
  for await (const entry of zip.eachEntry()) if (entry.fileName === name) return entry
  throw new Error(`the archive holds no ${name}`)
}

/** Writes one member of a zip archive to a new file. Answers the SHA-256 of what was written, in hex. */
export const extractZipMember = async (archive: string, name: string, into: string): Promise<string> => {
  const zip = await openPromise(archive, { lazyEntries: true, autoClose: false })
  try {
    const content = await zip.openReadStreamPromise(await entryOf(zip, name))
    const hash = createHash('sha256')
    const hashed = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk)
        done(null, chunk)
      },
    })
    await pipeline(content, hashed, createWriteStream(into, { mode: 0o600, flags: 'wx' }))
    return hash.digest('hex')
  } finally {
    zip.close()
  }
}
