import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { busAudit } from './bus-audit.ts'
import type { OpenAccount } from './open-account.ts'
import type { BusKey, BusStores } from './ports.ts'
import { BusHasNoCredentials, BusRefused } from './ports.ts'
import type { PushClaims, PushDeps } from './push-claims.ts'
import { rightsOf } from './rights.ts'
import type { BusIdentity, BusPurpose } from './types.ts'

/** What was issued: a credentials file, or claims that let in by themselves. */
export interface IssuedCredentials {
  readonly endpoints: readonly string[]
  readonly file: Secret<Uint8Array>
  readonly claims: Secret
  /** The public key of the account that they belong to. */
  readonly account: string
  readonly expiresAt: Date
}
export type IssueFailure = Failure<'BusHasNoCredentials' | 'BusRefused'>

export interface IssueInput {
  readonly ownerId: AccountId
  readonly login: string
  readonly purpose: BusPurpose
  readonly lifeSeconds: number
  /** They end no later than this. */
  readonly notAfter?: Date | undefined
}
export type IssueCredentials = (call: Call, input: IssueInput) => Outcome<IssueFailure, IssuedCredentials>

export interface IssueDeps extends Pick<PushDeps, 'mint' | 'server' | 'safe' | 'identities'> {
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly openAccount: OpenAccount
  readonly push: PushClaims
}

/** Of each purpose a person has this many at a time: one more ends the oldest. */
const maxLive = 20

/**
 * Issues credentials. The server has the account before anything is written about them, so that a server that does not
 * answer (`Unavailable` is thrown) leaves nothing behind but, at most, an account that nobody can use.
 */
export const makeIssueCredentials =
  (deps: IssueDeps): IssueCredentials =>
  async (call, input) => {
    if (!deps.server.isConfigured) {
      return left(BusHasNoCredentials('Messages stay inside this process. A deployment with NATS sets MOORAGE_BUS_URL.'))
    }
    const account = await deps.openAccount(call, input)
    if (isLeft(account)) return account
    const key = deps.mint.newKey('user')
    const expiresAt = expiryOf(deps.clock.now(), input)
    const evicted = await record(deps, call, input, { account: account.right, key, expiresAt })
    if (isLeft(evicted)) return evicted
    // Their place is taken already; the job repeats what does not get through now.
    if (evicted.right) await pushQuietly(deps, account.right)
    const isBearer = input.purpose === 'pass'
    const claims = await deps.mint.userClaims(await deps.safe.open(account.right), key.publicKey, {
      name: input.login, rights: rightsOf[input.purpose], expiresAt, isBearer,
    })
    return right({
      endpoints: deps.server.endpoints,
      file: deps.mint.credentialsFile(claims, key),
      claims: secret(claims),
      account: account.right.publicKey,
      expiresAt,
    })
  }

const expiryOf = (now: Date, { lifeSeconds, notAfter }: IssueInput): Date => {
  const byLife = now.getTime() + lifeSeconds * 1000
  return new Date(notAfter === undefined ? byLife : Math.min(byLife, notAfter.getTime()))
}

interface Issued {
  readonly account: BusIdentity
  readonly key: BusKey
  readonly expiresAt: Date
}

/** Writes the row. Answers whether older ones were ended for it. */
const record = (deps: IssueDeps, call: Call, { ownerId, purpose }: IssueInput, { account, key, expiresAt }: Issued): Outcome<Failure<'BusRefused'>, boolean> =>
  deps.unitOfWork.run<Failure<'BusRefused'>, boolean>(call, async ({ identities, users, callers, audit }) => {
    const now = deps.clock.now()
    if (call.principal !== undefined && !(await callers.isStillProven(call.principal))) {
      return left(BusRefused('The credential was replaced or revoked meanwhile. Send the current one.'))
    }
    // Whoever issues for this account waits here, so that none counts too few.
    const locked = await identities.lock(account.id)
    const ownerMark = await users.ownerMark(ownerId)
    if (ownerMark === undefined || locked?.closedAt !== undefined) return left(BusRefused('This account has no access to the message bus.'))
    const live = await users.live(ownerId, purpose, now)
    const surplus = live.slice(0, Math.max(0, live.length - maxLive + 1))
    for (const each of surplus) {
      await users.revoke(each.id, now)
      await audit.record(busAudit('bus_credentials.replaced', each))
    }
    if (surplus.length > 0) await identities.raiseRevision(account.id)
    const user = { identityId: account.id, ownerId, purpose, publicKey: key.publicKey, ownerMark, issuedAt: now, expiresAt }
    const id = await users.insert(user)
    await audit.record(busAudit('bus_credentials.issued', { ...user, id }))
    return right(surplus.length > 0)
  })

const pushQuietly = async ({ identities, push }: IssueDeps, { kind, ownerId }: BusIdentity): Promise<void> => {
  try {
    const identity = await identities.find(kind, ownerId)
    if (identity !== undefined) await push(identity)
  } catch {
    // The row says that the server lacks them, and the job acts by the row.
  }
}
