import { installDebianPackages } from './debian-package.ts'
import { environmentNames } from './names.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { findExecutable } from './run-command.ts'

const help = `install Chromium (Debian: chromium), name one with ${environmentNames.chromium}, or switch these tests off with --without chromium`

const onThisMachine = (): string | undefined =>
  findExecutable('chromium') ?? findExecutable('google-chrome-stable') ?? findExecutable('google-chrome')

/** The path of a Chromium: as the environment names it, else of this machine, else Debian's, which root installs. */
export async function findChromium(say: Say = sayOnStderr): Promise<string> {
  const known = process.env[environmentNames.chromium] ?? onThisMachine()
  if (known !== undefined) return known
  await installDebianPackages(['chromium', 'fonts-dejavu-core'], say).catch((cause: unknown) => {
    throw new Error(`no Chromium was found (${cause instanceof Error ? cause.message : String(cause)}): ${help}`, {
      cause,
    })
  })
  const installed = onThisMachine()
  if (installed === undefined) throw new Error(`chromium was installed, but it is not on PATH: ${help}`)
  return installed
}
