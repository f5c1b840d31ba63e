import * as t from 'io-ts'
import { AvatarMissing, FollowRefused, NotFollowing } from '../../../core/identity/accounts/profiles.ts'
import { UserMissing } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { PictureRefused, pictureType } from '../../../core/kernel/picture.ts'
import { anyone, signedIn } from '../../kit/access.ts'
import {
  answer,
  Base64Bytes,
  described,
  FreeObjectCodec,
  freeText,
  listOf,
  naming,
  optional,
  pathName,
  patternText,
  queryId,
  request,
} from '../../kit/codecs.ts'
import { body, defineRoute, pictureBodyBytes, pictureExample, pictureUrlExample, routesOf } from '../../kit/route.ts'
import { binary, empty, json, list, listWithin, orRedirect, packed, paged } from '../../kit/reply.ts'
import { fullUserExample, User, userExample, UserPath, UserSearchResult } from '../codecs.ts'

const tag = 'Identity - Users & Settings'
const route = routesOf({ tag, access: signedIn, scopeCategory: 'user' })

export const getCaller = route({
  id: 'identity.getCaller',
  method: 'GET',
  path: '/user',
  summary: 'Get the caller',
  description: 'A token that is confined, or for public objects only, gets the fields that everyone sees.',
  loads: 'profile',
  servesConfined: true,
  beforePasswordChange: true,
  query: request(
    {
      check_client_org: described(
        optional(naming(t.string, 'organization', 'name')),
        'With `true` the answer says in `clientOrgUser` whether the caller is a member of a client organization; ' +
          'other values have no effect.',
      ),
    },
    'CallerQuery',
  ),
  ok: json(200, User, fullUserExample),
})

export const searchUsers = defineRoute({
  id: 'identity.searchUsers',
  method: 'GET',
  path: '/users/search',
  summary: 'Search users',
  description:
    'Ignores case. Users whose name starts with `q` come first, by name, then those with `q` elsewhere in ' +
    'the name or at the start of a word of the full name. For site admins the search includes addresses. ' +
    'At most 50 users per page. `uid` selects one user. The count and the pages end at 1,000.',
  tag,
  access: anyone,
  query: request(
    {
      q: described(
        optional(naming(freeText(255), 'account', 'name')),
        'A part of the name or a start of a word of the full name, without regard to case; all users if absent ' +
          'or empty.',
      ),
      uid: described(optional(queryId<UserId>('user')), 'The id of the only user to find; all users if absent.'),
    },
    'UserSearchQuery',
  ),
  ok: packed(paged(listWithin(User, userExample, { codec: UserSearchResult, key: 'data', constants: { ok: true } }))),
  failures: [],
})

export const getUser = defineRoute({
  id: 'identity.getUser',
  method: 'GET',
  path: '/users/{username}',
  summary: 'Show a user',
  description: 'Returns 307 to the present name for a former name that no other account uses.',
  tag,
  access: anyone,
  params: UserPath,
  ok: orRedirect(json(200, User, userExample), 307),
  failures: [UserMissing],
})

const none = json(200, listOf(FreeObjectCodec, 0), [], 'Always an empty list')

export const listPublicKeys = route({
  id: 'identity.listPublicKeys',
  method: 'GET',
  path: '/user/keys',
  summary: "List the caller's SSH keys: there are none",
  ok: none,
  description:
    'This service does not store SSH keys. Some clients request them at sign-in and treat an error as a ' +
    'failed sign-in.',
})

export const listSigningKeys = route({
  id: 'identity.listSigningKeys',
  method: 'GET',
  path: '/user/gpg_keys',
  summary: "List the caller's GPG keys: there are none",
  ok: none,
  description:
    'This service does not store GPG keys. Some clients request them at sign-in and treat an error as a ' +
    'failed sign-in.',
})

export const listOwnRepositories = route({
  id: 'identity.listOwnRepositories',
  method: 'GET',
  path: '/user/repos',
  summary: "List the caller's repositories: there are none",
  ok: none,
  description:
    'This service does not store repositories. Some clients request them with the account, and treat an ' +
    'error as a missing account.',
})

