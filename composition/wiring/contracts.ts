import { hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeS3Documents } from '../../adapters/clouds/s3-documents.ts'
import { makeEgressClient } from '../../adapters/clouds/sdk.ts'
import { parseDocumentUrl } from '../../adapters/clouds/document-url.ts'
import { makeFolderDocuments, noScanner } from '../../adapters/documents/folder-documents.ts'
import { makeLicenseSigner } from '../../adapters/licenses/license-signer.ts'
import { makeEgressPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import {
  makeSqlDocumentRemovals,
  makeSqlContractEvents,
  makeSqlContractStore,
} from '../../adapters/sql/contracts/contract-store.ts'
import { makeSqlAuthorityStore, makeSqlLicenseStore } from '../../adapters/sql/contracts/license-store.ts'
import { contractObjectRows } from '../../adapters/sql/contracts/rows.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { writeWhole } from '../../adapters/system/whole-files.ts'
import { makeBindImported } from '../../core/contracts/bindings.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import type { DocumentStore } from '../../core/contracts/ports.ts'
import {
  DocumentRemovalsToken,
  DocumentScannerToken,
  DocumentStoreToken,
  AuthorityStoreToken,
  BindingStoreToken,
  ContractEventsToken,
  ContractStoreToken,
  ContractUnitOfWorkToken,
  LicenseSignerToken,
  LicenseStoreToken,
  QuotaUsageToken,
} from '../../core/contracts/ports.ts'
import { parseProducts, type Products, ProductsToken } from '../../core/contracts/contract-rules.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { isOpen } from '../../core/kernel/deployment.ts'
import { secret } from '../../core/kernel/secret.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import { makeQuotaUsage } from '../../core/usage/months/consumption.ts'
import { ConsumptionStoreToken } from '../../core/usage/months/ports.ts'
import { attachment } from '../../plugins/kit/reply.ts'
import type { Boot, Provide } from '../boot.ts'
import { StartRefused } from '../boot.ts'
import type { Resolve } from '../container.ts'
import { BindImportWatcherToken } from './clusters.ts'
import { BindMailOutboxToken } from './mail.ts'

/** Composed once, and bound to the database or to a transaction. */
interface Stores {
  readonly contracts: ReturnType<typeof makeSqlContractStore>
  readonly bindings: ReturnType<typeof makeSqlBindingStore>
}

/** Provides contracts and their bindings. */
export const provideContracts: Provide = (container, boot) => {
  const { database, objectRows } = boot
  objectRows.add(contractObjectRows)
  let composed: Stores | undefined
  const storesOf = (resolve: Resolve): Stores =>
    (composed ??= {
      contracts: makeSqlContractStore(database, resolve(ClockToken)),
      bindings: makeSqlBindingStore(database, resolve(ClockToken)),
    })
  const events = makeSqlContractEvents(database)
  const licenses = makeSqlLicenseStore(database)
  const authorities = makeSqlAuthorityStore(database)
  const removals = makeSqlDocumentRemovals(database)
  container.provide(LicenseStoreToken, () => licenses(database))
  container.provide(AuthorityStoreToken, () => authorities(database))
  container.provide(ContractStoreToken, (resolve) => storesOf(resolve).contracts(database))
  container.provide(BindingStoreToken, (resolve) => storesOf(resolve).bindings(database))
  container.provide(ContractEventsToken, () => events(database))
  const signer = makeLicenseSigner()
  boot.onStop('signing of licenses', () => signer.close())
  container.provideValue(LicenseSignerToken, signer)
  container.provideValue(ProductsToken, productsOf(boot))
  container.provide(DocumentRemovalsToken, () => removals(database))
  container.provide(DocumentStoreToken, () => documentsOf(boot))
  container.provideValue(DocumentScannerToken, noScanner)
  // Without billing, no usage is reported, so no quota is reached.
  container.provide(QuotaUsageToken, (resolve) =>
    isOpen('billing-enabled', boot.deployment)
      ? makeQuotaUsage(resolve(ConsumptionStoreToken))
      : { usedThisMonth: async () => undefined },
  )
  container.provide(ContractUnitOfWorkToken, (resolve) => {
    const outbox = resolve(BindMailOutboxToken)
    const { contracts, bindings } = storesOf(resolve)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({
        contracts: contracts(tx),
        bindings: bindings(tx),
        events: events(tx),
        licenses: licenses(tx),
        authorities: authorities(tx),
        documentRemovals: removals(tx),
        audit,
        mail: outbox(tx),
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    )
    return notifyAfterCommit(unitOfWork, resolve(OutboxNotifierToken))
  })
  container.provide(BindImportWatcherToken, (resolve) => {
    if (!isOpen('vendor-hosted', boot.deployment)) return () => ({ imported: async () => undefined })
    const bindImported = makeBindImported(resolve(ClockToken))
    const { contracts, bindings } = storesOf(resolve)
    return (tx, audit) => bindImported({ contracts: contracts(tx), bindings: bindings(tx), events: events(tx), audit })
  })
}

const productsOf = ({ settings: { contractProducts: file } }: Boot): Products => {
  if (file === undefined) return {}
  const parsed = parseProducts(readProducts(file))
  if (isLeft(parsed))
    throw new StartRefused([`MOORAGE_CONTRACT_PRODUCTS: the file ${file} cannot be used: ${parsed.left}`])
  return parsed.right
}

const readProducts = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new StartRefused([`MOORAGE_CONTRACT_PRODUCTS: the file ${file} cannot be read: ${(error as Error).message}`])
  }
}

const documentsOf = (boot: Boot): DocumentStore => {
  const { baseUrl, keys, settings } = boot
  const place = parseDocumentUrl(settings.contractDocuments.reveal())
  if (place === undefined) throw new Error('MOORAGE_CONTRACT_DOCUMENTS passed its check and is not understood')
  if (place.kind === 's3') {
    // An endpoint that is configured is intended, at any address.
    const egress = makeEgressClient(makeEgressPolicy(new Set(['public', 'private', 'loopback'])), true)
    boot.onStop('the store of documents', () => egress.close())
    return makeS3Documents({ place: place.s3, egress, dispositionOf: attachment })
  }
  return makeFolderDocuments({
    folder: place.path,
    key: secret(new Uint8Array(hkdfSync('sha256', keys.csrf.reveal(), '', 'moorage links to documents', 32))),
    routeUrl: () => `${baseUrl()}/api/v1/contract-documents`,
    write: writeWhole,
  })
}
