import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { BusPasses } from '../identity/sessions/ports.ts'
import { rowsById } from '../kernel/page.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Call, OwnCall, SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { OpenAccount, PushClaims, PushDeps } from './accounts.ts'
import { accountAuditOf } from './accounts.ts'
import type { BusIdentityStore, BusKey, BusServer, BusStores, BusUserStore, LiveBusUser } from './ports.ts'
import { BusHasNoCredentials, BusRefused, BusTokenMissing } from './ports.ts'
import { rightsOf } from './rights.ts'
import type { BusIdentity, BusPurpose, BusUser, BusUserId, SentSubject } from './types.ts'
import { definedFields } from '../kernel/json.ts'

/** The objects are identified by their public key. */
const auditOf = defineAudit(
  'bus_credentials',
  ['bus_credentials.issued', 'bus_credentials.replaced', 'bus_credentials.revoked', 'bus_credentials.retired'],
  ({ id, publicKey, ownerId }: Pick<BusUser, 'id' | 'publicKey' | 'ownerId'>) => ({
    objectId: id,
    objectName: publicKey,
    tenantId: ownerId,
  }),
)

/** The issued credentials: a credentials file, or bearer claims. */
export interface IssuedCredentials {
  readonly endpoints: readonly string[]
  readonly file: Secret<Uint8Array>
  readonly claims: Secret
  /** The public key of their account. */
  readonly account: string
  readonly expiresAt: Date
}
export type IssueFailure = Failure<'BusHasNoCredentials' | 'BusRefused'>

export interface IssueInput {
  readonly ownerId: AccountId
  readonly login: string
  readonly purpose: BusPurpose
  readonly lifeSeconds: number
  /** Latest expiry of the credentials. */
  readonly notAfter?: Date | undefined
}
export type IssueCredentials = (call: Call, input: IssueInput) => Outcome<IssueFailure, IssuedCredentials>

export interface IssueDeps extends Pick<PushDeps, 'mint' | 'server' | 'safe' | 'identities'> {
  readonly clock: Clock
  readonly sent: readonly SentSubject[]
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly openAccount: OpenAccount
  readonly push: PushClaims
}

/** Maximum number of a person's live credentials per purpose; issuing one more ends the oldest. */
const maxLive = 20

/**
 * Issues credentials. The account is pushed to the server before anything is written about them, so that a server that
 * does not respond (throws `Unavailable`) leaves behind, at most, an unusable account.
 */
