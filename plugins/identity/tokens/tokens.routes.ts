import { UserMissing } from '../../../core/identity/types.ts'
import { NotAuthenticated, TokenNameTaken } from '../../../core/identity/ports.ts'
import {
  AccessTokenMissing,
  TokenExpiryInvalid,
  TokenNameInvalid,
  TokenOrgInvalid,
} from '../../../core/identity/tokens/access-tokens.ts'
import { NotYourTokens } from '../../../core/identity/tokens/own-tokens.ts'
import { CustomTokensOff } from '../../../core/identity/tokens/ports.ts'
import { ScopeExceeded, ScopesEmpty, ScopeUnknown } from '../../../core/identity/tokens/scopes.ts'
import type { TokenId } from '../../../core/kernel/ids.ts'
import { signedIn, withPassword, write } from '../../kit/access.ts'
import { described, freeText, naming, pathId, pathName, request } from '../../kit/codecs.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import { UserPath } from '../codecs.ts'
import {
  AccessToken,
  AccessTokenIdList,
  ApiResponseMessage,
  CreateAccessTokenOption,
  ExtIdpToken,
  NewAccessTokenParam,
  SettingsAccessToken,
} from './codecs.ts'

const tag = 'Identity - Users & Settings'
const route = routesOf({ tag, access: signedIn, scopeCategory: 'user' })

const tokenExample = {
  id: 12,
  name: 'laptop',
  sha1: '',
  token_last_eight: '3kP9x0aB',
  scopes: ['read:user', 'write:cluster'],
  created_at: '2026-11-21T08:00:00.000Z',
  expires_at: '2027-02-19T08:00:00.000Z',
}

export const listTokens = defineRoute({
  id: 'identity.listTokens',
  method: 'GET',
  path: '/users/{username}/tokens',
  summary: "List the caller's own access tokens",
  description:
    'Needs the password by HTTP Basic. Without their values. Tokens that have expired stay listed for 30 days.',
  tag,
  access: withPassword,
  refusesSudo: true,
  params: UserPath,
  ok: list(AccessToken, tokenExample),
  failures: [NotYourTokens],
})

