import { setTimeout as delay } from 'node:timers/promises'

/** The pauses grow with the wait: what takes long is not asked so often that the asking slows it down. */
const shortestPause = 20
const longestPause = 100
const patienceMilliseconds = 90_000

/** Asks again and again until there is an answer; throws when there is none in a minute and a half. */
export const until = async <A>(what: string, ask: () => Promise<A | undefined> | A | undefined): Promise<A> => {
  for (let waited = 0; waited < patienceMilliseconds;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    const pause = Math.min(longestPause, Math.max(shortestPause, waited / 10))
    await delay(pause)
    waited += pause
  }
  throw new Error(`waited in vain: ${what}`)
}
