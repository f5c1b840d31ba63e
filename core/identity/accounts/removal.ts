import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, left, map, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Mail } from '../../mail/ports.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type {
  AuthenticateAgainDeps,
  AuthenticateAgainFailure,
  ProvenSecrets,
  VerifyOwnPasswordDeps,
} from '../credentials.ts'
import { lockProvenUser, makeAuthenticateAgain, makeVerifyOwnPassword } from '../credentials.ts'
import { postIfAddressed } from '../emails/account-mail.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import type { User } from '../types.ts'
import { endCredentials } from './access-end.ts'
import { isLastActingAdmin } from './user-changes.ts'
import { userMissing } from '../types.ts'

/** The request does not contain the password of the account. */
export const PasswordNeeded = defineFailure(
  'PasswordNeeded',
  'Unprocessable',
  'The body must have the password of the account.',
)
/** The account holds objects that no other account could take over; `errors` names them. */
export const AccountInUse = defineFailure(
  'AccountInUse',
  'Unprocessable',
  'The account is the last site admin, or owns things that must be handed over or deleted first.',
)

/** The audit rows about users who no longer exist. They are in no user's log. */
export const auditOfRemoved = defineAudit('user', ['user.deleted', 'user.purged'], ({ id, login }: User) => ({
  objectId: id,
  objectName: login,
}))

/** The number of days during which a deactivated account can be reactivated. */
export const reactivationDays = 30

export type DeactivateFailure = Failure<'UserMissing'> | Failure<'AccountInUse'>

/** Like `makeDeactivateAccount`, within a transaction that holds the lock on the user's row. */
export const deactivateHeld = async (
  stores: IdentityChanges,
  user: User,
  by: UserId,
  at: Date,
): Outcome<Failure<'AccountInUse'>, void> => {
  if (await isLastActingAdmin(stores, user)) {
    return left(
      AccountInUse('This is the last active site administrator.', { errors: ['last active site administrator'] }),
    )
  }
  const unattended = await stores.holdings.unattended(user.id)
  if (unattended.length > 0) {
    return left(
      AccountInUse(
        'Hand over or delete what belongs to this account alone, first: ' +
          `${unattended.slice(0, 5).join(', ')}${unattended.length > 5 ? ' and more' : ''}.`,
        { errors: unattended },
      ),
    )
  }
  if (!(await stores.accountLife.deactivate(user.id, by, at))) return right(undefined)
  await endCredentials(stores, user, at)
  await stores.audit.record(auditOfUser(user, 'user.deactivated'))
  return right(undefined)
}

/**
 * Deactivates an account, pending deletion: it is inactive at once, its sessions end, its tokens are deleted, and its
 * name remains taken. A site admin can reactivate it for 30 days, without the tokens. Refuses the last active site
 * admin, the only active owner of an organization, and an account that owns clusters. The caller must check who may
 * request it.
 *
 * @internal
 */
export const makeDeactivateAccount =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly clock: Clock }) =>
  (call: SignedInCall, userId: UserId): Outcome<DeactivateFailure, void> =>
    deps.unitOfWork.run<DeactivateFailure, void>(call, async (stores) => {
      const user = await stores.users.lock(userId)
      return user === undefined
        ? left(userMissing())
        : deactivateHeld(stores, user, call.principal.userId, deps.clock.now())
    })

/**
 * Reactivates a deactivated account, without the credentials that ended. Fails with UserMissing if the account is not
 * deactivated.
 */
export const makeReactivateAccount =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  (call: SignedInCall, userId: UserId): Outcome<Failure<'UserMissing'>, void> =>
    deps.unitOfWork.run<Failure<'UserMissing'>, void>(call, async (stores) => {
      const user = await stores.users.lock(userId)
      if (user === undefined || !(await stores.accountLife.reactivate(user.id))) return left(userMissing())
      await stores.audit.record(auditOfUser(user, 'user.reactivated'))
      return right(undefined)
    })

