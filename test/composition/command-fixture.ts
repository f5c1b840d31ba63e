import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExitCode } from '../../composition/part/command-context.ts'
import { runCommandLine } from '../../composition/moorage.ts'

/** The folder of the data folders; it goes with the process. */
export const cliFolder = mkdtempSync(join(tmpdir(), 'moorage-cli-'))
process.once('exit', () => rmSync(cliFolder, { recursive: true, force: true }))
let folders = 0

export interface Ran {
  readonly code: ExitCode
  readonly out: string
  readonly err: string
}

/** The command line in this process, with this environment and no other. */
export const runIn = async (
  environment: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<Ran> => {
  const out: string[] = []
  const err: string[] = []
  const code = await runCommandLine(words, {
    environment,
    print: (text) => void out.push(text),
    say: (text) => void err.push(text),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** The command line over a data folder of its own unless one is given. */
export const run = (words: readonly string[], environment: Record<string, string> = {}): Promise<Ran> =>
  runIn({ MOORAGE_DATA_DIR: join(cliFolder, `data-${(folders += 1)}`), ...environment }, ...words)
