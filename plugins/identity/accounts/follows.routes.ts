import { FollowRefused } from '../../../core/identity/accounts/follows.ts'
import { UserMissing } from '../../../core/identity/accounts/users.ts'
import { defineFailure } from '../../../core/kernel/failure.ts'
import { read, signedIn, write } from '../../kit/access.ts'
import { PathName, request } from '../../kit/codecs.ts'
import { empty, list } from '../../kit/reply.ts'
import { defineRoute } from '../../kit/route.ts'
import { User, userExample, UserPath } from '../codecs.ts'

const tag = 'Identity - Users & Settings'

export const NotFollowing = defineFailure('NotFollowing', 'NotFound')

const ok = list(User, userExample)

export const listFollowers = defineRoute({
  id: 'identity.listFollowers',
  method: 'GET',
  path: '/users/{username}/followers',
  summary: 'List the followers of a user, by name',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('user'),
  params: UserPath,
  ok,
  failures: [UserMissing],
})

export const listFollowing = defineRoute({
  id: 'identity.listFollowing',
  method: 'GET',
  path: '/users/{username}/following',
  summary: 'List the users that a user follows, by name',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('user'),
  params: UserPath,
  ok,
  failures: [UserMissing],
})

export const checkFollowing = defineRoute({
  id: 'identity.checkFollowing',
  method: 'GET',
  path: '/users/{username}/following/{target}',
  summary: 'Check whether a user follows another',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('user'),
  params: request({ username: PathName, target: PathName }, 'UserTargetPath'),
  ok: empty(204, 'Yes'),
  failures: [UserMissing, NotFollowing],
})

export const listOwnFollowers = defineRoute({
  id: 'identity.listOwnFollowers',
  method: 'GET',
  path: '/user/followers',
  summary: 'List the followers of the caller, by name',
  tag,
  access: signedIn,
  scope: read('user'),
  ok,
  failures: [],
})

export const listOwnFollowing = defineRoute({
  id: 'identity.listOwnFollowing',
  method: 'GET',
  path: '/user/following',
  summary: 'List the users that the caller follows, by name',
  tag,
  access: signedIn,
  scope: read('user'),
  ok,
  failures: [],
})

export const checkOwnFollowing = defineRoute({
  id: 'identity.checkOwnFollowing',
  method: 'GET',
  path: '/user/following/{username}',
  summary: 'Check whether the caller follows a user',
  tag,
  access: signedIn,
  scope: read('user'),
  params: UserPath,
  ok: empty(204, 'Yes'),
  failures: [UserMissing, NotFollowing],
})

export const followUser = defineRoute({
  id: 'identity.followUser',
  method: 'PUT',
  path: '/user/following/{username}',
  summary: 'Follow a user',
  tag,
  access: signedIn,
  scope: write('user'),
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing, FollowRefused],
})

export const unfollowUser = defineRoute({
  id: 'identity.unfollowUser',
  method: 'DELETE',
  path: '/user/following/{username}',
  summary: 'Unfollow a user',
  tag,
  access: signedIn,
  scope: write('user'),
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing, FollowRefused],
})
