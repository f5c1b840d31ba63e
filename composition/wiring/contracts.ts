import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { makeFolderDocuments } from '../../adapters/documents/folder-documents.ts'
import { noScanner } from '../../adapters/documents/no-scanner.ts'
import { makeLicenseSigner } from '../../adapters/licenses/license-signer.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractEvents } from '../../adapters/sql/contracts/contract-events.ts'
import { makeSqlAuthorityStore, makeSqlLicenseStore } from '../../adapters/sql/contracts/license-store.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { contractObjectRows } from '../../adapters/sql/contracts/rows.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeBindImported } from '../../core/contracts/automatic-binding.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import type { DocumentStore } from '../../core/contracts/document-ports.ts'
import { DocumentScannerToken, DocumentStoreToken } from '../../core/contracts/document-ports.ts'
import {
  AuthorityStoreToken,
  BindingStoreToken,
  ContractEventsToken,
  ContractStoreToken,
  ContractUnitOfWorkToken,
  LicenseSignerToken,
  LicenseStoreToken,
  QuotaUsageToken,
} from '../../core/contracts/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { isOpen } from '../../core/kernel/deployment.ts'
import { secret } from '../../core/kernel/secret.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import type { Boot, Provide } from '../boot.ts'
import { BindImportWatcherToken } from './clusters.ts'
import { BindMailOutboxToken } from './mail.ts'

/** Provides contracts and their bindings. */
export const provideContracts: Provide = (container, boot) => {
  const { database, objectRows } = boot
  objectRows.add(contractObjectRows)
  const contracts = makeSqlContractStore(database)
  const bindings = makeSqlBindingStore(database)
  const events = makeSqlContractEvents(database)
  const licenses = makeSqlLicenseStore(database)
  const authorities = makeSqlAuthorityStore(database)
  container.provide(LicenseStoreToken, () => licenses(database))
  container.provide(AuthorityStoreToken, () => authorities(database))
  container.provide(ContractStoreToken, () => contracts(database))
  container.provide(BindingStoreToken, () => bindings(database))
  container.provide(ContractEventsToken, () => events(database))
  const signer = makeLicenseSigner()
  boot.onStop('signing of licenses', () => signer.close())
  container.provideValue(LicenseSignerToken, signer)
  container.provide(DocumentStoreToken, () => documentsOf(boot))
  container.provideValue(DocumentScannerToken, noScanner)
  // Usage is not reported to this service yet, so no quota is reached.
  container.provideValue(QuotaUsageToken, { usedThisMonth: async () => undefined })
  container.provide(ContractUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ contracts: contracts(tx), bindings: bindings(tx), events: events(tx), licenses: licenses(tx), authorities: authorities(tx), audit, mail: outbox(tx) }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(BindImportWatcherToken, (resolve) => {
    if (!isOpen('vendor-hosted', boot.deployment)) return () => ({ imported: async () => undefined })
    const bindImported = makeBindImported(resolve(ClockToken))
    return (tx, audit) => bindImported({ contracts: contracts(tx), bindings: bindings(tx), events: events(tx), audit })
  })
}

const documentsOf = ({ baseUrl, keys, settings }: Boot): DocumentStore =>
  makeFolderDocuments({
    folder: join(settings.dataDir, 'documents'),
    key: secret(new Uint8Array(hkdfSync('sha256', keys.csrf.reveal(), '', 'moorage links to documents', 32))),
    routeUrl: () => `${baseUrl()}/api/v1/contract-documents`,
  })