export const listRepositoriesOfUser = defineRoute({
  id: 'identity.listRepositoriesOfUser',
  method: 'GET',
  path: '/users/{username}/repos',
  summary: 'List the repositories of a user: there are none',
  description: 'As for `/user/repos`.',
  tag,
  access: anyone,
  params: UserPath,
  ok: none,
  failures: [UserMissing],
})

const ImageOption = request(
  {
    image: described(Base64Bytes, 'The picture in base64, bare or as a `data:` URL.'),
  },
  'UserAvatarOption',
)
/** The form that older clients send. A picture at an external URL is not fetched. */
const AvatarUpload = request(
  {
    avatar: described(Base64Bytes, 'The picture: the bytes of a file in a form, or base64 in JSON.'),
    source: described(optional(freeText(32)), 'Accepted for older clients and ignored.'),
    gravatar: described(
      optional(freeText(255)),
      'Accepted for older clients and ignored: pictures of other services are not used.',
    ),
    federavatar: described(optional(t.unknown), 'Accepted for older clients and ignored, whatever its value.'),
  },
  'AvatarUpload',
)
const AvatarParams = answer(
  {
    source: described(t.string, '`local` for an uploaded picture; empty for the one that is generated from the name.'),
    avatar: described(t.string, 'The URL of the picture.'),
    gravatar: described(t.string, 'Always empty: pictures of other services are not used.'),
    federavatar: described(t.boolean, 'Always false: pictures of other services are not used.'),
  },
  'AvatarParams',
)
const reencoded =
  'PNG, JPEG, GIF or WebP. The picture is re-encoded as a square PNG, so that other data of the file is removed.'

export const setAvatar = route({
  id: 'identity.setAvatar',
  method: 'POST',
  path: '/user/avatar',
  summary: "Set the caller's picture",
  description: reencoded,
  body: body(ImageOption, { image: pictureExample }, { limitBytes: pictureBodyBytes }),
  ok: empty(204),
  failures: [PictureRefused],
})

export const deleteAvatar = route({
  id: 'identity.deleteAvatar',
  method: 'DELETE',
  path: '/user/avatar',
  summary: "Remove the caller's picture",
  description: 'The picture that is generated from the name is shown instead.',
  ok: empty(204),
})

export const getAvatarSettings = route({
  id: 'identity.getAvatarSettings',
  method: 'GET',
  path: '/user/settings/avatar',
  summary: "Get the address of the caller's picture",
  description:
    '`source` is `local` for an uploaded picture and empty for the picture that is generated from the ' +
    'name; `gravatar` and `federavatar` are constant: pictures of other services are not used.',
  ok: json(200, AvatarParams, { source: 'local', avatar: pictureUrlExample, gravatar: '', federavatar: false }),
})

export const uploadAvatar = route({
  id: 'identity.uploadAvatar',
  method: 'POST',
  path: '/user/settings/avatar',
  summary: "Set the caller's picture by a form",
  description: `As multipart/form-data with the file \`avatar\`, or as JSON with its bytes in base64. ${reencoded}`,
  body: body(AvatarUpload, { source: 'local', avatar: pictureExample }, { limitBytes: pictureBodyBytes, orForm: true }),
  ok: empty(200),
  failures: [PictureRefused],
})

export const discardAvatar = route({
  id: 'identity.discardAvatar',
  method: 'POST',
  path: '/user/settings/avatar/delete',
  summary: "Remove the caller's picture",
  description: 'The same as `DELETE /user/avatar`, for clients that send only GET and POST.',
  ok: empty(200),
})

export const showAvatar = defineRoute({
  id: 'identity.showAvatar',
  method: 'GET',
  path: '/avatars/{digest}',
  summary: 'Show a picture',
  description: 'The name is the digest of the bytes: it cannot be guessed, and the profile contains it.',
  tag: 'Miscellaneous',
  access: anyone,
  params: request(
    {
      digest: described(
        naming(patternText(/^[\w-]{43}$/, 43, 'the digest of a picture'), 'picture', 'digest'),
        'The digest of the picture, 43 characters in base64url, as in `avatar_url`.',
      ),
    },
    'AvatarPath',
  ),
  ok: binary([pictureType], 'A PNG'),
  failures: [AvatarMissing],
})

