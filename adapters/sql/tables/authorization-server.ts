import type { ApplicationAddresses, ApplicationId, ConsentId } from '../../../core/authorization-server/types.ts'
import type { ClaimCondition, FederatedCredentialId } from '../../../core/authorization-server/workloads/types.ts'
import type { OrgId, SessionId, TokenId, UserId } from '../../../core/kernel/ids.ts'
import {
  fixedBytes,
  flag,
  id,
  instant,
  int,
  json,
  long,
  longBytes,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const oauthApplications = table('oauth_applications', {
  id: rowId<ApplicationId>(),
  userId: nullable(id<UserId>()),
  orgId: nullable(id<OrgId>()),
  ownerKey: long(),
  name: text(100),
  clientId: text(64),
  isPublic: flag(),
  isTrusted: withDefault(flag()),
  addresses: json<ApplicationAddresses>(),
  secretHash: nullable(fixedBytes(32)),
  formerSecretHash: nullable(fixedBytes(32)),
  formerSecretUntil: nullable(instant()),
  robotId: nullable(id<UserId>()),
  logo: nullable(longBytes()),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

export const oauthConsents = table('oauth_consents', {
  id: rowId<ConsentId>(),
  userId: id<UserId>(),
  applicationId: id<ApplicationId>(),
  scopes: text(1024),
  counter: int(),
  createdAt: instant(),
  updatedAt: instant(),
})

export const oauthRecords = table('oauth_records', {
  id: rowId(),
  idHash: fixedBytes(32),
  kind: text(40),
  grantHash: nullable(fixedBytes(32)),
  keyHash: nullable(fixedBytes(32)),
  userId: nullable(id<UserId>()),
  applicationId: nullable(id<ApplicationId>()),
  sessionId: nullable(id<SessionId>()),
  tokenId: nullable(id<TokenId>()),
  sealed: sealed(),
  consumedAt: nullable(instant()),
  expiresAt: instant(),
})

export const oauthSignIns = table('oauth_sign_ins', {
  id: rowId(),
  applicationId: id<ApplicationId>(),
  userId: id<UserId>(),
  sessionId: nullable(id<SessionId>()),
  sid: text(64),
  attempts: withDefault(int()),
  dueAt: instant(),
})

export const oauthKeys = table('oauth_keys', {
  generation: id(),
  createdAt: instant(),
  sealed: sealed(),
})

export const federatedCredentials = table('federated_credentials', {
  id: rowId<FederatedCredentialId>(),
  orgId: id<OrgId>(),
  robotId: id<UserId>(),
  name: text(100),
  issuer: text(2000),
  clusterUid: text(64),
  audience: text(500),
  conditions: json<readonly ClaimCondition[]>(),
  scopes: text(1024),
  lifeSeconds: int(),
  createdAt: instant(),
  lastUsedAt: nullable(instant()),
  lastRefusedAt: nullable(instant()),
  lastRefusal: nullable(text(500)),
  version: withDefault(long()),
})

export const workloadUses = table('workload_uses', {
  id: rowId(),
  idHash: fixedBytes(32),
  robotId: id<UserId>(),
  tokenId: id<TokenId>(),
  expiresAt: instant(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    authorizationServer: typeof import('./authorization-server.ts')
  }
}
