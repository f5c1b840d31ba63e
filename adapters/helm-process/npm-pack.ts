import { spawn } from 'node:child_process'

const longestMinutes = 10
const keptCharacters = 4_000

/**
 * Has the user's own npm fetch the archive of a package, so that the user's registry, proxy and credentials count.
 * Nothing of the package is run. Throws, in plain words.
 */
export const npmPack = (spec: string, into: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, fail) => {
    const child = spawn('npm', ['pack', spec, '--loglevel=error', '--ignore-scripts', '--pack-destination', into], {
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      timeout: longestMinutes * 60_000,
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-keptCharacters)))
    child.once('error', (error: NodeJS.ErrnoException) =>
      fail(new Error(error.code === 'ENOENT' ? 'there is no npm on the PATH to fetch it with' : `npm could not fetch it (${error.code ?? error.message})`)),
    )
    child.once('close', (code) => (code === 0 ? resolve() : fail(new Error(`npm could not fetch it: ${reasonIn(said)}`))))
  })

/** The first of npm's words that tells something. */
const reasonIn = (said: string): string => {
  const lines = said.split('\n').map((line) => line.replace(/^npm (?:error|ERR!) ?/, '').trim()).filter((line) => line !== '')
  return lines[0]?.slice(0, 300) ?? 'is the registry within reach?'
}
