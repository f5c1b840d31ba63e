import { randomUUID } from 'node:crypto'
import { mkdir, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Spools } from '../../core/usage/months/ports.ts'

/** Texts that are passed on at once. */
const batch = 250

/** Spools in files of a folder that no other process can open: a file has no name any more, so the system frees it when the process ends. */
export const makeSpools = (folder: string): Spools => ({
  async open() {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, `usage-${randomUUID()}`)
    const file = await open(path, 'wx+', 0o600)
    await unlink(path)
    return {
      append: async (texts) => {
        if (texts.length > 0) await file.appendFile(`${texts.join('\n')}\n`)
      },
      async *read() {
        let texts: string[] = []
        let rest = ''
        for await (const chunk of file.createReadStream({ start: 0, autoClose: false, encoding: 'utf8', highWaterMark: 256 * 1024 })) {
          const lines = (rest + String(chunk)).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) {
            texts.push(line)
            if (texts.length < batch) continue
            yield texts
            texts = []
          }
        }
        if (texts.length > 0) yield texts
      },
      remove: () => file.close(),
    }
  },
})
