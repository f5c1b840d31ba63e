import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import { profileOf } from '../authentication/authenticator.ts'
import type { IdentityStores } from '../ports.ts'
import type { User, UserListing, Viewer } from '../types.ts'
import { maySee } from '../types.ts'
import { findUser, userMissing } from './users.ts'

interface Deps {
  readonly stores: Pick<IdentityStores, 'users'>
}

const existing = (user: User | undefined): User => {
  if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
  return user
}

/** Returns the caller's account. */
export const makeGetOwnAccount =
  ({ stores }: Deps) =>
  async ({ principal }: SignedInCall): Outcome<never, User> =>
    right(existing(await stores.users.byId(principal.userId)))

export interface CallerProfile {
  readonly user: User
  /** Whether the caller belongs to a client organization; false if that was not requested. */
  readonly isClientOrgUser: boolean
}

/** Returns the caller's account, without a query if authentication has loaded it. */
export const makeGetCaller =
  ({ stores }: { readonly stores: Pick<IdentityStores, 'users' | 'holdings'> }) =>
  async ({ principal }: SignedInCall, input: { readonly checksClientOrg: boolean }): Outcome<never, CallerProfile> => {
    const user = existing(profileOf(principal) ?? (await stores.users.byId(principal.userId)))
    return right({ user, isClientOrgUser: input.checksClientOrg && (await stores.holdings.isClientOrgUser(user.id)) })
  }

/** The user with a name, or the present name of the user who formerly had it. */
export type FoundUser = { readonly kind: 'user'; readonly user: User } | { readonly kind: 'renamed'; readonly login: string }

/** Finds a user by present or former name for a viewer. */
export const makeGetUser =
  ({ stores }: Deps) =>
  async (_call: Call, { viewer, login }: { readonly viewer: Viewer; readonly login: string }): Outcome<Failure<'UserMissing'>, FoundUser> => {
    const user = await findUser(stores, viewer, login)
    if (!isLeft(user)) return right({ kind: 'user', user: user.right })
    const renamed = await stores.users.byFormerLogin(login)
    return renamed !== undefined && maySee(viewer, renamed) ? right({ kind: 'renamed', login: renamed.login }) : user
  }

/** Returns the id that a text of digits denotes. Returns 0, which no user has, for a text that cannot be an id. */
const idOf = (text: string): UserId => (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : 0) as UserId

/** Returns any user by id or by name, for a site admin. Digits are tried as an id first. */
export const makeGetAnyUser =
  ({ stores }: Deps) =>
  async (_call: SignedInCall, idOrName: string): Outcome<Failure<'UserMissing'>, User> => {
    const user = (await stores.users.byId(idOf(idOrName))) ?? (await stores.users.byLogin(idOrName))
    return user === undefined ? left(userMissing()) : right(user)
  }

export interface ListUsersInput {
  /** In lower case. */
  readonly text: string
  readonly page: PageRequest
  /** Undefined if no user can match. */
  readonly listing: UserListing | undefined
}

/** Lists all users, for a site admin. */
export const makeListUsers =
  ({ stores }: Deps) =>
  async (_call: SignedInCall, { text, page, listing }: ListUsersInput): Outcome<never, Page<User>> =>
    right(listing === undefined ? { items: [], total: 0 } : await stores.users.list(text, page, listing))
