import * as t from 'io-ts'
import { AvatarMissing } from '../../../core/identity/accounts/avatars.ts'
import { UserMissing } from '../../../core/identity/accounts/users.ts'
import { PictureRefused, PicturesBusy, pictureType } from '../../../core/kernel/picture.ts'
import { anyone, read, signedIn, write } from '../../kit/access.ts'
import { answer, Base64Bytes, FreeObjectCodec, freeText, listOf, optional, patternText, QueryId, request } from '../../kit/codecs.ts'
import { pictureBodyBytes, pictureExample, pictureUrlExample } from '../../kit/picture.ts'
import { binary, empty, json, listWithin, orRedirect } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { fullUserExample, User, userExample, UserPath, UserSearchResult } from '../codecs.ts'

const tag = 'Identity - Users & Settings'

export const getCaller = defineRoute({
  id: 'identity.getCaller',
  method: 'GET',
  path: '/user',
  summary: 'Tell who the caller is',
  tag,
  access: signedIn,
  loads: 'profile',
  servesConfined: true,
  beforePasswordChange: true,
  scope: read('user'),
  query: request({ check_client_org: optional(t.string) }, 'CallerQuery'),
  ok: json(200, User, fullUserExample),
  failures: [],
})

export const searchUsers = defineRoute({
  id: 'identity.searchUsers',
  method: 'GET',
  path: '/users/search',
  summary: 'Find users by a part of the name',
  description:
    'Without regard to case: users whose name starts with `q` first, by name, then those who have it elsewhere in the name or at the start of a word of the full name. Site admins find users by parts of addresses as well. At most 50 a page. `uid` narrows to one user. Counting stops at 1,000, and so do the pages.',
  tag,
  access: anyone,
  query: request({ q: optional(freeText(255)), uid: optional(QueryId) }, 'UserSearchQuery'),
  ok: listWithin(User, userExample, { codec: UserSearchResult, key: 'data', constants: { ok: true } }),
  failures: [],
})

export const getUser = defineRoute({
  id: 'identity.getUser',
  method: 'GET',
  path: '/users/{username}',
  summary: 'Show a user',
  description: 'A former name answers 307 to the present one until somebody takes it.',
  tag,
  access: anyone,
  params: UserPath,
  ok: orRedirect(json(200, User, userExample), 307),
  failures: [UserMissing],
})

const noKeys = { tag, access: signedIn, scope: read('user'), ok: json(200, listOf(FreeObjectCodec, 0), [], 'Always an empty list'), failures: [] } as const

export const listPublicKeys = defineRoute({
  ...noKeys,
  id: 'identity.listPublicKeys',
  method: 'GET',
  path: '/user/keys',
  summary: "List the caller's SSH keys: there are none",
  description: 'This service keeps no SSH keys. Clients of this family ask for them at sign-in and take a refusal for a failed one.',
})

export const listSigningKeys = defineRoute({
  ...noKeys,
  id: 'identity.listSigningKeys',
  method: 'GET',
  path: '/user/gpg_keys',
  summary: "List the caller's GPG keys: there are none",
  description: 'This service keeps no GPG keys. Clients of this family ask for them at sign-in and take a refusal for a failed one.',
})

const ImageOption = request({ image: Base64Bytes }, 'UserAvatarOption')
/** The form that older clients send. A picture at an external URL is not fetched. */
const AvatarUpload = request(
  { avatar: Base64Bytes, source: optional(freeText(32)), gravatar: optional(freeText(255)), federavatar: optional(t.unknown) },
  'AvatarUpload',
)
const AvatarParams = answer({ source: t.string, avatar: t.string, gravatar: t.string, federavatar: t.boolean }, 'AvatarParams')
const drawnAnew = 'PNG, JPEG, GIF or WebP; it is drawn anew as a square PNG, so nothing else of the file is kept.'

export const setAvatar = defineRoute({
  id: 'identity.setAvatar',
  method: 'POST',
  path: '/user/avatar',
  summary: 'Give the caller a picture',
  description: drawnAnew,
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(ImageOption, { image: pictureExample }, { limitBytes: pictureBodyBytes }),
  ok: empty(204),
  failures: [PictureRefused, PicturesBusy],
})

export const deleteAvatar = defineRoute({
  id: 'identity.deleteAvatar',
  method: 'DELETE',
  path: '/user/avatar',
  summary: "Take the caller's picture away",
  tag,
  access: signedIn,
  scope: write('user'),
  ok: empty(204),
  failures: [],
})

export const getAvatarSettings = defineRoute({
  id: 'identity.getAvatarSettings',
  method: 'GET',
  path: '/user/settings/avatar',
  summary: "Tell where the caller's picture is",
  description: '`source` is `local` for an uploaded picture and empty for the one that is drawn for the name; `gravatar` and `federavatar` are constant: pictures of other services are not used.',
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, AvatarParams, { source: 'local', avatar: pictureUrlExample, gravatar: '', federavatar: false }),
  failures: [],
})

export const uploadAvatar = defineRoute({
  id: 'identity.uploadAvatar',
  method: 'POST',
  path: '/user/settings/avatar',
  summary: 'Give the caller a picture, by a form',
  description: `As multipart/form-data with the file \`avatar\`, or as JSON with its bytes in base64. ${drawnAnew}`,
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(AvatarUpload, { source: 'local', avatar: pictureExample }, { limitBytes: pictureBodyBytes, orForm: true }),
  ok: empty(200),
  failures: [PictureRefused, PicturesBusy],
})

export const discardAvatar = defineRoute({
  id: 'identity.discardAvatar',
  method: 'POST',
  path: '/user/settings/avatar/delete',
  summary: "Take the caller's picture away",
  tag,
  access: signedIn,
  scope: write('user'),
  ok: empty(200),
  failures: [],
})

export const showAvatar = defineRoute({
  id: 'identity.showAvatar',
  method: 'GET',
  path: '/avatars/{digest}',
  summary: 'Show a picture',
  description: 'Its name is the digest of its bytes: it cannot be guessed, and a profile that shows the picture names it.',
  tag: 'Miscellaneous',
  access: anyone,
  params: request({ digest: patternText(/^[\w-]{43}$/, 43, 'the digest of a picture') }, 'AvatarPath'),
  ok: binary([pictureType], 'A PNG'),
  failures: [AvatarMissing],
})

export const showDrawnAvatar = defineRoute({
  id: 'identity.showDrawnAvatar',
  method: 'GET',
  path: '/avatars/drawn/{name}',
  summary: 'Show the picture that is drawn for a name',
  description: 'The picture of users and organizations that have no other. Every name has one, so it tells nothing of who exists.',
  tag: 'Miscellaneous',
  access: anyone,
  params: request({ name: patternText(/^[\w.+-]{1,63}$/, 63, 'a name') }, 'DrawnAvatarPath'),
  ok: binary([pictureType], 'A PNG'),
  failures: [],
})
