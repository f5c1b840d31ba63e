import type { Clock } from '../kernel/clock.ts'
import type { BusIdentityStore, BusServer, BusUserStore } from './ports.ts'
import type { PushClaims } from './push-claims.ts'
import type { BusIdentity } from './types.ts'

export interface PushDueDeps {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly server: BusServer
  readonly push: PushClaims
  readonly clock: Clock
}

/** Pushes the claims of every account whose last change the server has not acknowledged. Throws Unavailable. */
export type PushDue = (signal: AbortSignal) => Promise<void>

const atATime = 200

const eachAccount = async (identities: BusIdentityStore, signal: AbortSignal, visit: (identity: BusIdentity) => Promise<void>): Promise<void> => {
  for (let after = 0; !signal.aborted; ) {
    const page = await identities.listAccounts(after, atATime)
    for (const identity of page) if (!signal.aborted) await visit(identity)
    const last = page.at(-1)
    if (last === undefined || page.length < atATime) return
    after = last.id
  }
}

export const makePushDue =
  ({ identities, push }: Pick<PushDueDeps, 'identities' | 'push'>): PushDue =>
  async (signal) => {
    for (const identity of await identities.listDue(atATime)) if (!signal.aborted) await push(identity)
  }

/**
 * What a server lost or never got is given to it again: changes that it has not acknowledged, accounts that it does not
 * know (its store was wiped), and accounts with revocations that it has older claims of (its store was put back).
 */
export const makeReconcileClaims = ({ identities, users, server, push, clock }: PushDueDeps): PushDue => {
  const isCurrent = async (identity: BusIdentity, known: ReadonlySet<string>): Promise<boolean> => {
    if (identity.pushedRevision < identity.revision || !known.has(identity.publicKey)) return false
    const revoked = await users.revokedOf(identity.id, clock.now())
    return (revoked.length === 0 && identity.kind !== 'platform') || (await server.claimsOf(identity.publicKey)) === identity.claims
  }
  return async (signal) => {
    // That it is away has been logged once; the next run finds what there is to do.
    if (!server.isConnected() || (await identities.find('platform')) === undefined) return
    const known = await server.accounts()
    await eachAccount(identities, signal, async (identity) => {
      if (!(await isCurrent(identity, known))) await push(identity)
    })
  }
}
