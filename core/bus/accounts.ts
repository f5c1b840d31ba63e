import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { rowsById } from '../kernel/page.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { SealedKeys } from './keys.ts'
import type { BusIdentityStore, BusKey, BusMint, BusServer, BusStores, BusUserStore } from './ports.ts'
import { BusHasNoCredentials } from './ports.ts'
import { accountOf, claimsFor } from './rights.ts'
import type { BusIdentity, BusPurpose, SentSubject } from './types.ts'

/**
 * Returns the audit row of a change to an account, for the log of its owner; without an owner, for that of the site.
 */
export const accountAuditOf = defineAudit(
  'bus_account',
  ['bus_account.created', 'bus_account.closed'],
  ({ id, publicKey, ownerId }: Pick<BusIdentity, 'id' | 'publicKey' | 'ownerId'>) => ({
    objectId: id,
    objectName: publicKey,
    ...definedFields({ tenantId: ownerId }),
  }),
)

export interface PushDeps {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly mint: BusMint
  readonly server: BusServer
  readonly safe: SealedKeys
  readonly clock: Clock
  readonly sent: readonly SentSubject[]
}

/**
 * Pushes the current claims of an account to the server and records the acknowledgement. Throws Unavailable if the
 * server does not respond.
 */
export type PushClaims = (identity: BusIdentity) => Promise<void>

const mostRounds = 5

/**
 * Two instances may push two revisions in the wrong order. An instance that finds, after its push, that the row has a
 * newer revision pushes again, so that the last claims to arrive are the newest ones.
 */
export const makePushClaims = (deps: PushDeps): PushClaims => {
  const { identities, users, mint, server, clock, sent } = deps
  const operatorKey = makeOperatorKey(deps)
  const signed = async (identity: BusIdentity): Promise<string> => {
    const { operator, platform } = await operatorKey()
    const now = clock.now()
    const revoked = await users.revokedOf(identity.id, now)
    const all: readonly (readonly [string, Date])[] = identity.closedAt === undefined ? [] : [['*', now]]
    // Each key is issued only once, so its expiry can be used as the revocation time, independently of clock
    // differences between instances.
    const revocations = new Map([...all, ...revoked.map(({ publicKey, expiresAt }) => [publicKey, expiresAt] as const)])
    return mint.accountClaims(operator, identity.publicKey, platform, { ...claimsFor(identity, sent), revocations })
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

/** The operator's key and the platform account's name, read once because they never change. */
const makeOperatorKey = ({ identities, safe }: Pick<PushDeps, 'identities' | 'safe'>) => {
  let kept: { readonly operator: BusKey; readonly platform: string } | undefined
  return async () => {
    if (kept !== undefined) return kept
    const [operator, platform] = await Promise.all([identities.find('operator'), identities.find('platform')])
    if (operator === undefined || platform === undefined)
      throw new Error('The bus has no keys: moorage bus init makes them.')
    kept = { operator: await safe.open(operator), platform: platform.publicKey }
    return kept
  }
}

export interface PushDueDeps {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly server: BusServer
  readonly push: PushClaims
  readonly clock: Clock
}

/** Pushes the claims of every account with an unacknowledged change. Throws Unavailable. */
export type PushDue = (signal: AbortSignal) => Promise<void>

const atATime = 200

export const makePushDue =
  ({ identities, push }: Pick<PushDueDeps, 'identities' | 'push'>): PushDue =>
  async (signal) => {
    for (const identity of await identities.listDue(atATime)) if (!signal.aborted) await push(identity)
  }

/**
 * Restores claims that a server lost or never received: unacknowledged changes, accounts that it does not know (its
 * store was wiped), and accounts with revocations for which it has older claims (its store was restored).
 */
export const makeReconcileClaims = ({ identities, users, server, push, clock }: PushDueDeps): PushDue => {
  const isCurrent = async (identity: BusIdentity, known: ReadonlySet<string>): Promise<boolean> => {
    if (identity.pushedRevision < identity.revision || !known.has(identity.publicKey)) return false
    const revoked = await users.revokedOf(identity.id, clock.now())
    return (
      (revoked.length === 0 && identity.kind !== 'platform') ||
      (await server.claimsOf(identity.publicKey)) === identity.claims
    )
  }
  return async (signal) => {
    // The outage has been logged once; the next run finds the work to do.
    if (!server.isConnected() || (await identities.find('platform')) === undefined) return
    const known = await server.accounts()
    for await (const identity of rowsById(atATime, (after, limit) => identities.listAccounts(after, limit))) {
      if (signal.aborted) return
      if (!(await isCurrent(identity, known))) await push(identity)
    }
  }
}

export interface OpenAccountDeps {
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly mint: BusMint
  readonly server: BusServer
  readonly safe: SealedKeys
  readonly push: PushClaims
  readonly clock: Clock
  readonly sent: readonly SentSubject[]
}
export type OpenAccount = (
  call: Call,
  input: { readonly ownerId: AccountId; readonly purpose: BusPurpose },
) => Outcome<Failure<'BusHasNoCredentials'>, BusIdentity>

/**
 * Returns the account for new credentials. Creates it if it is the owner's first, and pushes it to the server. Throws
 * Unavailable.
 */
export const makeOpenAccount =
  (deps: OpenAccountDeps): OpenAccount =>
  async (call, { ownerId, purpose }) => {
    const { identities, server, push, sent } = deps
    const platform = await identities.find('platform')
    if (platform === undefined)
      return left(BusHasNoCredentials('The message bus has no keys. The operator must run: moorage bus init.'))
    const account =
      accountOf(purpose) === 'platform'
        ? platform
        : ((await identities.find('account', ownerId)) ?? (await make(deps, call, ownerId)))
    // Claims that were pushed by an earlier release do not let the account send.
    const isSent = sent.some((each) => each.purpose === purpose)
    if (isSent) await push(platform)
    const isKnown = !isSent && (await server.claimsOf(account.publicKey)) !== undefined
    if (!isKnown || account.pushedRevision < account.revision) await push(account)
    return right(account)
  }

/** If two requests create it concurrently, the second one uses the first one's. */
const make = async (
  { unitOfWork, identities, mint, safe, clock }: OpenAccountDeps,
  call: Call,
  ownerId: AccountId,
): Promise<BusIdentity> => {
  const sealed = await safe.seal('account', ownerId, mint.newKey('account'))
  const made = await unitOfWork.run<Failure<'BusIdentityTaken'>, BusIdentity>(
    call,
    async ({ identities: within, audit }) => {
      const inserted = await within.insert(sealed, clock.now())
      if (isLeft(inserted)) return inserted
      await audit.record(
        accountAuditOf({ id: inserted.right.id, publicKey: sealed.publicKey, ownerId }, 'bus_account.created'),
      )
      return inserted
    },
  )
  if (isRight(made)) return made.right
  const theirs = await identities.find('account', ownerId)
  if (theirs === undefined) throw new Error(`The bus account of ${ownerId} exists and cannot be found.`)
  return theirs
}
