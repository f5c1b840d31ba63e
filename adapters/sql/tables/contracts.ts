import type {
  ContractClusterId,
  ContractEmails,
  ContractEventName,
  ContractId,
  ContractQuota,
  LicenseKind,
} from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import {
  flag,
  id,
  instant,
  int,
  json,
  long,
  longText,
  named,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const contracts = table('contracts', {
  id: rowId<ContractId>(),
  ownerId: id<AccountId>(),
  name: text(255),
  product: text(64),
  features: json<readonly string[]>(),
  emails: json<ContractEmails>(),
  quota: json<ContractQuota>(),
  restrictions: longText(),
  startsAt: instant(),
  endsAt: instant(),
  allowsOffline: flag(),
  bindsNewClusters: flag(),
  disablesAnalytics: flag(),
  enablesClientBilling: flag(),
  documentRef: withDefault(text(64)),
  documentName: withDefault(text(255)),
  documentType: withDefault(text(127)),
  documentSize: withDefault(long()),
  revokedAt: nullable(instant()),
  remindedFirstAt: named('reminded_45_at', nullable(instant())),
  remindedLastAt: named('reminded_10_at', nullable(instant())),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
  termsNumber: withDefault(int()),
  termsFrom: withDefault(instant()),
  termsRecordedAt: withDefault(instant()),
  termsRecordedBy: withDefault(text(254)),
  allowsTrials: withDefault(flag()),
  maxTrials: withDefault(int()),
  remindedEndsAt: nullable(instant()),
})

export const contractClusters = table('contract_clusters', {
  id: rowId<ContractClusterId>(),
  contractId: id<ContractId>(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  displayName: text(128),
  boundAt: instant(),
})

export const contractClusterTags = table('contract_cluster_tags', {
  id: rowId(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  tags: json<readonly string[]>(),
})

export const contractClusterIntervals = table('contract_cluster_intervals', {
  id: rowId(),
  contractId: id<ContractId>(),
  clusterUid: text(36),
  boundFrom: instant(),
  boundTo: nullable(instant()),
})

export const contractEvents = table('contract_events', {
  id: rowId(),
  contractId: id<ContractId>(),
  event: text<ContractEventName>(32),
  addedBy: text(254),
  createdAt: instant(),
  termsNumber: nullable(int()),
  effectiveFrom: nullable(instant()),
})

export const licenseAuthorities = table('license_authorities', {
  id: rowId(),
  certificatePem: named('certificate', longText()),
  ref: withDefault(text(36)),
  sealedKey: nullable(sealed()),
  createdAt: instant(),
  retiredAt: nullable(instant()),
})

export const licenses = table('licenses', {
  id: rowId(),
  serial: text(48),
  contractId: id<ContractId>(),
  ownerId: id<AccountId>(),
  clusterUid: text(36),
  kind: text<LicenseKind>(8),
  authorityId: id(),
  notBefore: instant(),
  notAfter: instant(),
  contentKey: text(64),
  certificatePem: named('certificate', longText()),
  issuedAt: instant(),
  issuedBy: text(254),
  revokedAt: nullable(instant()),
})

export const contractDocumentRemovals = table('contract_document_removals', {
  id: rowId(),
  ref: text(64),
  dueAt: instant(),
})

export const contractTerms = table('contract_terms', {
  id: rowId(),
  contractId: id<ContractId>(),
  number: int(),
  from: named('from_at', instant()),
  to: named('to_at', nullable(instant())),
  product: text(64),
  features: json<readonly string[]>(),
  quota: json<ContractQuota>(),
  restrictions: longText(),
  startsAt: instant(),
  endsAt: instant(),
  allowsOffline: flag(),
  allowsTrials: flag(),
  maxTrials: int(),
  disablesAnalytics: flag(),
  enablesClientBilling: flag(),
  recordedAt: instant(),
  recordedBy: text(254),
  supersededAt: nullable(instant()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    contracts: typeof import('./contracts.ts')
  }
}
