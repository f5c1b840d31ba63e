import { createHash, randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '../../core/kernel/failure.ts'
import type { SpoolId, Spools } from '../../core/usage/months/ports.ts'

/**
 * Bytes that are written or read at once. They go to the page cache: that takes less time than to hand them to a
 * thread.
 */
const blockBytes = 256 * 1024
const lineBreak = 0x0a

const noSpace = ['ENOSPC', 'EDQUOT']

const thrownFor = (error: unknown): unknown =>
  noSpace.includes((error as NodeJS.ErrnoException).code ?? '')
    ? new Unavailable('The disk of the data folder is full.', { cause: error })
    : error

/**
 * Spools in files of a folder that no other process can open: a file has no name any more, so the system frees it when
 * the process ends. A spool is named by its file descriptor, which all threads of a process share.
 */
export const makeSpools = (folder: string): Spools => ({
  async open() {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, `usage-${randomUUID()}`)
    const file = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    return file as SpoolId
  },
  writer: (spool) => {
    const from = fstatSync(spool).size
    const hash = createHash('sha256')
    let to = from
    let texts: string[] = []
    let length = 0
    const flush = (): void => {
      const bytes = Buffer.from(texts.join(''))
      hash.update(bytes)
      try {
        for (let written = 0; written < bytes.length;)
          written += writeSync(spool, bytes, written, bytes.length - written, to + written)
      } catch (error) {
        throw thrownFor(error)
      }
      to += bytes.length
      texts = []
      length = 0
    }
    return {
      append: async (lines) => {
        for (const line of lines) {
          texts.push(line)
          length += line.length
        }
        if (length >= blockBytes) flush()
      },
      end: async () => {
        flush()
        return { range: { spool, from, to }, digest: hash.digest('hex') }
      },
    }
  },
  async *read({ spool, from, to }) {
    let rest: Buffer = Buffer.alloc(0)
    for (let at = from; at < to;) {
      const block = Buffer.allocUnsafe(rest.length + Math.min(blockBytes, to - at))
      rest.copy(block)
      const read = readSync(spool, block, rest.length, block.length - rest.length, at)
      if (read === 0) throw new Error('A spool is shorter than what was written to it.')
      at += read
      const bytes = block.subarray(0, rest.length + read)
      const end = bytes.lastIndexOf(lineBreak) + 1
      rest = bytes.subarray(end)
      if (end > 0) yield bytes.toString('utf8', 0, end - 1).split('\n')
    }
  },
  remove: async (spool) => closeSync(spool),
})
