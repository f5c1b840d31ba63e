import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { changedFields, isUnchanged } from '../../kernel/json.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { PictureMaker } from '../../kernel/picture.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { profileOf } from '../authentication/authenticator.ts'
import type { FollowStore, IdentityChanges, IdentityStores } from '../ports.ts'
import type { User, UserListing, Viewer } from '../types.ts'
import { maySee, userMissing } from '../types.ts'
import type { ContentDigest, PageSizes } from './ports.ts'
import { findUser } from './users.ts'

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
export type FoundUser =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'renamed'; readonly login: string }

/** Finds a user by present or former name for a viewer. */
export const makeGetUser =
  ({ stores }: Deps) =>
  async (
    _call: Call,
    { viewer, login }: { readonly viewer: Viewer; readonly login: string },
  ): Outcome<Failure<'UserMissing'>, FoundUser> => {
    const user = await findUser(stores, viewer, login)
    if (!isLeft(user)) return right({ kind: 'user', user: user.right })
    const renamed = await stores.users.byFormerLogin(login)
    return renamed !== undefined && maySee(viewer, renamed) ? right({ kind: 'renamed', login: renamed.login }) : user
  }

/** Returns the id that a text of digits denotes. Returns 0, which no user has, for a text that cannot be an id. */
const idOf = (text: string): UserId =>
  (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : 0) as UserId

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

/** No picture with this name exists. */
export const AvatarMissing = defineFailure('AvatarMissing', 'NotFound', 'The picture does not exist.')

/** The side length in pixels: sharp on a high-density screen at the sizes at which avatars are shown. */
const side = 290

export interface ChangeAvatarDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly pictures: PictureMaker
  readonly contentDigest: ContentDigest
  readonly clock: Clock
}

/** Sets the caller's picture, re-encoded. */
export const makeSetAvatar =
  (deps: ChangeAvatarDeps) =>
  async (call: SignedInCall, bytes: Uint8Array): Outcome<Failure<'PictureRefused'>, void> => {
    const picture = await deps.pictures.square(bytes, side)
    if (isLeft(picture)) return picture
    const { userId, login } = call.principal
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await stores.avatars.put(userId, deps.contentDigest.of(picture.right), picture.right, deps.clock.now())
      await stores.audit.record(auditOfUser({ id: userId, login }, 'user.avatar_changed'))
      return right(undefined)
    })
  }

/** Removes the caller's picture. Does nothing if there is none. */
export const makeRemoveAvatar =
  (deps: Pick<ChangeAvatarDeps, 'unitOfWork'>) =>
  async (call: SignedInCall): Outcome<never, void> =>
    deps.unitOfWork.run<never, void>(call, async (stores) => {
      const { userId, login } = call.principal
      if (await stores.avatars.remove(userId)) {
        await stores.audit.record(auditOfUser({ id: userId, login }, 'user.avatar_removed'))
      }
      return right(undefined)
    })

/** Returns the picture with a digest. It requires no other right than knowing the digest. */
export const makeFindAvatar =
  ({ stores }: { readonly stores: Pick<IdentityStores, 'avatars'> }) =>
  async (_call: Call<never>, digest: string): Outcome<Failure<'AvatarMissing'>, Uint8Array> => {
    const bytes = await stores.avatars.byDigest(digest)
    return bytes === undefined ? left(AvatarMissing('The picture does not exist.')) : right(bytes)
  }

export const PageSizeInvalid = defineFailure(
  'PageSizeInvalid',
  'Unprocessable',
  'The number of rows of a page is out of range.',
)

const maxPageSize = 1_000
export const defaultPageSizes: PageSizes = { productUi: 10, consoleUi: 10, platformUi: 10 }

/** Changes the caller's page sizes. An absent one is unchanged. */
export const makeChangePageSizes =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (
    call: SignedInCall<PageSizes>,
    changes: Partial<PageSizes>,
  ): Outcome<Failure<'PageSizeInvalid'>, PageSizes> => {
    const isValid = Object.values(changes).every((size) => size >= 1 && size <= maxPageSize)
    if (!isValid) return left(PageSizeInvalid(`A page has 1 to ${maxPageSize} rows.`))
    return deps.unitOfWork.run<Failure<'PageSizeInvalid'>, PageSizes>(call, async (stores) => {
      const { userId } = call.principal
      const user = await stores.users.lock(userId)
      if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
      const current = (await stores.pageSizes.find(userId)) ?? defaultPageSizes
      const changed = changedFields(current, changes)
      if (isUnchanged(changed)) return right(current)
      const sizes = { ...current, ...changed }
      await stores.pageSizes.put(userId, sizes)
      await stores.audit.record(auditOfUser(user, 'user.page_sizes_changed', changed))
      return right(sizes)
    })
  }

