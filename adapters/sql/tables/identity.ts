import type { AccountId, ClusterId, OrgId, PasskeyId, SessionId, TokenId, UserId } from '../../../core/kernel/ids.ts'
import type { RememberedId, UserVisibility } from '../../../core/identity/types.ts'
import type { SessionProof } from '../../../core/kernel/principal.ts'
import {
  fixedBytes,
  flag,
  id,
  instant,
  int,
  long,
  longBytes,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const accounts = table('accounts', {
  id: rowId<AccountId>(),
  kind: text(16),
  name: text(63),
  lowerName: text(63),
  createdAt: instant(),
  avatarDigest: nullable(text(43)),
})

export const accountRedirects = table('account_redirects', {
  lowerName: text(40),
  accountId: id<AccountId>(),
})

export const users = table('users', {
  id: id<UserId>(),
  fullName: withDefault(text(100)),
  passwordHash: text(255),
  mustChangePassword: withDefault(flag()),
  isAdmin: withDefault(flag()),
  isActive: withDefault(flag()),
  prohibitLogin: withDefault(flag()),
  restricted: withDefault(flag()),
  allowCreateOrganization: withDefault(flag()),
  hideEmail: withDefault(flag()),
  visibility: withDefault(text<UserVisibility>(16)),
  language: withDefault(text(16)),
  website: withDefault(text(255)),
  location: withDefault(text(50)),
  description: withDefault(text(255)),
  searchName: withDefault(text(160)),
  lastLoginAt: nullable(instant()),
  createdAt: instant(),
  version: withDefault(long()),
  deactivatedAt: nullable(instant()),
  deactivatedBy: nullable(id<UserId>()),
  unconfirmedSince: nullable(instant()),
  robotOrgId: nullable(id<OrgId>()),
  theme: withDefault(text(64)),
  diffViewStyle: withDefault(text(64)),
  hideActivity: withDefault(flag()),
})

export const emails = table('emails', {
  id: rowId(),
  userId: id<UserId>(),
  email: text(254),
  lowerEmail: text(254),
  verified: withDefault(flag()),
  isPrimary: withDefault(flag()),
  createdAt: instant(),
  verifiedAt: nullable(instant()),
})

export const follows = table('follows', {
  userId: id<UserId>(),
  targetId: id<UserId>(),
  createdAt: instant(),
})

export const accessTokens = table('access_tokens', {
  id: rowId<TokenId>(),
  userId: id<UserId>(),
  name: text(255),
  tokenHash: fixedBytes(32),
  lastEight: text(8),
  scopes: text(512),
  onlyOrgId: nullable(id<OrgId>()),
  createdBy: nullable(id<UserId>()),
  createdAt: instant(),
  expiresAt: nullable(instant()),
  lastUsedAt: nullable(instant()),
  warnedDays: nullable(int()),
  onlyClusterId: nullable(id<ClusterId>()),
  applicationId: nullable(id()),
  sessionId: nullable(id<SessionId>()),
})

export const sessions = table('sessions', {
  id: rowId<SessionId>(),
  userId: id<UserId>(),
  sessionHash: fixedBytes(32),
  remember: withDefault(flag()),
  sourceIp: text(45),
  userAgent: text(255),
  createdAt: instant(),
  lastSeenAt: instant(),
  idleExpiresAt: instant(),
  expiresAt: instant(),
  rememberedId: nullable(id<RememberedId>()),
  proof: nullable(text<SessionProof>(16)),
})

export const twoFactors = table('two_factors', {
  userId: id<UserId>(),
  sealedSeed: sealed(),
  ref: text(32),
  lastStep: withDefault(long()),
  offeredAt: instant(),
  enrolledAt: nullable(instant()),
})

export const recoveryCodes = table('recovery_codes', {
  userId: id<UserId>(),
  codeHash: fixedBytes(32),
  createdAt: instant(),
  usedAt: nullable(instant()),
})

export const passkeys = table('passkeys', {
  id: rowId<PasskeyId>(),
  userId: id<UserId>(),
  name: text(100),
  credentialHash: fixedBytes(32),
  credentialId: text(1400),
  publicKey: longBytes(),
  counter: long(),
  transports: text(100),
  aaguid: text(36),
  isBackedUp: flag(),
  rpId: text(253),
  createdAt: instant(),
  lastUsedAt: nullable(instant()),
})

export const passkeyChallenges = table('passkey_challenges', {
  keyHash: fixedBytes(32),
  name: text(100),
  expiresAt: instant(),
})

export const identityAttempts = table('identity_attempts', {
  keyHash: fixedBytes(32),
  points: int(),
  expiresAt: instant(),
})

export const rememberedLogins = table('remembered_logins', {
  id: rowId<RememberedId>(),
  userId: id<UserId>(),
  seriesHash: fixedBytes(32),
  secretHash: fixedBytes(32),
  previousHash: nullable(fixedBytes(32)),
  rotatedAt: nullable(instant()),
  sourceIp: text(45),
  userAgent: text(255),
  createdAt: instant(),
  lastUsedAt: instant(),
  expiresAt: instant(),
  proof: nullable(text<SessionProof>(16)),
})

export const identityCodes = table('identity_codes', {
  id: rowId(),
  userId: id<UserId>(),
  kind: text(24),
  lowerEmail: text(254),
  codeHash: fixedBytes(32),
  createdAt: instant(),
  expiresAt: instant(),
  closedAt: nullable(instant()),
})

export const avatars = table('avatars', {
  accountId: id<AccountId>(),
  digest: text(43),
  bytes: longBytes(),
  createdAt: instant(),
})

export const pageSizes = table('page_sizes', {
  userId: id<UserId>(),
  productUi: long(),
  consoleUi: long(),
  platformUi: long(),
})

export const userSearchTerms = table('user_search_terms', {
  userId: id<UserId>(),
  audience: int(),
  place: int(),
  term: text(160),
})

export const emailSearchTerms = table('email_search_terms', {
  emailId: id(),
  place: int(),
  term: text(254),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    identity: typeof import('./identity.ts')
  }
}
