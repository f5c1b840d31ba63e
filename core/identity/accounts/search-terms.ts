import { right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../kernel/ids.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { makeOwnCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import type { SearchTermsPart } from './ports.ts'

const partSize = 1_000
/** The parts of one run, so that a run costs little however many users there are. The next run continues. */
const mostParts = 50

interface Walk {
  after: number
  readonly read: (after: number, limit: number) => Promise<SearchTermsPart>
  readonly replace: (stores: IdentityChanges, id: number) => Promise<void>
}

export interface MendSearchTermsDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly entropy: Entropy
}

/**
 * Returns a job that makes whole what an instance of an earlier release writes while it still runs: users and addresses
 * without search terms, or with those of a former name. Each run continues where the one before ended. Returns how many
 * were made whole.
 */
export const makeMendSearchTerms = ({
  stores,
  unitOfWork,
  entropy,
}: MendSearchTermsDeps): ((signal: AbortSignal) => Promise<number>) => {
  const walks: readonly Walk[] = [
    {
      after: 0,
      read: (after, limit) => stores.searchTerms.usersAfter(after, limit),
      replace: async ({ users, searchTerms }, id) => {
        if ((await users.lock(id as UserId)) !== undefined) await searchTerms.replaceUser(id)
      },
    },
    {
      after: 0,
      read: (after, limit) => stores.searchTerms.emailsAfter(after, limit),
      replace: ({ searchTerms }, id) => searchTerms.replaceEmail(id),
    },
  ]
  const replaceOne = (walk: Walk, id: number, signal: AbortSignal) =>
    unitOfWork.run<never, void>(makeOwnCall(entropy)('identity.mendSearchTerms', signal), async (changes) =>
      right(await walk.replace(changes, id)),
    )

  return async (signal) => {
    let mended = 0
    for (const walk of walks) {
      for (let part = 0; part < mostParts && !signal.aborted; part++) {
        const { outdated, last } = await walk.read(walk.after, partSize)
        for (const id of outdated) {
          if (signal.aborted) return mended
          await replaceOne(walk, id, signal)
          mended += 1
        }
        walk.after = last ?? 0
        if (last === undefined) break
      }
    }
    return mended
  }
}
