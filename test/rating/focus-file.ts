import { focusOf } from '../../core/rating/documents/focus.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { makeRandom } from '../usage/sample/random.ts'
import { issuedOf, randomAccount } from './random-accounts.ts'

/** Returns the export of the invoices of random accounts. */
export const randomFocusFile = async (accounts: number): Promise<string> => {
  const random = makeRandom('focus')
  const issuedIn = async function* () {
    for (let id = 1; id <= accounts; id += 1) yield* issuedOf(randomAccount(random, id))
  }
  const pieces: string[] = []
  for await (const piece of focusOf({ issuedIn }, 202601 as MonthKey, undefined)) pieces.push(piece)
  return pieces.join('')
}
