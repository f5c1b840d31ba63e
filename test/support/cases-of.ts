import test from 'ava'
import type { ExecutionContext } from 'ava'

/** What a case works on: made for the case, closed after it. */
export interface Closable {
  close(): Promise<void>
}

/** Makes the function that declares cases, titled `<name>: <title>`, each on a bench of its own. */
export const casesOf =
  <Bench extends Closable>(name: string, open: () => Promise<Bench>) =>
  (title: string, run: (t: ExecutionContext, bench: Bench) => Promise<void>): void =>
    test(`${name}: ${title}`, async (t) => {
      const bench = await open()
      try {
        await run(t, bench)
      } finally {
        await bench.close()
      }
    })
