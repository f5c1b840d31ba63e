import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { StartRefused } from '../start-refused.ts'

/** Asks a person for a new password, twice, without showing it. The questions go to stderr. */
export const promptPassword = async (): Promise<string> => {
  const first = await askUnseen('New password: ')
  if (first !== (await askUnseen('The same again: '))) throw new StartRefused(['The two passwords differ. Nothing was changed.'])
  return first
}

const askUnseen = async (question: string): Promise<string> => {
  process.stderr.write(question)
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: unseen, terminal: true })
  try {
    return await lines.question('')
  } catch {
    throw new StartRefused(['No password was given. Nothing was changed.'])
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