export const FollowRefused = defineFailure('FollowRefused', 'Forbidden', 'A user cannot follow the own account.')
export const NotFollowing = defineFailure('NotFollowing', 'NotFound', 'The user does not follow the other user.')

interface ReadDeps {
  readonly stores: Pick<IdentityStores, 'users' | 'follows'>
}

export interface ListFollowsInput {
  readonly viewer: Viewer
  readonly login: string
  readonly page: PageRequest
}

const makeList =
  ({ stores }: ReadDeps, relation: 'followers' | 'following') =>
  async (
    _call: SignedInCall,
    { viewer, login, page }: ListFollowsInput,
  ): Outcome<Failure<'UserMissing'>, Page<User>> => {
    const user = await findUser(stores, viewer, login)
    return isLeft(user) ? user : right(await stores.follows[relation](viewer, user.right.id, page))
  }

/** Lists the followers of a user whom the viewer may see, by login. */
export const makeListFollowers = (deps: ReadDeps): ReturnType<typeof makeList> => makeList(deps, 'followers')

/** Lists the users whom a user follows, by login. The viewer may see the user. */
export const makeListFollowing = (deps: ReadDeps): ReturnType<typeof makeList> => makeList(deps, 'following')

export interface CheckFollowingInput {
  readonly viewer: Viewer
  /** Absent: the caller. */
  readonly follower?: string
  readonly target: string
}

/** Succeeds if one user follows another. The viewer may see both. */
export const makeCheckFollowing =
  ({ stores }: ReadDeps) =>
  async (
    call: SignedInCall,
    { viewer, follower, target }: CheckFollowingInput,
  ): Outcome<Failure<'UserMissing' | 'NotFollowing'>, void> => {
    const user =
      follower === undefined ? right({ id: call.principal.userId }) : await findUser(stores, viewer, follower)
    if (isLeft(user)) return user
    const followed = await findUser(stores, viewer, target)
    if (isLeft(followed)) return followed
    const isFollowing = await stores.follows.isFollowing(user.right.id, followed.right.id)
    return isFollowing ? right(undefined) : left(NotFollowing('No follow relation.'))
  }

/** The audit rows about follow relations. They are in the log of the follower. */
const auditOf = defineAudit(
  'user',
  ['user.followed', 'user.unfollowed'],
  ({ followerId, target }: { readonly followerId: UserId; readonly target: User }) => ({
    objectId: target.id,
    objectName: target.login,
    tenantId: followerId,
  }),
)

export interface FollowUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

const makeChange =
  (
    { stores: { users }, unitOfWork }: FollowUserDeps,
    action: 'user.followed' | 'user.unfollowed',
    change: (follows: FollowStore, call: SignedInCall, target: User) => Promise<boolean>,
  ) =>
  async (call: SignedInCall, login: string): Outcome<Failure<'UserMissing'> | Failure<'FollowRefused'>, void> => {
    const { userId, isSiteAdmin } = call.principal
    const found = await findUser({ users }, { userId, isSiteAdmin }, login)
    if (isLeft(found)) return found
    const target = found.right
    if (target.id === userId) return left(FollowRefused('You cannot follow yourself.'))
    return unitOfWork.run<never, void>(call, async ({ follows, audit }) => {
      if (await change(follows, call, target)) await audit.record(auditOf({ followerId: userId, target }, action))
      return right(undefined)
    })
  }

/** Follows a user whom the caller may see. It is idempotent. */
export const makeFollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.followed', (follows, call, target) =>
    follows.follow(call.principal.userId, target.id, deps.clock.now()),
  )

/** Unfollows a user. It is idempotent. */
export const makeUnfollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.unfollowed', (follows, call, target) => follows.unfollow(call.principal.userId, target.id))
