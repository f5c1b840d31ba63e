import type { Clock } from '../kernel/clock.ts'
import type { KeySafe } from './key-safe.ts'
import type { BusIdentityStore, BusKey, BusMint, BusServer, BusUserStore } from './ports.ts'
import { claimsFor } from './rights.ts'
import type { BusIdentity } from './types.ts'

export interface PushDeps {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly mint: BusMint
  readonly server: BusServer
  readonly safe: KeySafe
  readonly clock: Clock
}

/** Hands the server the present claims of an account and remembers that it took them. Throws Unavailable when it does not answer. */
export type PushClaims = (identity: BusIdentity) => Promise<void>

const mostRounds = 5

/**
 * Two instances may push two revisions in the wrong order. Whoever finds, after its push, that the row has moved on pushes
 * once more, so that the last claims to arrive are the last ones made.
 */
export const makePushClaims = (deps: PushDeps): PushClaims => {
  const { identities, users, mint, server, clock } = deps
  const operatorKey = makeOperatorKey(deps)
  const signed = async (identity: BusIdentity): Promise<string> => {
    const { operator, platform } = await operatorKey()
    const now = clock.now()
    const revoked = await users.revokedOf(identity.id, now)
    const all: readonly (readonly [string, Date])[] = identity.closedAt === undefined ? [] : [['*', now]]
    // A key is issued for once, so its expiry stands for whenever it was revoked, however the clocks of instances differ.
    const revocations = new Map([...all, ...revoked.map(({ publicKey, expiresAt }) => [publicKey, expiresAt] as const)])
    return mint.accountClaims(operator, identity.publicKey, platform, { ...claimsFor(identity), revocations })
  }
  const pushOnce = async (identity: BusIdentity): Promise<void> => {
    const claims = await signed(identity)
    await server.push(claims)
    await identities.acknowledge(identity.id, identity.revision, claims)
  }
  return async (identity) => {
    let current: BusIdentity | undefined = identity
    for (let round = 0; current !== undefined && round < mostRounds; round += 1) {
      const pushed: BusIdentity = current
      await pushOnce(pushed)
      const now = await identities.find(pushed.kind, pushed.ownerId)
      current = now !== undefined && now.revision > pushed.revision ? now : undefined
    }
  }
}

/** The operator's key and the platform account's name, read once: they never change. */
const makeOperatorKey = ({ identities, safe }: Pick<PushDeps, 'identities' | 'safe'>) => {
  let kept: { readonly operator: BusKey; readonly platform: string } | undefined
  return async () => {
    if (kept !== undefined) return kept
    const [operator, platform] = await Promise.all([identities.find('operator'), identities.find('platform')])
    if (operator === undefined || platform === undefined) throw new Error('The bus has no keys: moorage bus init makes them.')
    kept = { operator: await safe.open(operator), platform: platform.publicKey }
    return kept
  }
}
