import { contractsMigrations } from '../../../adapters/sql/contracts/migrations.ts'
import { hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { makeS3Documents } from '../../../adapters/clouds/s3-documents.ts'
import type { EgressClient } from '../../../adapters/outbound/egress-client.ts'
import { makeEgressClient } from '../../../adapters/outbound/egress-client.ts'
import { documentUrlForms, parseDocumentUrl } from '../../../adapters/clouds/document-url.ts'
import { makeFolderDocuments, noScanner } from '../../../adapters/documents/folder-documents.ts'
import { makeLicenseSigner } from '../../../adapters/licenses/license-signer.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { makeSqlBindingStore } from '../../../adapters/sql/contracts/binding-store.ts'
import {
  makeSqlDocumentRemovals,
  makeSqlContractEvents,
  makeSqlContractStore,
} from '../../../adapters/sql/contracts/contract-store.ts'
import { makeSqlAuthorityStore, makeSqlLicenseStore } from '../../../adapters/sql/contracts/license-store.ts'
import { contractObjectRows } from '../../../adapters/sql/contracts/rows.ts'
import { writeWhole } from '../../../adapters/system/files.ts'
import { makeBindImported } from '../../../core/contracts/bindings.ts'
import {
  DocumentRemovalsPort,
  DocumentScannerPort,
  DocumentStorePort,
  AuthorityStorePort,
  BindingStorePort,
  ContractEventsPort,
  ContractStorePort,
  ContractUnitOfWorkPort,
  LicenseSignerPort,
  LicenseStorePort,
  QuotaUsagePort,
} from '../../../core/contracts/ports.ts'
import { parseProducts, type Products, ProductsPort } from '../../../core/contracts/contract-rules.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { optional, portKey } from '../../../core/kernel/port-key.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { makeQuotaUsage } from '../../../core/usage/months/consumption.ts'
import { ConsumptionStorePort } from '../../../core/usage/months/ports.ts'
import { attachment } from '../../../plugins/kit/reply.ts'
import { StartRefused } from '../../part/boot.ts'
import { BindImportWatcherPort } from '../clusters/part.ts'
import type { Boot } from '../../part/boot.ts'
import type { ValuesOf } from '../../part/setting.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import { secretUrl, words } from '../../part/setting-type.ts'
import { contractsPlugin } from '../../../plugins/contracts/plugin.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, using } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { fetchSpan, spansOf } from '../../part/spans.ts'
import { bindMailingUnitOfWork } from '../units-of-work.ts'

const documentText = secretUrl(/^(folder:.+|s3:\/\/.+)$/s, documentUrlForms)
const documentUrl: typeof documentText = {
  ...documentText,
  parse: (raw) => {
    const text = documentText.parse(raw)
    return text._tag === 'Right' && parseDocumentUrl(text.right.reveal()) === undefined ? left(documentUrlForms) : text
  },
}

const settings = {
  contractDocuments: withDefault(
    'MOORAGE_CONTRACT_DOCUMENTS',
    documentUrl,
    ({ dataDir }) => `folder:${dataDir}/documents`,
    'Where documents of contracts are stored: folder:PATH, or an S3-compatible store as ' +
      's3://KEY_ID:SECRET@s3.eu-central-1.amazonaws.com/BUCKET/PREFIX?region=eu-central-1 (tls=off for plain ' +
      'HTTP), which needs the packages @aws-sdk/client-s3 and @aws-sdk/s3-request-presigner.',
    { fallbackText: 'folder: documents in the data folder', after: 'MOORAGE_MAIL_FROM' },
  ),
  contractProducts: absentUnlessSet(
    'MOORAGE_CONTRACT_PRODUCTS',
    words,
    'A JSON file of the products that contracts can be made for, as GET /contracts/available_products returns them.',
  ),
}

type ContractBoot = Boot<ValuesOf<typeof settings>>

/** Stores that are bound to the database or to a transaction. */
interface Stores {
  readonly contracts: ReturnType<typeof makeSqlContractStore>
  readonly bindings: ReturnType<typeof makeSqlBindingStore>
  readonly events: ReturnType<typeof makeSqlContractEvents>
  readonly licenses: ReturnType<typeof makeSqlLicenseStore>
  readonly authorities: ReturnType<typeof makeSqlAuthorityStore>
  readonly documentRemovals: ReturnType<typeof makeSqlDocumentRemovals>
}
const StoresPort = portKey<Stores>('contracts.Stores')
const DocumentEgressPort = portKey<EgressClient>('contracts.DocumentEgress')

const productsOf = ({ settings: { contractProducts: file } }: Pick<ContractBoot, 'settings'>): Products => {
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

const documentBindings = ({ baseUrl, keys, settings }: ContractBoot): readonly Binding[] => {
  const place = parseDocumentUrl(settings.contractDocuments.reveal())
  if (place === undefined) throw new Error('MOORAGE_CONTRACT_DOCUMENTS passed its check and is not understood')
  if (place.kind === 's3')
    return [
      // An endpoint that is configured is intended, at any address.
      bind(
        DocumentEgressPort,
        {},
        () => makeEgressClient(makeEgressPolicy(new Set(['public', 'private', 'loopback'])), true),
        (client) => client.close(),
      ),
      bind(DocumentStorePort, { egress: DocumentEgressPort }, ({ egress }) =>
        makeS3Documents({ place: place.s3, egress, dispositionOf: attachment }),
      ),
    ]
  return [
    bind(DocumentStorePort, {}, () =>
      makeFolderDocuments({
        folder: place.path,
        key: secret(new Uint8Array(hkdfSync('sha256', keys.csrf.reveal(), '', 'moorage links to documents', 32))),
        routeUrl: () => `${baseUrl()}/api/v1/contract-documents`,
        write: writeWhole,
      }),
    ),
  ]
}

const orDown = <A>(answer: Either<Failure, A>): A => {
  if (isLeft(answer)) throw new StartRefused([answer.left.message])
  return answer.right
}

const endingSoonMs = 10 * 24 * 3600 * 1000

/** Contracts, their bindings, documents and licenses. */
export const part = definePart({
  plugin: contractsPlugin,
  spans: [
    spansOf(LicenseSignerPort, { sign: { name: 'queue licenses: sign' } }),
    spansOf(DocumentStorePort, { put: { name: 'store document' }, remove: { name: 'remove document' } }),
    spansOf(DocumentEgressPort, { fetch: fetchSpan }),
  ],
  migrations: contractsMigrations,
  settings,
  objectRows: [contractObjectRows],
  tags: [
    {
      name: 'Licensing & Contracts',
      description: 'Contracts of an organization, the clusters bound to them, offline licenses.',
      after: 'Authorization',
    },
  ],
  demo: async (world) => (await import('./demo.ts')).seedContracts(world),
  storedFiles: {
    name: 'documents',
    ...using({ documents: DocumentStorePort }, ({ documents }) => ({
      table: 'contracts',
      columns: ['document_ref', 'document_name', 'document_type', 'document_size'],
      read: async (ref) => orDown(await documents.read(ref)),
      write: async ([ref, fileName, mediaType, size], bytes) =>
        orDown(
          await documents.put(
            { ref: String(ref), fileName: String(fileName), mediaType: String(mediaType), size: Number(size) },
            bytes,
          ),
        ),
    })),
  },
  metrics: [
    defineGauges(
      {
        moorage_contract_next_end_timestamp_seconds: {
          help: 'When the next contract of any account ends, as Unix time.',
        },
        moorage_contracts_ending: { help: 'Contracts that end within ten days.' },
        moorage_license_authority_expiry_timestamp_seconds: {
          help: 'When the certificate authority that signs licenses ends, as Unix time.',
        },
      },
      {
        contracts: ContractStorePort,
        authorities: AuthorityStorePort,
        signer: LicenseSignerPort,
        clock: ClockPort,
      },
      ({ contracts, authorities, signer, clock }) =>
        async () => {
          const now = clock.now()
          const { first, count } = await contracts.nextEnds(now, new Date(now.getTime() + endingSoonMs))
          const current = (await authorities.list()).find(({ retiredAt }) => retiredAt === undefined)
          const seconds = (at: Date): number => at.getTime() / 1000
          return {
            moorage_contracts_ending: count,
            ...definedFields({
              moorage_contract_next_end_timestamp_seconds: first && seconds(first),
              moorage_license_authority_expiry_timestamp_seconds:
                current && seconds(signer.validityOf(current.certificatePem).notAfter),
            }),
          }
        },
    ),
  ],
  provide(boot) {
    const { database } = boot
    return [
      bind(StoresPort, { clock: ClockPort }, ({ clock }) => ({
        contracts: makeSqlContractStore(database, clock),
        bindings: makeSqlBindingStore(database, clock),
        events: makeSqlContractEvents(database),
        licenses: makeSqlLicenseStore(database),
        authorities: makeSqlAuthorityStore(database),
        documentRemovals: makeSqlDocumentRemovals(database),
      })),
      bind(LicenseStorePort, { stores: StoresPort }, ({ stores }) => stores.licenses(database)),
      bind(AuthorityStorePort, { stores: StoresPort }, ({ stores }) => stores.authorities(database)),
      bind(ContractStorePort, { stores: StoresPort }, ({ stores }) => stores.contracts(database)),
      bind(BindingStorePort, { stores: StoresPort }, ({ stores }) => stores.bindings(database)),
      bind(ContractEventsPort, { stores: StoresPort }, ({ stores }) => stores.events(database)),
      bind(DocumentRemovalsPort, { stores: StoresPort }, ({ stores }) => stores.documentRemovals(database)),
      bind(
        LicenseSignerPort,
        {},
        () => {
          const signer = makeLicenseSigner(boot.readings)
          boot.pools.watch('licenses', signer.load)
          return signer
        },
        (signer) => (signer as ReturnType<typeof makeLicenseSigner>).close(),
      ),
      bind(ProductsPort, {}, () => productsOf(boot)),
      ...documentBindings(boot),
      bind(DocumentScannerPort, {}, () => noScanner),
      // Without billing, no usage is reported, so no quota is reached.
      bind(QuotaUsagePort, { consumption: optional(ConsumptionStorePort) }, ({ consumption }) =>
        consumption === undefined ? { usedThisMonth: async () => undefined } : makeQuotaUsage(consumption),
      ),
      bindMailingUnitOfWork(
        database,
        ContractUnitOfWorkPort,
        ({ stores }) =>
          (tx) => ({
            contracts: stores.contracts(tx),
            bindings: stores.bindings(tx),
            events: stores.events(tx),
            licenses: stores.licenses(tx),
            authorities: stores.authorities(tx),
            documentRemovals: stores.documentRemovals(tx),
          }),
        { stores: StoresPort },
      ),
      bind(BindImportWatcherPort, { clock: ClockPort, stores: StoresPort }, ({ clock, stores }) => {
        const bindImported = makeBindImported(clock)
        const { contracts, bindings, events } = stores
        return (tx, audit) =>
          bindImported({ contracts: contracts(tx), bindings: bindings(tx), events: events(tx), audit })
      }),
    ]
  },
})
