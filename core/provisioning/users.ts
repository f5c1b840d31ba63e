import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { DirectoryAccounts } from '../identity/accounts/directory-ports.ts'
import type { PreparedUser, UserFounder, UserStore } from '../identity/ports.ts'
import type { User } from '../identity/types.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import { definedFields, isSameJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfProvisionedUser } from './audit.ts'
import type { Search } from './lists.ts'
import { listRows } from './lists.ts'
import { loginCandidates } from './names.ts'
import type { ProvisionedUserStore, ProvisioningStores, ReadFailure } from './ports.ts'
import {
  AccountNeeded,
  InvalidValue,
  Mutability,
  ResourceChanged,
  ResourceMissing,
  TooMany,
  Uniqueness,
} from './ports.ts'
import type { Listed, ProvisionedUser, UserContent, UserLookup, Window } from './types.ts'
import { directoryKey, maxProvisionedUsers } from './types.ts'

const userMissing = () => ResourceMissing('The organization has no such user that its directory manages.')

/** Returns a user of the directory of an organization. */
export const makeGetProvisionedUser =
  ({ users }: { readonly users: ProvisionedUserStore }) =>
  async (
    _call: SignedInCall,
    { orgId, id }: { readonly orgId: OrgId; readonly id: UserId },
  ): Outcome<Failure<'ResourceMissing'>, ProvisionedUser> => {
    const user = await users.find(orgId, id)
    return user === undefined ? left(userMissing()) : right(user)
  }

export interface ListUsersInput {
  readonly orgId: OrgId
  readonly search: Either<Failure<'InvalidFilter'>, Search<UserLookup, ProvisionedUser> | undefined>
  readonly window: Window
}

/** Lists users of the directory of an organization. */
export const makeListProvisionedUsers =
  ({ users }: { readonly users: ProvisionedUserStore }) =>
  async (
    _call: SignedInCall,
    { orgId, search, window }: ListUsersInput,
  ): Outcome<Failure<'InvalidFilter' | 'TooMany'>, Listed<ProvisionedUser>> =>
    isLeft(search) ? search : listRows(users, orgId, search.right, window)

export interface ProvisioningDeps {
  readonly unitOfWork: UnitOfWork<ProvisioningStores>
  readonly accounts: DirectoryAccounts
  readonly clock: Clock
}

export interface CreateProvisionedUserDeps extends ProvisioningDeps {
  readonly founder: UserFounder
  readonly accountNames: Pick<UserStore, 'kindOfName'>
}

type CreateUserFailure = ReadFailure | Failure<'Uniqueness' | 'ResourceMissing' | 'AccountNeeded'>

const emailTaken = () =>
  Uniqueness(
    'Another account has the e-mail address. The person can change it there, or a site administrator can remove the ' +
      'account.',
  )

/**
 * Creates an account for a user of the directory, which is a member of the organization without a team. Its name comes
 * from the user name. No mail is sent: the directory notifies its people.
 */
export const makeCreateProvisionedUser =
  (deps: CreateProvisionedUserDeps) =>
  async (
    call: SignedInCall<ProvisionedUser>,
    {
      orgId,
      orgName,
      content,
    }: { readonly orgId: OrgId; readonly orgName: string; readonly content: Either<ReadFailure, UserContent> },
  ): Outcome<CreateUserFailure, ProvisionedUser> => {
    if (isLeft(content)) return content
    for (const login of loginCandidates(content.right.userName, orgName)) {
      if ((await deps.accountNames.kindOfName(login)) !== undefined) continue
      const { email, fullName } = content.right
      const prepared = await deps.founder.prepare({ login, email, fullName, isExpected: true })
      if (isLeft(prepared) && prepared.left.tag === 'EmailInvalid') return left(InvalidValue(prepared.left.message))
      // A reserved word.
      if (isLeft(prepared)) continue
      const created = await insertUser(deps, call, orgId, content.right, prepared.right)
      if (isLeft(created) && created.left.tag === 'UserNameTaken') continue
      return created as Either<CreateUserFailure, ProvisionedUser>
    }
    return left(Uniqueness('Too many accounts have this user name.'))
  }

