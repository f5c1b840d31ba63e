import { defineFailure } from '../../core/kernel/failure.ts'
import { AccessTokenMissing } from '../../core/identity/delete-tokens.ts'
import { TokenExpiryInvalid, TokenNameInvalid, TokenOrgInvalid } from '../../core/identity/create-token.ts'
import { NotAuthenticated, TokenNameTaken } from '../../core/identity/ports.ts'
import { ScopeExceeded, ScopesEmpty, ScopeUnknown } from '../../core/identity/scope-words.ts'
import { withPassword } from '../kit/access.ts'
import { freeText, PathName, request } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { AccessToken, CreateAccessTokenOption, UserPath } from './codecs.ts'

const tag = 'Identity - Users & Settings'

/** Tokens are those of the authenticated user, whoever that is. */
export const NotYourTokens = defineFailure('NotYourTokens', 'Forbidden')

export const tokenExample = {
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
  summary: 'Make an access token',
  description:
    'The value stands in `sha1` of this answer and is never shown again. Without `scopes` the token may do everything that its user may; scopes are `all`, `public-only`, `sudo` and `read:X` or `write:X` with X one of user, organization, authz, cluster, contract, billing, marketplace, admin, misc. Without `expires_at` it does not expire. `org` names the one organization that the token reaches, of which you are a member.',
  tag,
  access: withPassword,
  refusesSudo: true,
  params: UserPath,
  body: body(CreateAccessTokenOption, { name: 'laptop', scopes: ['read:user', 'write:cluster'], expires_at: '2027-02-19T08:00:00Z' }, { malformedAs: 422 }),
  ok: json(201, AccessToken, { ...tokenExample, sha1: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' }, 'The token with its value'),
  failures: [NotYourTokens, TokenNameInvalid, TokenNameTaken, TokenExpiryInvalid, TokenOrgInvalid, ScopeUnknown, ScopesEmpty, ScopeExceeded, NotAuthenticated],
})

export const deleteToken = defineRoute({
  id: 'identity.deleteToken',
  method: 'DELETE',
  path: '/users/{username}/tokens/{id}',
  summary: "Delete one of the caller's own access tokens",
  description: "`id` is the token's id or its name. Digits are an id first, and a name where no token of the caller has that id. A name with a slash, which no path holds, goes by its id.",
  tag,
  access: withPassword,
  refusesSudo: true,
  params: request({ username: PathName, id: freeText(255, 1) }, 'UserTokenPath'),
  ok: empty(204),
  failures: [NotYourTokens, AccessTokenMissing],
})
