import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { busAudit } from './bus-audit.ts'
import type { BusIdentityStore, BusStores, BusUserStore, LiveBusUser } from './ports.ts'

export interface RetireDeps {
  readonly users: BusUserStore
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly clock: Clock
}

const atATime = 500
const keptDays = 7

/**
 * Ends the credentials of people who were disabled or deleted, who have another password, who are no site admins any more,
 * and the passes of those who are signed in nowhere. Whatever ended the person's right, and whoever wrote it: what counts is
 * what the rows say. Also closes the accounts of owners who are gone and sweeps old rows. Answers how many it ended.
 */
export const makeRetireCredentials =
  ({ users, identities, unitOfWork, clock }: RetireDeps) =>
  async (call: Call): Promise<number> => {
    const now = clock.now()
    let ended = 0
    for (let after = 0; !call.signal.aborted; ) {
      const page = await users.listLive(after, atATime, now)
      for (const user of page.filter(isOver)) {
        await end(unitOfWork, call, user, now)
        ended += 1
      }
      const last = page.at(-1)
      if (last === undefined || page.length < atATime) break
      after = last.id
    }
    for (const account of await identities.listOrphans(atATime)) {
      await unitOfWork.run(call, async ({ identities: within, audit }) => {
        await within.close(account.id, now)
        await audit.record({ action: 'bus_account.closed', objectType: 'bus_account', objectId: account.id, objectName: account.publicKey })
        return right(undefined)
      })
    }
    await users.sweep(laterByDays(now, -keptDays))
    return ended
  }

/** A pass is made when its session is there already. */
const isOver = ({ presentMark, ownerMark, purpose, hasSession }: LiveBusUser): boolean =>
  presentMark !== ownerMark || (purpose === 'pass' && !hasSession)

const end = (unitOfWork: UnitOfWork<BusStores>, call: Call, user: LiveBusUser, now: Date): Promise<unknown> =>
  unitOfWork.run(call, async ({ users, identities, audit }) => {
    await identities.lock(user.identityId)
    if (await users.revoke(user.id, now)) {
      await identities.raiseRevision(user.identityId)
      // The log of an owner who is gone is gone as well.
      const { tenantId, ...entry } = busAudit('bus_credentials.retired', user)
      await audit.record(user.presentMark === undefined ? entry : { ...entry, ...(tenantId === undefined ? {} : { tenantId }) })
    }
    return right(undefined)
  })