export const makeIssueCredentials =
  (deps: IssueDeps): IssueCredentials =>
  async (call, input) => {
    if (!deps.server.isConfigured) {
      return left(
        BusHasNoCredentials('Messages stay inside this process. A deployment with NATS sets MOORAGE_BUS_URL.'),
      )
    }
    const account = await deps.openAccount(call, input)
    if (isLeft(account)) return account
    const key = deps.mint.newKey('user')
    const expiresAt = expiryOf(deps.clock.now(), input)
    const evicted = await record(deps, call, input, { account: account.right, key, expiresAt })
    if (isLeft(evicted)) return evicted
    // The evicted credentials' place is already taken; the job retries a failed push.
    if (evicted.right) await pushQuietly(deps, account.right)
    const isBearer = input.purpose === 'pass'
    const claims = await deps.mint.userClaims(await deps.safe.open(account.right), key.publicKey, {
      name: input.login,
      rights: rightsOf(input.purpose, deps.sent),
      expiresAt,
      isBearer,
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

/** Writes the row. Reports whether older credentials were ended to make room. */
const record = (
  deps: IssueDeps,
  call: Call,
  { ownerId, purpose }: IssueInput,
  { account, key, expiresAt }: Issued,
): Outcome<Failure<'BusRefused'>, boolean> =>
  deps.unitOfWork.run<Failure<'BusRefused'>, boolean>(call, async ({ identities, users, callers, audit }) => {
    const now = deps.clock.now()
    if (call.principal !== undefined && !(await callers.isStillProven(call.principal))) {
      return left(BusRefused('The credential was replaced or revoked during the request. Send the current one.'))
    }
    // Concurrent issues for this account wait here, so that the count is exact.
    const locked = await identities.lock(account.id)
    const ownerMark = await users.ownerMark(ownerId)
    if (ownerMark === undefined || locked?.closedAt !== undefined)
      return left(BusRefused('This account has no access to the message bus.'))
    const live = await users.live(ownerId, purpose, now)
    const surplus = live.slice(0, Math.max(0, live.length - maxLive + 1))
    for (const each of surplus) {
      await users.revoke(each.id, now)
      await audit.record(auditOf(each, 'bus_credentials.replaced', { purpose: each.purpose }))
    }
    if (surplus.length > 0) await identities.raiseRevision(account.id)
    const user = {
      identityId: account.id,
      ownerId,
      purpose,
      publicKey: key.publicKey,
      ownerMark,
      issuedAt: now,
      expiresAt,
    }
    const id = await users.insert(user)
    await audit.record(auditOf({ ...user, id }, 'bus_credentials.issued', { purpose }))
    return right(surplus.length > 0)
  })

const pushQuietly = async ({ identities, push }: IssueDeps, { kind, ownerId }: BusIdentity): Promise<void> => {
  try {
    const identity = await identities.find(kind, ownerId)
    if (identity !== undefined) await push(identity)
  } catch {
    // The row records the unacknowledged change, and the job acts on it.
  }
}

export interface RevokeDeps {
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly clock: Clock
  readonly server: BusServer
  readonly push: PushClaims
}
type RevokeFailure = Failure<'BusTokenMissing'>
export interface RevokeInput {
  readonly ownerId: AccountId
  readonly id: BusUserId
}
export type RevokeCredentials = (call: SignedInCall, input: RevokeInput) => Outcome<RevokeFailure, void>

/**
 * Ends one of an owner's credentials; repeating it is not an error. The server disconnects their users when it receives
 * the new claims: now, or by the job if it does not respond.
 */
export const makeRevokeCredentials =
  (deps: RevokeDeps): RevokeCredentials =>
  async (call, input) => {
    const changed = await markRevoked(deps, call, input)
    if (isLeft(changed)) return changed
    if (changed.right !== undefined && deps.server.isConnected()) await deps.push(changed.right).catch(() => undefined)
    return right(undefined)
  }

/** Returns the account whose claims must change; undefined if the credentials had already ended. */
const markRevoked = (
  { unitOfWork, clock }: RevokeDeps,
  call: SignedInCall,
  { ownerId, id }: RevokeInput,
): Outcome<RevokeFailure, BusIdentity | undefined> =>
  unitOfWork.run<RevokeFailure, BusIdentity | undefined>(call, async ({ identities, users, audit }) => {
    const user = await users.get(ownerId, id)
    if (user === undefined) return left(BusTokenMissing('The bus credentials do not exist.'))
    await identities.lock(user.identityId)
    if (!(await users.revoke(id, clock.now()))) return right(undefined)
    await identities.raiseRevision(user.identityId)
    await audit.record(auditOf(user, 'bus_credentials.revoked', { purpose: user.purpose }))
    return right(await identities.lock(user.identityId))
  })

export interface RetireDeps {
  readonly users: BusUserStore
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly clock: Clock
}

const atATime = 500
const keptDays = 7

/**
 * Ends the credentials of people who were disabled or deleted, changed their password or are no longer site admins, and
 * the passes of those without a session. Only the state of the rows counts, not what changed it. Also closes the
 * accounts of deleted owners and sweeps old rows. Returns the number of ended credentials.
 */
export const makeRetireCredentials =
  ({ users, identities, unitOfWork, clock }: RetireDeps) =>
  async (call: Call): Promise<number> => {
    const now = clock.now()
    let ended = 0
    for await (const user of rowsById(atATime, (after, limit) => users.listLive(after, limit, now))) {
      if (call.signal.aborted) break
      if (!isOver(user)) continue
      await end(unitOfWork, call, user, now)
      ended += 1
    }
    for (const account of await identities.listOrphans(atATime)) {
      await unitOfWork.run(call, async ({ identities: within, audit }) => {
        await within.close(account.id, now)
        await audit.record(accountAuditOf({ ...account, ownerId: undefined }, 'bus_account.closed'))
        return right(undefined)
      })
    }
    await users.sweep(laterByDays(now, -keptDays))
    return ended
  }

/** A pass is always created after its session. */
const isOver = ({ presentMark, ownerMark, purpose, hasSession }: LiveBusUser): boolean =>
  presentMark !== ownerMark || (purpose === 'pass' && !hasSession)

const end = (unitOfWork: UnitOfWork<BusStores>, call: Call, user: LiveBusUser, now: Date): Promise<unknown> =>
  unitOfWork.run(call, async ({ users, identities, audit }) => {
    await identities.lock(user.identityId)
    if (await users.revoke(user.id, now)) {
      await identities.raiseRevision(user.identityId)
      // The log of a deleted owner no longer exists.
      const { tenantId, ...entry } = auditOf(user, 'bus_credentials.retired', { purpose: user.purpose })
      await audit.record(user.presentMark === undefined ? entry : { ...entry, ...definedFields({ tenantId }) })
    }
    return right(undefined)
  })

/** Issues passes for browsers in the same way as files; returns at once while the server is unreachable. */
export const makeBusPasses = (deps: {
  readonly issue: IssueCredentials
  readonly server: BusServer
  readonly ownCall: OwnCall
}): BusPasses => ({
  passFor: async ({ userId, login }, validSeconds) => {
    if (!deps.server.isConfigured || !deps.server.isConnected()) return undefined
    const issued = await deps.issue(deps.ownCall('bus.passFor'), {
      ownerId: userId,
      login,
      purpose: 'pass',
      lifeSeconds: validSeconds,
    })
    return isLeft(issued) ? undefined : issued.right.claims
  },
})
