import { FollowRefused, NotFollowing } from '../../../core/identity/accounts/follows.ts'
import { UserMissing } from '../../../core/identity/accounts/users.ts'
import { signedIn } from '../../kit/access.ts'
import { PathName, request } from '../../kit/codecs.ts'
import { empty, list } from '../../kit/reply.ts'
import { routesOf } from '../../kit/shared-route.ts'
import { User, userExample, UserPath } from '../codecs.ts'

const common = { tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' } as const
const route = routesOf(common)
const userRoute = routesOf({ ...common, params: UserPath, failures: [UserMissing] })
const confinedRoute = routesOf({ ...common, params: UserPath, failures: [UserMissing], servesConfined: true })

const ok = list(User, userExample)

export const listFollowers = confinedRoute({
  id: 'identity.listFollowers',
  method: 'GET',
  path: '/users/{username}/followers',
  summary: 'List the followers of a user, by name',
  ok,
})

export const listFollowing = confinedRoute({
  id: 'identity.listFollowing',
  method: 'GET',
  path: '/users/{username}/following',
  summary: 'List the users that a user follows, by name',
  ok,
})

export const checkFollowing = route({
  id: 'identity.checkFollowing',
  method: 'GET',
  path: '/users/{username}/following/{target}',
  summary: 'Check whether a user follows another',
  servesConfined: true,
  params: request({ username: PathName, target: PathName }, 'UserTargetPath'),
  ok: empty(204, 'Yes'),
  failures: [UserMissing, NotFollowing],
})

export const listOwnFollowers = route({
  id: 'identity.listOwnFollowers',
  method: 'GET',
  path: '/user/followers',
  summary: 'List the followers of the caller, by name',
  ok,
})

export const listOwnFollowing = route({
  id: 'identity.listOwnFollowing',
  method: 'GET',
  path: '/user/following',
  summary: 'List the users that the caller follows, by name',
  ok,
})

export const checkOwnFollowing = userRoute({
  id: 'identity.checkOwnFollowing',
  method: 'GET',
  path: '/user/following/{username}',
  summary: 'Check whether the caller follows a user',
  ok: empty(204, 'Yes'),
  failures: [NotFollowing],
})

export const followUser = userRoute({
  id: 'identity.followUser',
  method: 'PUT',
  path: '/user/following/{username}',
  summary: 'Follow a user',
  ok: empty(204),
  failures: [FollowRefused],
})

export const unfollowUser = userRoute({
  id: 'identity.unfollowUser',
  method: 'DELETE',
  path: '/user/following/{username}',
  summary: 'Unfollow a user',
  ok: empty(204),
  failures: [FollowRefused],
})
