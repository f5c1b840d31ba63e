import { setTimeout as delay } from 'node:timers/promises'

const pauseMilliseconds = 20
const patienceMilliseconds = 90_000

/** Asks again and again until there is an answer; throws when there is none in a minute and a half. */
export const until = async <A>(what: string, ask: () => Promise<A | undefined> | A | undefined): Promise<A> => {
  for (let waited = 0; waited < patienceMilliseconds; waited += pauseMilliseconds) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await delay(pauseMilliseconds)
  }
  throw new Error(`waited in vain: ${what}`)
}
