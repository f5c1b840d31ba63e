import * as t from 'io-ts'
import type { TokenId } from '../../../core/kernel/ids.ts'
import {
  Instant,
  InstantText,
  SafeInteger,
  answer,
  bodyId,
  described,
  freeText,
  listOf,
  optional,
  request,
} from '../../kit/codecs.ts'
import type { CreatedToken } from '../../../core/identity/tokens/access-tokens.ts'
import type { AccessTokenRecord } from '../../../core/identity/types.ts'
import { laterByDays, unixSeconds } from '../../../core/kernel/clock.ts'

/** Returns the first form of a token. `value` is set only in the answer that creates it. */
export const tokenWire = (token: AccessTokenRecord, value = '') => ({
  id: token.id,
  name: token.name,
  sha1: value,
  token_last_eight: token.lastEight,
  scopes: [...token.scopeWords],
  org: token.onlyOrgName,
  cluster: token.onlyClusterName,
  created_at: token.createdAt,
  last_used_at: token.lastUsedAt,
  expires_at: token.expiresAt,
})

/** Returns a new token with its value. */
export const createdWire = ({ record, value }: CreatedToken) => tokenWire(record, value.reveal())

const recentDays = 7

/**
 * Returns the facts of the second form other than the scopes. `value` is set only in the answer that creates the token.
 */
export const tokenInfoWire = (
  token: Pick<AccessTokenRecord, 'id' | 'userId' | 'name' | 'lastEight' | 'createdAt' | 'lastUsedAt' | 'expiresAt'>,
  now: Date,
  value = '',
) => ({
  id: token.id,
  uid: token.userId,
  name: token.name,
  token: value,
  tokenLastEight: token.lastEight,
  createdAt: unixSeconds(token.createdAt),
  updatedAt: unixSeconds(token.lastUsedAt ?? token.createdAt),
  hasRecentActivity:
    token.lastUsedAt !== undefined && token.lastUsedAt.getTime() > laterByDays(now, -recentDays).getTime(),
  hasUsed: token.lastUsedAt !== undefined,
  expDate: unixSeconds(token.expiresAt),
})

/** Returns the second form, for the owner of the token. */
export const settingsTokenWire = (token: AccessTokenRecord, now: Date, value = '') => ({
  ...tokenInfoWire(token, now, value),
  scopes: [...token.scopeWords],
  org: token.onlyOrgName,
  cluster: token.onlyClusterName,
})

/**
 * The first form of a token. `sha1` is the value in the answer that creates the token, and empty in every later answer.
 */
export const AccessToken = answer(
  {
    id: described(SafeInteger, 'The id of the token, from 1.'),
    name: described(t.string, 'The name of the token, unique among the tokens of its owner.'),
    sha1: described(t.string, 'The value of the token in the answer that creates it; empty in every other answer.'),
    token_last_eight: described(t.string, 'The last eight characters of the value, to recognize the token.'),
    scopes: described(
      t.array(t.string),
      'The scopes of the token, without duplicates; `all` alone means all rights of its owner.',
    ),
    /** The only organization that the token reaches. Absent when it reaches everything that its owner reaches. */
    org: described(
      optional(t.string),
      'The only organization that the token reaches; absent if it is not confined to one.',
    ),
    /** `owner/name` of the only cluster whose Kubernetes API the token reaches. It reaches nothing else. */
    cluster: described(
      optional(t.string),
      '`owner/name` of the only cluster whose Kubernetes API the token reaches; absent if it is not confined to one.',
    ),
    created_at: described(Instant, 'The creation of the token, RFC 3339 in UTC.'),
    last_used_at: described(
      optional(Instant),
      'The last use of the token, RFC 3339 in UTC; absent if it was never used.',
    ),
    expires_at: described(optional(Instant), 'The end of the token, RFC 3339 in UTC; absent if it does not expire.'),
  },
  'AccessToken',
)

const ScopeWords = listOf(freeText(64), 64)

export const CreateAccessTokenOption = request(
  // `expires_at` is a text, since a text that is not an instant is the failure TokenExpiryInvalid.
  {
    name: described(
      freeText(255, 1),
      'The name of the token, unique among the tokens of its owner; 1 to 255 characters.',
    ),
    scopes: described(
      optional(ScopeWords),
      'The scopes of the token, at least one; if absent, all rights of its owner, or those of the token that asks.',
    ),
    expires_at: described(
      optional(InstantText),
      'The end of the token, an RFC 3339 time in the future; if absent, it does not expire, or expires with the ' +
        'token that asks.',
    ),
    org: described(
      optional(freeText(255, 1)),
      'The only organization that the token reaches, of which its owner must be a member; if absent, it is not ' +
        'confined, or confined as the token that asks.',
    ),
  },
  'CreateAccessTokenOption',
)

/**
 * The second form. `token` is the value in the answer that creates the token. Times are in Unix seconds; 0 means never.
 */
export const SettingsAccessToken = answer(
  {
    id: described(SafeInteger, 'The id of the token, from 1.'),
    uid: described(SafeInteger, 'The id of the user who owns the token.'),
    name: described(t.string, 'The name of the token, unique among the tokens of its owner.'),
    token: described(
      t.string,
      'The value of the token in the answer that creates or rotates it; empty in every other answer.',
    ),
    tokenLastEight: described(t.string, 'The last eight characters of the value, to recognize the token.'),
    createdAt: described(SafeInteger, 'The creation of the token, in seconds since the epoch.'),
    updatedAt: described(
      SafeInteger,
      'The last use of the token, or its creation if it was never used, in seconds since the epoch.',
    ),
    hasRecentActivity: described(t.boolean, 'Whether the token was used within the last seven days.'),
    hasUsed: described(t.boolean, 'Whether the token was ever used.'),
    expDate: described(SafeInteger, 'The end of the token, in seconds since the epoch; 0 if it does not expire.'),
    scopes: described(
      t.array(t.string),
      'The scopes of the token, without duplicates; `all` alone means all rights of its owner.',
    ),
    org: described(
      optional(t.string),
      'The only organization that the token reaches; absent if it is not confined to one.',
    ),
    cluster: described(
      optional(t.string),
      '`owner/name` of the only cluster whose Kubernetes API the token reaches; absent if it is not confined to one.',
    ),
  },
  'SettingsAccessToken',
)

export const NewAccessTokenParam = request(
  {
    name: described(
      freeText(255, 1),
      'The name of the token, unique among the tokens of its owner; 1 to 255 characters.',
    ),
    expTime: described(
      optional(SafeInteger),
      'The end of the token, in seconds since the epoch and in the future; 0, the default, for none, or for that ' +
        'of the token that asks.',
    ),
    scopes: described(
      optional(ScopeWords),
      'The scopes of the token, at least one; if absent, all rights of its owner, or those of the token that asks.',
    ),
    org: described(
      optional(freeText(255, 1)),
      'The only organization that the token reaches, of which its owner must be a member; if absent, it is not ' +
        'confined, or confined as the token that asks.',
    ),
  },
  'NewAccessTokenParam',
)
export const AccessTokenIdList = request(
  {
    tokenIDs: described(
      listOf(bodyId<TokenId>(), 500, 1),
      "The ids of the tokens to delete, 1 to 500; ids of other users' tokens are ignored.",
    ),
  },
  'AccessTokenIdList',
)
export const ApiResponseMessage = answer(
  {
    message: described(t.string, 'What was done, for people.'),
  },
  'ApiResponseMessage',
)

export const ExtIdpToken = answer(
  {
    customToken: described(t.string, 'A signed JSON Web Token for the external identity provider.'),
  },
  'ExtIdpToken',
)
