import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { DirectoryAccounts } from '../identity/accounts/directory-ports.ts'
import type { MembersByAddress } from '../identity-providers/ports.ts'
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
  readonly members: MembersByAddress
}

type CreateUserFailure = ReadFailure | Failure<'Uniqueness' | 'ResourceMissing' | 'AccountNeeded'>

const emailTaken = () =>
  Uniqueness(
    'Another account has the e-mail address. The person can change it there, or a site administrator can remove the ' +
      'account.',
  )

/**
 * Creates an account for a user of the directory, which is a member of the organization without a team. Its name comes
 * from the user name. No mail is sent: the directory notifies its people. An account that has the address is adopted if
 * it is one of a member, with an address of a domain that the organization has verified.
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
      if (isLeft(created) && created.left.tag === 'EmailTaken') return adoptMember(deps, call, orgId, content.right)
      return created as Either<CreateUserFailure, ProvisionedUser>
    }
    return left(Uniqueness('Too many accounts have this user name.'))
  }

const lockForNewUser = async (
  { organizations, provisionedUsers }: ProvisioningStores,
  orgId: OrgId,
): Outcome<Failure<'ResourceMissing' | 'TooMany'>, void> => {
  if (!(await organizations.lock(orgId))) return left(userMissing())
  return (await provisionedUsers.count(orgId)) < maxProvisionedUsers
    ? right(undefined)
    : left(TooMany(`The directory of an organization has at most ${maxProvisionedUsers} users.`))
}

/** Puts the account of a member into the directory. It keeps its login, its password and what it holds. */
const adoptMember = (
  deps: CreateProvisionedUserDeps,
  call: SignedInCall<ProvisionedUser>,
  orgId: OrgId,
  content: UserContent,
): Outcome<CreateUserFailure, ProvisionedUser> =>
  deps.unitOfWork.run<CreateUserFailure, ProvisionedUser>(
    call,
    async (stores): Outcome<CreateUserFailure, ProvisionedUser> => {
      const room = await lockForNewUser(stores, orgId)
      if (isLeft(room)) return room
      const user = await deps.members.find({ ...stores, identity: stores }, orgId, content.email)
      if (user === undefined || (await stores.provisionedUsers.find(orgId, user.id)) !== undefined)
        return left(emailTaken())
      const at = deps.clock.now()
      const added = await stores.provisionedUsers.insert(orgId, user.id, content, at)
      // The user name is taken, or the account is in the directory of another organization.
      if (isLeft(added)) return left(emailTaken())
      await stores.memberships.markProvisioned(orgId, user.id)
      const edited = await deps.accounts.edit(stores, user, { fullName: content.fullName }, at)
      if (isLeft(edited)) return left(InvalidValue(edited.left.message))
      const set = await setActive(deps, stores, orgId, user, content.isActive, at)
      if (isLeft(set)) return set
      const made = await mustFind(stores, orgId, user.id)
      await stores.audit.record(
        auditOfProvisionedUser(made, 'provisioned_user.created', { login: user.login, adopted: true }),
      )
      return right(made)
    },
  )

const insertUser = (
  { unitOfWork, accounts, clock }: ProvisioningDeps,
  call: SignedInCall<ProvisionedUser>,
  orgId: OrgId,
  content: UserContent,
  prepared: PreparedUser,
): Outcome<CreateUserFailure | Failure<'UserNameTaken' | 'EmailTaken'>, ProvisionedUser> =>
  unitOfWork.run<CreateUserFailure | Failure<'UserNameTaken' | 'EmailTaken'>, ProvisionedUser>(call, async (stores) => {
    const room = await lockForNewUser(stores, orgId)
    if (isLeft(room)) return room
    const at = clock.now()
    const inserted = await prepared.insertIn(stores, at)
    if (isLeft(inserted)) return inserted
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

/** Reports whether an account belongs to others, too. A directory decides only about its membership. */
const isShared = async (
  { provisionedUsers }: ProvisioningStores,
  orgId: OrgId,
  { id, isAdmin }: User,
): Promise<boolean> => isAdmin || provisionedUsers.isElsewhere(orgId, id)

/** Ends a membership with its teams and grants. The last owner of the organization stays. */
const endMembership = async (
  { teams, memberships }: ProvisioningStores,
  orgId: OrgId,
  id: UserId,
): Outcome<Failure<'AccountNeeded'>, void> => {
  const owners = await teams.findByPermission(orgId, 'owner')
  const isOwner = owners !== undefined && (await teams.hasMember(owners.id, id))
  if (isOwner && !(await teams.staysLedWithout(owners.id, id)))
    return left(AccountNeeded('The user is the last owner of the organization. Make another member an owner first.'))
  await memberships.remove(orgId, id)
  return right(undefined)
}

/**
 * Makes a user active or not. An account that belongs to others, too, stays enabled and loses the membership: a
 * directory must not lock people out of other organizations. Neither does it decide about a site admin.
 */
const setActive = async (
  { accounts }: Pick<ProvisioningDeps, 'accounts'>,
  stores: ProvisioningStores,
  orgId: OrgId,
  account: User,
  isActive: boolean,
  at: Date,
): Outcome<Failure<'AccountNeeded'>, void> => {
  const isMember = (await stores.memberships.find(orgId, account.id)) !== undefined
  if (isActive && !isMember) await stores.memberships.add(orgId, account.id, at, true)
  if (!isActive && (await isShared(stores, orgId, account)))
    return isMember ? endMembership(stores, orgId, account.id) : right(undefined)
  if (account.isAdmin) return right(undefined)
  const set = await accounts.setActive(stores, account, isActive, at)
  return isLeft(set) ? left(AccountNeeded(set.left.message)) : right(undefined)
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
        const isSettled = async () => after.isActive || !account.isActive || isShared(stores, orgId, account)
        if (isSameJson(before, after) && (await isSettled())) return right(user)
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
  { orgId }: ProvisionedUser,
  account: User,
  before: UserContent,
  after: UserContent,
  at: Date,
): Outcome<ReadFailure | Failure<'Uniqueness' | 'AccountNeeded'>, void> => {
  const isOtherEmail = directoryKey(after.email) !== directoryKey(before.email)
  if (isOtherEmail && (await isShared(stores, orgId, account)))
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
  return setActive({ accounts }, stores, orgId, account, after.isActive, at)
}

/**
 * Removes a user from the directory and the organization, and deletes or deactivates the account, unless it belongs to
 * others, too. The last owner of the organization stays.
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
      const ended = await endMembership(stores, orgId, id)
      if (isLeft(ended)) return ended
      await stores.provisionedUsers.remove(orgId, id)
      if (!(await isShared(stores, orgId, account))) {
        const removed = await accounts.remove(stores, account, call.principal.userId, clock.now())
        if (isLeft(removed)) return left(AccountNeeded(removed.left.message))
      }
      await stores.audit.record(auditOfProvisionedUser(user, 'provisioned_user.deleted', { login: account.login }))
      return right(undefined)
    })
