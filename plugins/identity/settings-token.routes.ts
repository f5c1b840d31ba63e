import { AccessTokenMissing } from '../../core/identity/delete-tokens.ts'
import { TokenExpiryInvalid, TokenNameInvalid, TokenOrgInvalid } from '../../core/identity/create-token.ts'
import { NotAuthenticated, TokenNameTaken } from '../../core/identity/ports.ts'
import { ScopeExceeded, ScopesEmpty, ScopeUnknown } from '../../core/identity/scope-words.ts'
import { read, signedIn, write } from '../kit/access.ts'
import { PathId, request } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { AccessTokenIdList, ApiResponseMessage, NewAccessTokenParam, SettingsAccessToken } from './codecs.ts'

const tag = 'Identity - Users & Settings'
const path = '/user/settings/tokens/access-tokens'

const tokenExample = {
  id: 12,
  uid: 7,
  name: 'laptop',
  token: '',
  tokenLastEight: '3kP9x0aB',
  createdAt: 1795248000,
  updatedAt: 1795248000,
  hasRecentActivity: false,
  hasUsed: false,
  expDate: 0,
  scopes: ['all'],
}

export const listSettingsTokens = defineRoute({
  id: 'identity.listSettingsTokens',
  method: 'GET',
  path,
  summary: "List the caller's own access tokens, second shape",
  tag,
  access: signedIn,
  scope: read('user'),
  refusesSudo: true,
  ok: list(SettingsAccessToken, tokenExample),
  failures: [],
})

export const createSettingsToken = defineRoute({
  id: 'identity.createSettingsToken',
  method: 'POST',
  path,
  summary: 'Make an access token, second shape',
  description:
    'The value stands in `token` of this answer and is never shown again. `expTime` is in Unix seconds, 0 for never. A token makes only tokens that may do no more, and live no longer, than itself. `org` names the one organization that the token reaches, of which you are a member.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  body: body(NewAccessTokenParam, { name: 'laptop', expTime: 0 }),
  ok: json(201, SettingsAccessToken, { ...tokenExample, token: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' }),
  failures: [TokenNameInvalid, TokenNameTaken, TokenExpiryInvalid, TokenOrgInvalid, ScopeUnknown, ScopesEmpty, ScopeExceeded, NotAuthenticated],
})

export const rotateSettingsToken = defineRoute({
  id: 'identity.rotateSettingsToken',
  method: 'POST',
  path: `${path}/{id}/rotate`,
  summary: "Give one of the caller's own access tokens a new value",
  description:
    'The new value stands in `token` of this answer and is never shown again; the former one is refused from now on. Name, scopes and organization stay. A token that expires gets the same length of life again from now. A token rotates itself and those that it could have made, and gives none a life beyond its own. A token that rotates itself cannot send the request again when the answer is lost: let another credential do it where that matters.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  params: request({ id: PathId }, 'RotatedTokenPath'),
  ok: json(200, SettingsAccessToken, { ...tokenExample, token: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' }, 'The token with its new value'),
  failures: [AccessTokenMissing, ScopeExceeded, NotAuthenticated],
})

export const deleteSettingsToken = defineRoute({
  id: 'identity.deleteSettingsToken',
  method: 'DELETE',
  path: `${path}/{id}`,
  summary: "Delete one of the caller's own access tokens",
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  params: request({ id: PathId }, 'SettingsTokenPath'),
  ok: empty(200),
  failures: [AccessTokenMissing],
})

export const deleteSettingsTokens = defineRoute({
  id: 'identity.deleteSettingsTokens',
  method: 'POST',
  path: `${path}/delete-records`,
  summary: "Delete several of the caller's own access tokens",
  description: 'Ids that are none of them are passed over.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  body: body(AccessTokenIdList, { tokenIDs: [12, 13] }),
  ok: json(200, ApiResponseMessage, { message: 'Deleted 2 access tokens.' }),
  failures: [],
})