/** The account is still in use; `errors` names the reasons. */
export const UserInUse = defineFailure(
  'UserInUse',
  'Unprocessable',
  'The user cannot be deleted: the account is the caller’s own, the last site admin, an organization, or still needed.',
)

export interface DeleteUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

export interface DeleteUserInput {
  readonly login: string
  /** The user first leaves the organizations that have another owner. */
  readonly leavesOrganizations?: boolean | undefined
}

type DeleteUserFailure = Failure<'UserMissing'> | Failure<'UserInUse'>

/**
 * Deletes a user with all credentials. Refuses the caller, the last site admin, and an account that still holds
 * anything. With `leavesOrganizations` its memberships are not an obstacle, except in organizations without another
 * owner.
 */
export const makeDeleteUser =
  (deps: DeleteUserDeps) =>
  async (
    call: SignedInCall,
    { login, leavesOrganizations = false }: DeleteUserInput,
  ): Outcome<DeleteUserFailure, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) {
      const kind = await deps.stores.users.kindOfName(login)
      return left(kind === 'organization' ? UserInUse('This is an organization; delete it at /orgs.') : userMissing())
    }
    const caller = call.principal.impersonator?.userId ?? call.principal.userId
    if (found.id === caller || found.id === call.principal.userId)
      return left(UserInUse('You cannot delete your own account here.'))
    return deps.unitOfWork.run<DeleteUserFailure, void>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      if (await isLastActingAdmin(stores, user)) return left(UserInUse('This is the last active site administrator.'))
      const organizations = leavesOrganizations ? await stores.holdings.leaveOrganizations(user.id) : []
      const holdings = await stores.holdings.of(user.id)
      if (holdings.length > 0)
        return left(
          UserInUse(
            `The account is still needed: ${holdings.slice(0, 5).join(', ')}${holdings.length > 5 ? ' and more' : ''}.`,
            { errors: holdings },
          ),
        )
      await stores.users.remove(user.id)
      await stores.audit.record(
        auditOfRemoved(user, 'user.deleted', organizations.length > 0 ? { organizations } : undefined),
      )
      return right(undefined)
    })
  }

/** Like `makeDeleteUser`, for a user who is named by id. */
export const makeDeleteUserById = (deps: DeleteUserDeps) => {
  const remove = makeDeleteUser(deps)
  return async (call: SignedInCall, id: UserId): Outcome<DeleteUserFailure, void> => {
    const found = await deps.stores.users.byId(id)
    return found === undefined ? left(userMissing()) : remove(call, { login: found.login })
  }
}

export interface DeleteOwnAccountDeps extends AuthenticateAgainDeps, VerifyOwnPasswordDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export interface DeleteOwnAccountInput {
  readonly password: Secret | undefined
  /** A code of the authenticator, or a recovery code. HTTP Basic has already supplied one. */
  readonly passCode: string | undefined
}

export type DeleteOwnAccountFailure =
  | AuthenticateAgainFailure
  | Exclude<DeactivateFailure, Failure<'UserMissing'>>
  | Failure<'PasswordNeeded'>
  | Failure<'OwnPasswordWrong'>
  | Failure<'NotAuthenticated'>

/** Returns the mail to the owner, who requested the deletion. */
const deletedMail = (user: User, at: Date, sourceIp: string): Mail => ({
  to: user.primaryEmail,
  subject: 'Your account was deleted',
  paragraphs: [
    `The account ${user.login} was deleted at ${at.toISOString()} from the address ${sourceIp}. It can no ` +
      'longer sign in; its sessions were ended and its access tokens removed.',
    `For ${reactivationDays} days an administrator can restore it; after that it is removed permanently.`,
    'If this was not you, tell an administrator now.',
  ],
  accountId: user.id,
})

/**
 * Deactivates the caller's own account; an administrator can reactivate it for a while. The password is required
 * whatever the authentication method, since programs send credentials automatically. The second factor is also
 * required, once per request.
 */
