/** Tells the person who waits; test files that start a component themselves say it on stderr. */
export type Say = (line: string) => void

export const sayOnStderr: Say = (line) => {
  process.stderr.write(`[components] ${line}\n`)
}

/** Says what is being done now, again every 15 seconds, and how long it took. */
export async function withProgress<T>(say: Say, what: string, work: () => Promise<T>): Promise<T> {
  const from = Date.now()
  const seconds = () => `${Math.round((Date.now() - from) / 1000)} s`
  say(`${what} ...`)
  const ticking = setInterval(() => say(`${what}: still at it after ${seconds()}`), 15_000)
  try {
    const result = await work()
    say(`${what}: done in ${seconds()}`)
    return result
  } finally {
    clearInterval(ticking)
  }
}