const insertUser = (
  { unitOfWork, accounts, clock }: ProvisioningDeps,
  call: SignedInCall<ProvisionedUser>,
  orgId: OrgId,
  content: UserContent,
  prepared: PreparedUser,
): Outcome<CreateUserFailure | Failure<'UserNameTaken'>, ProvisionedUser> =>
  unitOfWork.run<CreateUserFailure | Failure<'UserNameTaken'>, ProvisionedUser>(call, async (stores) => {
    if (!(await stores.organizations.lock(orgId))) return left(userMissing())
    if ((await stores.provisionedUsers.count(orgId)) >= maxProvisionedUsers)
      return left(TooMany(`The directory of an organization has at most ${maxProvisionedUsers} users.`))
    const at = clock.now()
    const inserted = await prepared.insertIn(stores, at)
    if (isLeft(inserted))
      return inserted.left.tag === 'EmailTaken' ? left(emailTaken()) : left(inserted.left as Failure<'UserNameTaken'>)
    const user = inserted.right
    const added = await stores.provisionedUsers.insert(orgId, user.id, content, at)
    if (isLeft(added)) return added
    await stores.memberships.add(orgId, user.id, at, true)
    const ended = content.isActive ? right(undefined) : await accounts.setActive(stores, user, false, at)
    if (isLeft(ended)) return left(AccountNeeded(ended.left.message))
    const made = await mustFind(stores, orgId, user.id)
    await stores.audit.record(auditOfProvisionedUser(made, 'provisioned_user.created', { login: user.login }))
    return right(made)
  })

const mustFind = async (
  { provisionedUsers }: ProvisioningStores,
  orgId: OrgId,
  id: UserId,
): Promise<ProvisionedUser> => {
  const user = await provisionedUsers.find(orgId, id)
  if (user === undefined) throw new Error('The provisioned user that was just changed is not there.')
  return user
}

interface UserRef {
  readonly orgId: OrgId
  readonly id: UserId
  /** If set, the change applies to this version of the user only. */
  readonly expectedVersion: number | undefined
}

export interface ChangeUserInput extends UserRef {
  /** Returns the content after the change. */
  readonly change: (before: ProvisionedUser) => Either<ReadFailure, UserContent>
  /** Returns the content of a user as it is. */
  readonly contentOf: (user: ProvisionedUser) => Either<ReadFailure, UserContent>
}

type ChangeUserFailure = ReadFailure | Failure<'Uniqueness' | 'ResourceMissing' | 'ResourceChanged' | 'AccountNeeded'>

/**
 * Changes a user of the directory, and the account with it: its full name, its address, and whether it is active. The
 * address of an account that belongs to others, too, is not for one directory to change.
 */
export const makeChangeProvisionedUser =
  (deps: ProvisioningDeps) =>
  (call: SignedInCall<ProvisionedUser>, { orgId, id, expectedVersion, ...input }: ChangeUserInput) =>
    deps.unitOfWork.run<ChangeUserFailure, ProvisionedUser>(
      call,
      async (stores): Outcome<ChangeUserFailure, ProvisionedUser> => {
        const held = await lockUser(stores, { orgId, id, expectedVersion })
        if (isLeft(held)) return held
        const { account, user } = held.right
        const [was, next] = [input.contentOf(user), input.change(user)]
        if (isLeft(was)) return was
        if (isLeft(next)) return next
        const [before, after] = [was.right, next.right]
        // A user who was removed by hand is not active, and may still have an active account.
        const isAccountRight = after.isActive || !account.isActive
        if (isSameJson(before, after) && isAccountRight) return right(user)
        const at = deps.clock.now()
        const edited = await editAccount(deps, stores, user, account, before, after, at)
        if (isLeft(edited)) return edited
        const updated = await stores.provisionedUsers.update(orgId, id, after, at)
        if (isLeft(updated)) return updated
        const made = await mustFind(stores, orgId, id)
        const fields = Object.keys({ ...before.attributes, ...after.attributes }).filter(
          (field) => !isSameJson(before.attributes[field] ?? null, after.attributes[field] ?? null),
        )
        const active = before.isActive === after.isActive ? undefined : after.isActive
        await stores.audit.record(
          auditOfProvisionedUser(made, 'provisioned_user.changed', { fields, ...definedFields({ active }) }),
        )
        return right(made)
      },
    )