export const showDrawnAvatar = defineRoute({
  id: 'identity.showDrawnAvatar',
  method: 'GET',
  path: '/avatars/drawn/{name}',
  summary: 'Get the picture that is generated from a name',
  description:
    'The picture of users and organizations that have not uploaded one. Every name has one, so it does not ' +
    'show whether an account exists.',
  tag: 'Miscellaneous',
  access: anyone,
  params: request(
    {
      name: described(
        naming(patternText(/^[\w.+-]{1,63}$/, 63, 'a name'), 'drawn picture', 'name'),
        'The name of a user or an organization, which need not exist.',
      ),
    },
    'DrawnAvatarPath',
  ),
  ok: binary([pictureType], 'A PNG'),
  failures: [],
})

const common = { tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' } as const
const followRoute = routesOf(common)
const otherUserRoute = routesOf({
  ...common,
  params: request(
    {
      username: described(
        pathName('other user'),
        'The name of the user, without regard to case; digits may be an id where the route says so.',
      ),
    },
    'OtherUserPath',
  ),
  failures: [UserMissing],
})
const confinedRoute = routesOf({ ...common, params: UserPath, failures: [UserMissing], servesConfined: true })

const ok = packed(paged(list(User, userExample)))

export const listFollowers = confinedRoute({
  id: 'identity.listFollowers',
  method: 'GET',
  path: '/users/{username}/followers',
  summary: 'List the followers of a user, by name',
  description: 'Only users whom the caller may see.',
  ok,
})

export const listFollowing = confinedRoute({
  id: 'identity.listFollowing',
  method: 'GET',
  path: '/users/{username}/following',
  summary: 'List the users that a user follows, by name',
  description: 'Only users whom the caller may see.',
  ok,
})

export const checkFollowing = followRoute({
  id: 'identity.checkFollowing',
  method: 'GET',
  path: '/users/{username}/following/{target}',
  summary: 'Check whether a user follows another',
  description: 'Returns 204 if so, and 404 otherwise.',
  servesConfined: true,
  params: request(
    {
      username: described(pathName('user'), 'The name of the user who follows.'),
      target: described(pathName('other user'), 'The name of the user who is followed.'),
    },
    'UserTargetPath',
  ),
  ok: empty(204, 'Yes'),
  failures: [UserMissing, NotFollowing],
})

export const listOwnFollowers = followRoute({
  id: 'identity.listOwnFollowers',
  method: 'GET',
  path: '/user/followers',
  summary: 'List the followers of the caller, by name',
  description: 'Only users whom the caller may see.',
  ok,
})

export const listOwnFollowing = followRoute({
  id: 'identity.listOwnFollowing',
  method: 'GET',
  path: '/user/following',
  summary: 'List the users that the caller follows, by name',
  description: 'Only users whom the caller may see.',
  ok,
})

export const checkOwnFollowing = otherUserRoute({
  id: 'identity.checkOwnFollowing',
  method: 'GET',
  path: '/user/following/{username}',
  summary: 'Check whether the caller follows a user',
  description: 'Returns 204 if the caller does, and 404 otherwise.',
  ok: empty(204, 'Yes'),
  failures: [NotFollowing],
})

export const followUser = otherUserRoute({
  id: 'identity.followUser',
  method: 'PUT',
  path: '/user/following/{username}',
  summary: 'Follow a user',
  description: 'Has no effect if the caller follows the user already. A user cannot follow the own account.',
  ok: empty(204),
  failures: [FollowRefused],
})

export const unfollowUser = otherUserRoute({
  id: 'identity.unfollowUser',
  method: 'DELETE',
  path: '/user/following/{username}',
  summary: 'Unfollow a user',
  description: 'Has no effect if the caller does not follow the user.',
  ok: empty(204),
  failures: [FollowRefused],
})