export const makeDeleteOwnAccount = (deps: DeleteOwnAccountDeps) => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  const verifyPassword = makeVerifyOwnPassword(deps)
  return async (call: SignedInCall, input: DeleteOwnAccountInput): Outcome<DeleteOwnAccountFailure, void> => {
    const { password } = input
    if (password === undefined) return left(PasswordNeeded('password: must be in the JSON body.'))
    const isByPassword = call.principal.method === 'password' && call.principal.impersonator === undefined
    const proven: Either<DeleteOwnAccountFailure, ProvenSecrets | undefined> = isByPassword
      ? map(() => undefined)(await verifyPassword(call, password))
      : await authenticateAgain(call, input)
    if (isLeft(proven)) return proven
    return deps.unitOfWork.run<DeleteOwnAccountFailure, void>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      const at = deps.clock.now()
      const done = await deactivateHeld(stores, user, call.principal.userId, at)
      if (isLeft(done)) return left(done.left)
      await postIfAddressed(stores.mail, deletedMail(user, at, call.sourceIp))
      return right(undefined)
    })
  }
}

/** The number of days after which an account with an unconfirmed address is deleted. */
const confirmationDays = 7

export interface PurgeAccountsDeps {
  readonly stores: Pick<IdentityStores, 'accountLife'>
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

/** The number of accounts deleted, and the number kept because other objects depend on them. */
export interface Purged {
  readonly removed: number
  readonly kept: number
}

type State = 'unconfirmed' | 'deactivated'

const StillNeeded = defineFailure('StillNeeded', 'Conflict', 'Something depends on the account.')
const accountsAtOnce = 100

/**
 * Deletes one account that is still in this state, after removing it from its organizations. Returns false if it must
 * be kept.
 */
const purgeOne = async (deps: PurgeAccountsDeps, call: Call, id: UserId, state: State): Promise<boolean> => {
  const purged = await deps.unitOfWork.run<Failure<'StillNeeded'>, void>(
    call,
    async (stores): Outcome<Failure<'StillNeeded'>, void> => {
      if ((await stores.accountLife.lockState(id)) !== state) return left(StillNeeded('The account is in use again.'))
      const user = await stores.users.byId(id)
      if (user === undefined) return left(StillNeeded('The account is gone.'))
      const organizations = await stores.holdings.leaveOrganizations(id)
      if ((await stores.holdings.of(id)).length > 0) return left(StillNeeded('Something depends on the account.'))
      await stores.users.remove(id)
      await stores.audit.record(
        auditOfRemoved(user, 'user.purged', { state, ...(organizations.length > 0 ? { organizations } : {}) }),
      )
      return right(undefined)
    },
  )
  return isRight(purged)
}

/**
 * Deletes accounts permanently: those that were deactivated, or were left unconfirmed, the given number of days ago.
 * Each account has its own transaction. An account that needs action first (an organization without another owner,
 * clusters) is kept and retried the next time. None of the transactions marks an Idempotency-Key: an interrupted run is
 * repeated, and returns what the second run deleted.
 */
export const makePurgeAccounts =
  (deps: PurgeAccountsDeps) =>
  async (
    { keyed: _repeatable, ...call }: Call<never>,
    days = { deactivated: reactivationDays, unconfirmed: confirmationDays },
  ): Outcome<never, Purged> => {
    const { accountLife } = deps.stores
    const before = (count: number): Date => laterByDays(deps.clock.now(), -count)
    const next: Readonly<Record<State, (after: UserId | 0) => Promise<readonly UserId[]>>> = {
      deactivated: (after) => accountLife.deactivatedBefore(before(days.deactivated), after, accountsAtOnce),
      unconfirmed: (after) => accountLife.unconfirmedBefore(before(days.unconfirmed), after, accountsAtOnce),
    }
    let removed = 0
    let kept = 0
    for (const state of ['deactivated', 'unconfirmed'] as const) {
      let ids = await next[state](0)
      while (ids.length > 0 && !call.signal.aborted) {
        for (const id of ids) {
          if (await purgeOne(deps, call, id, state)) removed += 1
          else kept += 1
        }
        ids = await next[state](ids.at(-1) ?? 0)
      }
    }
    return right({ removed, kept })
  }