interface LockedUser {
  readonly user: ProvisionedUser
  readonly account: User
}

/** Locks the organization, then the account. */
const lockUser = async (
  stores: ProvisioningStores,
  { orgId, id, expectedVersion }: UserRef,
): Outcome<Failure<'ResourceMissing' | 'ResourceChanged'>, LockedUser> => {
  const isThere = (await stores.organizations.lock(orgId)) && (await stores.provisionedUsers.find(orgId, id))
  const account = isThere ? await stores.users.lock(id) : undefined
  const user = account === undefined ? undefined : await stores.provisionedUsers.find(orgId, id)
  if (account === undefined || user === undefined) return left(userMissing())
  return expectedVersion === undefined || expectedVersion === user.version
    ? right({ user, account })
    : left(ResourceChanged('The user has changed since it was read. Read it again.'))
}

const editAccount = async (
  { accounts }: ProvisioningDeps,
  stores: ProvisioningStores,
  { orgId, id }: ProvisionedUser,
  account: User,
  before: UserContent,
  after: UserContent,
  at: Date,
): Outcome<ReadFailure | Failure<'Uniqueness' | 'AccountNeeded'>, void> => {
  const isOtherEmail = directoryKey(after.email) !== directoryKey(before.email)
  if (isOtherEmail && (account.isAdmin || (await stores.provisionedUsers.isElsewhere(orgId, id))))
    return left(
      Mutability(
        'The address of this account cannot be changed here: it is a member of another organization, too, or a site ' +
          'administrator.',
      ),
    )
  const changes = definedFields({
    fullName: after.fullName === before.fullName ? undefined : after.fullName,
    email: isOtherEmail ? after.email : undefined,
  })
  const edited = await accounts.edit(stores, account, changes, at)
  if (isLeft(edited)) return left(edited.left.tag === 'EmailTaken' ? emailTaken() : InvalidValue(edited.left.message))
  if (after.isActive && (await stores.memberships.find(orgId, id)) === undefined)
    await stores.memberships.add(orgId, id, at, true)
  const set = await accounts.setActive(stores, account, after.isActive, at)
  return isLeft(set) ? left(AccountNeeded(set.left.message)) : right(undefined)
}

/**
 * Removes a user from the directory and the organization, and deletes or deactivates the account. The last owner of the
 * organization stays.
 */
export const makeDeleteProvisionedUser =
  ({ unitOfWork, accounts, clock }: ProvisioningDeps) =>
  (
    call: SignedInCall,
    { orgId, id, expectedVersion }: UserRef,
  ): Outcome<Failure<'ResourceMissing' | 'ResourceChanged' | 'AccountNeeded'>, void> =>
    unitOfWork.run<Failure<'ResourceMissing' | 'ResourceChanged' | 'AccountNeeded'>, void>(call, async (stores) => {
      const held = await lockUser(stores, { orgId, id, expectedVersion })
      if (isLeft(held)) return held
      const { account, user } = held.right
      const owners = await stores.teams.findByPermission(orgId, 'owner')
      const isOwner = owners !== undefined && (await stores.teams.hasMember(owners.id, id))
      if (isOwner && !(await stores.teams.staysLedWithout(owners.id, id)))
        return left(
          AccountNeeded('The user is the last owner of the organization. Make another member an owner first.'),
        )
      await stores.memberships.remove(orgId, id)
      await stores.provisionedUsers.remove(orgId, id)
      const removed = await accounts.remove(stores, account, call.principal.userId, clock.now())
      if (isLeft(removed)) return left(AccountNeeded(removed.left.message))
      await stores.audit.record(auditOfProvisionedUser(user, 'provisioned_user.deleted', { login: account.login }))
      return right(undefined)
    })
