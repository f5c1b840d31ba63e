import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { distribution, hubUserName, isMadeByUs, managedByLabel, managedByValue } from '../../clusters/hub-types.ts'
import type { Hub, HubChangeFailure, HubObject, Hubs } from '../../clusters/hubs/ports.ts'
import { HubConflict } from '../../clusters/hubs/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Outcome } from '../../kernel/failure.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { recordPart } from '../../kernel/unit-of-work.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOf } from './spoke-records.ts'
import type { HubMember, HubMembers } from './ports.ts'

const accountKind = distribution.kinds.account
const { ownerLabel } = distribution
/** The login of the user, for people who look at the hub. */
const loginAnnotation = 'moorage/login'

const concurrentAccounts = 8

/**
 * The name of the user is that under which requests through the hub arrive there: the controllers let the account act
 * as exactly `spec.username`, and give the gateway to the user with the name of the Account.
 */
const contentOf = ({ userId, login, teams }: HubMember, { ownerId, context }: AccessGrant): FreeObject => ({
  metadata: {
    labels: { [managedByLabel]: managedByValue, [ownerLabel]: String(ownerId) },
    annotations: { [loginAnnotation]: login },
  },
  spec: {
    username: hubUserName(userId),
    uid: String(userId),
    // The gateway looks the teams up by what a request has in `extra`, which is the id.
    groups: context.accountKind === 'organization' ? { [String(ownerId)]: teams } : {},
    extra: { [distribution.organizationKey]: [String(ownerId)] },
  },
})

/** Reports whether an Account was made by this service for the members of this account. */
const isOwn = ({ name, body }: HubObject, { ownerId }: AccessGrant): boolean =>
  name.startsWith(distribution.userPrefix) &&
  isMadeByUs({ body }) &&
  textAt(body, 'metadata', 'labels', ownerLabel) === String(ownerId)

/** The Accounts that a run has changed. */
interface Synced {
  applied: number
  removed: number
}

/** What a run has done, for the caller. */
export interface AccountSync extends Readonly<Synced> {
  readonly message: string
}

/** An Account lets a person use the hub. What the person may do on a spoke is decided by bindings with a role. */
const withoutRights =
  'The accounts give no right on any spoke, and no ManagedClusterRoleBinding was made: no role on spokes follows ' +
  'from the permission to connect to clusters. Make a ManagedClusterRoleBinding or ManagedClusterSetRoleBinding on ' +
  'the hub for each person who is to use a spoke.'

interface Deps {
  readonly hubs: Hubs
  readonly members: HubMembers
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}

/**
 * Writes an Account for each member of the account that owns a hub, and removes those of former members. Accounts are
 * named by the id of their user. Those of service accounts, of other owners and of other programs are left alone.
 */
export const makeSyncAccounts = ({ hubs, members, unitOfWork }: Deps) => {
  const sync = async (hub: Hub, grant: AccessGrant, synced: Synced): Outcome<HubChangeFailure, void> => {
    // Accounts before members: an Account that another run writes for a new member is then never taken for one of a
    // former member.
    const listed = await hub.list(accountKind)
    if (isLeft(listed)) return listed
    const current = await members.listOf(grant.ownerId)
    const known = new Map(listed.right.map((account) => [account.name, account]))
    const foreign = current
      .map(({ userId }) => known.get(hubUserName(userId)))
      .filter((account) => account !== undefined && !isOwn(account, grant))

    let failure: HubChangeFailure | undefined
    const written: HubObject[] = []
    const attempt = async <A>(change: Promise<Either<HubChangeFailure, A>>): Promise<A | undefined> => {
      const done = await change
      if (!isLeft(done)) return done.right
      failure ??= done.left
      return undefined
    }
    const remove = async (account: HubObject): Promise<void> => {
      if (failure === undefined && (await attempt(hub.remove(accountKind, account))) === true) synced.removed += 1
    }
    const apply = async (member: HubMember): Promise<void> => {
      const before = known.get(hubUserName(member.userId))
      if (failure !== undefined || (before !== undefined && !isOwn(before, grant))) return
      const applied = await attempt(
        hub.apply(accountKind, { name: hubUserName(member.userId) }, contentOf(member, grant)),
      )
      if (applied === undefined) return
      written.push(applied)
      if (applied.resourceVersion !== before?.resourceVersion) synced.applied += 1
    }

    const names = new Set(current.map(({ userId }) => hubUserName(userId)))
    await mapWithin(
      listed.right.filter((account) => isOwn(account, grant) && !names.has(account.name)),
      concurrentAccounts,
      remove,
    )
    await mapWithin(current, concurrentAccounts, apply)
    // A member who left during the run has an Account again if the run of that change was faster than this one.
    const still = new Set((await members.listOf(grant.ownerId)).map(({ userId }) => hubUserName(userId)))
    await mapWithin(
      written.filter(({ name }) => !still.has(name)),
      concurrentAccounts,
      remove,
    )
    if (failure !== undefined) return left(failure)
    if (foreign.length === 0) return right(undefined)
    return left(
      HubConflict('Some accounts of the hub belong to another owner or program. They were not changed.', {
        errors: foreign.map((account) => account?.name ?? '').sort(),
      }),
    )
  }

  return async (call: SignedInCall<AccountSync>, grant: AccessGrant): Outcome<HubChangeFailure, AccountSync> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const synced: Synced = { applied: 0, removed: 0 }
    const done = await sync(hub.right, grant, synced)
    const entries =
      synced.applied + synced.removed === 0 ? [] : [auditOf(hub.right, 'cluster.accounts_synced', { ...synced })]
    if (isLeft(done)) {
      const { keyed: _, ...unkeyed } = call
      await recordPart(unitOfWork, unkeyed, entries)
      return done
    }
    return unitOfWork.run<never, AccountSync>(call, async ({ audit }) => {
      for (const entry of entries) await audit.record(entry)
      return right({ ...synced, message: withoutRights })
    })
  }
}
