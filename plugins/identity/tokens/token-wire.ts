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