export const createToken = defineRoute({
  id: 'identity.createToken',
  method: 'POST',
  path: '/users/{username}/tokens',
  summary: 'Create an access token',
  description:
    'The response contains the value in `sha1`; it is never returned again. Without `scopes` the token has ' +
    'all rights of its user; scopes are `all`, `public-only`, `sudo` and `read:X` or `write:X` with X one ' +
    'of user, organization, authz, cluster, contract, billing, marketplace, admin, misc. Without ' +
    '`expires_at` it does not expire. `org` confines the token to one organization, of which you must be a member.',
  tag,
  access: withPassword,
  refusesSudo: true,
  params: UserPath,
  body: body(
    CreateAccessTokenOption,
    { name: 'laptop', scopes: ['read:user', 'write:cluster'], expires_at: '2027-02-19T08:00:00Z' },
    { malformedAs: 422 },
  ),
  ok: json(
    201,
    AccessToken,
    { ...tokenExample, sha1: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' },
    'The token with its value',
  ),
  failures: [
    NotYourTokens,
    TokenNameInvalid,
    TokenNameTaken,
    TokenExpiryInvalid,
    TokenOrgInvalid,
    ScopeUnknown,
    ScopesEmpty,
    ScopeExceeded,
    NotAuthenticated,
  ],
})

export const deleteToken = defineRoute({
  id: 'identity.deleteToken',
  method: 'DELETE',
  path: '/users/{username}/tokens/{id}',
  summary: "Delete one of the caller's own access tokens",
  description:
    '`id` is the id or the name of the token. Digits are an id, or a name if no token of the caller has the id.',
  tag,
  access: withPassword,
  refusesSudo: true,
  params: request(
    {
      username: described(pathName('user'), 'The name of the caller: tokens of other users cannot be reached.'),
      id: described(naming(freeText(255, 1), 'token', 'id'), 'The id or the name of the token, 1 to 255 characters.'),
    },
    'UserTokenPath',
  ),
  ok: empty(204),
  failures: [NotYourTokens, AccessTokenMissing],
})

const path = '/user/settings/tokens/access-tokens'

const settingsTokenExample = {
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

export const listSettingsTokens = route({
  id: 'identity.listSettingsTokens',
  method: 'GET',
  path,
  summary: "List the caller's own access tokens in the second format",
  description: 'Without their values. Tokens that have expired stay listed for 30 days.',
  refusesSudo: true,
  ok: list(SettingsAccessToken, settingsTokenExample),
})

export const createSettingsToken = route({
  id: 'identity.createSettingsToken',
  method: 'POST',
  path,
  summary: 'Create an access token in the second format',
  description:
    'The response contains the value in `token`; it is never returned again. `expTime` is in Unix seconds, ' +
    '0 for never. A token creates only tokens that have no more rights, and no longer life, than itself. ' +
    '`org` confines the token to one organization, of which you must be a member.',
  refusesSudo: true,
  body: body(NewAccessTokenParam, { name: 'laptop', expTime: 0 }),
  ok: json(201, SettingsAccessToken, { ...settingsTokenExample, token: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' }),
  failures: [
    TokenNameInvalid,
    TokenNameTaken,
    TokenExpiryInvalid,
    TokenOrgInvalid,
    ScopeUnknown,
    ScopesEmpty,
    ScopeExceeded,
    NotAuthenticated,
  ],
})

export const rotateSettingsToken = route({
  id: 'identity.rotateSettingsToken',
  method: 'POST',
  path: `${path}/{id}/rotate`,
  summary: "Rotate one of the caller's own access tokens",
  description:
    'The response contains the new value in `token`; it is never returned again. The former value is ' +
    'rejected from now on. Name, scopes and organization do not change. A token that expires gets the same ' +
    'length of life again, starting now. A token can rotate itself and the tokens that it could have ' +
    'created, none of which then lives longer than itself. A token that rotates itself cannot repeat the ' +
    'request if the response is lost: use another credential if that matters.',
  refusesSudo: true,
  params: request(
    {
      id: described(pathId<TokenId>('token'), 'The id of the token to rotate, from 1.'),
    },
    'RotatedTokenPath',
  ),
  ok: json(
    200,
    SettingsAccessToken,
    { ...settingsTokenExample, token: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' },
    'The token with its new value',
  ),
  failures: [AccessTokenMissing, ScopeExceeded, NotAuthenticated],
})

export const deleteSettingsToken = route({
  id: 'identity.deleteSettingsToken',
  method: 'DELETE',
  path: `${path}/{id}`,
  summary: "Delete one of the caller's own access tokens",
  description: 'The token is rejected from now on.',
  refusesSudo: true,
  params: request(
    {
      id: described(pathId<TokenId>('token'), 'The id of the token to delete, from 1.'),
    },
    'SettingsTokenPath',
  ),
  ok: empty(200),
  failures: [AccessTokenMissing],
})

export const deleteSettingsTokens = route({
  id: 'identity.deleteSettingsTokens',
  method: 'POST',
  path: `${path}/delete-records`,
  summary: "Delete several of the caller's own access tokens",
  description: 'Ids of other tokens are ignored.',
  refusesSudo: true,
  body: body(AccessTokenIdList, { tokenIDs: [12, 13] }),
  ok: json(200, ApiResponseMessage, { message: 'Deleted 2 access tokens.' }),
})

export const getExtIdpToken = route({
  id: 'identity.getExtIdpToken',
  method: 'GET',
  path: '/user/extidp-token',
  summary: 'Sign a token that signs the caller in at the external identity provider',
  description:
    'Available on vendor-hosted deployments only. The token is valid for at most an hour, and not longer ' +
    'than the requesting access token. Returns 503 if the operator has not configured a signing key.',
  scope: write('user'),
  gate: 'vendor-hosted',
  refusesSudo: true,
  ok: json(200, ExtIdpToken, { customToken: 'eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1aWQiOiI3In0.c2lnbmF0dXJl' }),
  failures: [CustomTokensOff, UserMissing],
})
