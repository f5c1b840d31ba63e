import type {
  AttemptStage,
  DirectoryOptions,
  DomainId,
  ExternalAccountId,
  ProviderId,
  ProviderKind,
  ProviderOptions,
} from '../../../core/identity-providers/types.ts'
import type { OrgId, SessionId, UserId } from '../../../core/kernel/ids.ts'
import {
  fixedBytes,
  flag,
  id,
  instant,
  json,
  long,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const identityProviders = table('identity_providers', {
  id: rowId<ProviderId>(),
  orgId: nullable(id<OrgId>()),
  ownerKey: long(),
  kind: withDefault(text<ProviderKind>(8)),
  name: text(40),
  displayName: text(100),
  isActive: flag(),
  issuer: text(512),
  clientId: text(255),
  ref: text(36),
  sealedSecret: nullable(sealed()),
  options: json<ProviderOptions>(),
  directory: nullable(json<DirectoryOptions>()),
  createdAt: instant(),
  updatedAt: instant(),
  discoveredAt: nullable(instant()),
  lastProblem: withDefault(text(255)),
  comparedAt: nullable(instant()),
  withheldEnds: withDefault(long()),
  confirmedEnds: withDefault(long()),
  nextCheckAt: nullable(instant()),
  version: withDefault(long()),
})

export const externalAccounts = table('external_accounts', {
  id: rowId<ExternalAccountId>(),
  providerId: id<ProviderId>(),
  subjectHash: fixedBytes(32),
  issuer: text(512),
  subject: text(255),
  userId: id<UserId>(),
  isCreated: flag(),
  email: withDefault(text(254)),
  createdAt: instant(),
  signedInAt: instant(),
  ref: text(36),
  sealedRefreshToken: nullable(sealed()),
  nextCheckAt: nullable(instant()),
  endedAt: nullable(instant()),
})

export const externalSessions = table('external_sessions', {
  sessionId: id<SessionId>(),
  accountId: id<ExternalAccountId>(),
  sid: withDefault(text(255)),
  ref: text(36),
  sealedIdToken: sealed(),
})

export const signInAttempts = table('sign_in_attempts', {
  id: rowId(),
  stateHash: fixedBytes(32),
  browserHash: fixedBytes(32),
  providerId: id<ProviderId>(),
  stage: text<AttemptStage>(8),
  userId: nullable(id<UserId>()),
  isLink: flag(),
  ref: text(36),
  sealed: sealed(),
  createdAt: instant(),
  expiresAt: instant(),
})

export const usedLogoutTokens = table('used_logout_tokens', {
  tokenHash: fixedBytes(32),
  expiresAt: instant(),
})

export const organizationDomains = table('organization_domains', {
  id: rowId<DomainId>(),
  orgId: id<OrgId>(),
  domain: text(253),
  verifiedDomain: nullable(text(253)),
  token: text(64),
  verifiedAt: nullable(instant()),
  checkedAt: nullable(instant()),
  failingSince: nullable(instant()),
  createdAt: instant(),
})

export const localSignInOffs = table('local_sign_in_offs', {
  ownerKey: long(),
  orgId: nullable(id<OrgId>()),
  since: instant(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    identityProviders: typeof import('./identity-providers.ts')
  }
}
