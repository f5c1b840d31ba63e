import { makeAccessRevisions, raiseEveryone } from '../../adapters/sql/authz/access-revisions.ts'
import { makeSqlAuditLog } from '../../adapters/sql/audit/audit-log.ts'
import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { composeNow, makeComposer } from '../../adapters/sql/engine/prepare.ts'
import { openSqliteDatabase } from '../../adapters/sql/engine/sqlite-database.ts'
import { makeSqlActorCalls } from '../../adapters/sql/identity/actor-calls.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import { makeSqlSealedValues } from '../../adapters/sql/kernel/sealed-values.ts'
import { makeSqlHeldObjects } from '../../adapters/sql/kit/object-rows.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlSigningKeyStore } from '../../adapters/sql/marketplace/notification-inbox.ts'
import { makeSqlSubscriptionStore } from '../../adapters/sql/marketplace/subscription-store.ts'
import { makeSqlUsageLedger } from '../../adapters/sql/marketplace/usage-ledger.ts'
import { makeSqlChartRepositoryStore } from '../../adapters/sql/packages/chart-repository-store.ts'
import { sealedColumns } from '../support/all-tables.ts'
import { makeSqlTaskQueues } from '../../adapters/sql/tasks/task-queue.ts'
import { makeSqlTaskStore } from '../../adapters/sql/tasks/task-store.ts'
import { makeSqlDeliveryQueue } from '../../adapters/sql/webhooks/delivery-queue.ts'
import { makeSqlOutageStore } from '../../adapters/sql/usage/outage-store.ts'
import type { WithParameters } from '../composition/prepared.ts'
import { collectingPrepare } from '../composition/prepared.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import type { AccountId, OrgId, UserId } from '../../core/kernel/ids.ts'
import type { SubscriptionId } from '../../core/marketplace/types.ts'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'

const at = new Date('2026-05-01T08:00:00Z')
const clock = { now: () => at }
const [account, other, person, contract] = [101, 138, 175, 212] as [AccountId, AccountId, UserId, ContractId]
/** The second page has a statement of its own for the number of rows. */
const second = { page: 2, limit: 10 }
const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)

/** Runs what a file composes at run time, with every condition that it can have. */
type Run = (db: SqlDatabase) => Promise<unknown>

/** By the files that compose statements when they run them. A test compares the names with the sources. */
export const composingFiles: Readonly<Record<string, Run>> = {
  'adapters/sql/audit/audit-log.ts': async (db) => {
    const log = makeSqlAuditLog(db)
    const narrow = { action: 'create', actor: 'ann', since: at }
    for (const filter of [{}, narrow, { tenantId: account }, { tenantId: account, ...narrow }]) {
      await log.list(filter, second)
      await log.listAfter(filter, 5, 10)
    }
  },
  'adapters/sql/clouds/cloud-credential-store.ts': (db) =>
    makeSqlCloudCredentialStore(db)(db).list(person, { types: ['a', 'b'], fleetEndpoint: 'east' } as never, second),
  'adapters/sql/clusters/cluster-store.ts': async (db) => {
    const store = makeSqlClusterStore(db)(db)
    const all = { provider: undefined, phase: undefined, text: undefined, order: 'name', isDescending: false } as const
    const some = { provider: 'EKS', phase: 'Lost', text: 'a', order: 'created', isDescending: true } as const
    for (const selection of [all, some]) await store.listSelected(account, selection, second)
  },
  'adapters/sql/contracts/binding-store.ts': async (db) => {
    const store = makeSqlBindingStore(db, clock)(db)
    await store.listFor(account, ['uid-1', 'uid-2'], at)
    await store.boundAmong(contract, ['uid-1', 'uid-2'])
  },
  'adapters/sql/contracts/contract-store.ts': async (db) => {
    const store = makeSqlContractStore(db, clock)(db)
    await store.listAll(second)
    await store.listOf(account, {}, second)
    for (const bound of ['with', 'without'] as const)
      await store.listOf(account, { activeAt: at, allowsOffline: true, cluster: { uid: 'uid-1', bound } }, second)
  },
  'adapters/sql/kernel/sealed-values.ts': async (db) => {
    const values = makeSqlSealedValues(db)
    const start = new Uint8Array(36).fill(7)
    for (const column of sealedColumns) {
      const key = ['instances', 'leases'].includes(column.table) ? 'text' : 249
      await values.count(column, [start, start])
      await values.others(column, { starts: [start], after: key, limit: 10 })
      await values.find(column, key)
      await values.replace(column, key, new Uint8Array(200), new Uint8Array(200))
    }
  },
  'adapters/sql/marketplace/subscription-store.ts': (db) =>
    makeSqlSubscriptionStore(
      db,
      secretBox,
    )(db).update(
      286 as SubscriptionId,
      { clusterId: 'uid-1', contractIds: [contract], alertedAt: at, reportedAt: at },
      at,
    ),
  'adapters/sql/marketplace/usage-ledger.ts': async (db) => {
    const ledger = makeSqlUsageLedger(db)
    const filter = { subscriptionRef: 'ref', since: at, until: at }
    await ledger.listUsage({ ...filter, outcome: 'accepted' }, second)
    await ledger.listCalls({ ...filter, outcome: 'accepted' }, second)
  },
  'adapters/sql/packages/chart-repository-store.ts': (db) =>
    makeSqlChartRepositoryStore(db)(db).listIn([account, other], 10),
  'adapters/sql/tasks/task-store.ts': async (db) => {
    const store = makeSqlTaskStore(db)
    const narrow = { state: 'running', kind: 'kind', cluster: 'cluster' } as const
    const entry = { at, tokenLifeDays: 30 }
    for (const filter of [{}, narrow, { tenantId: account, ...narrow }, { actorId: person, entry, ...narrow }])
      await store.list(filter, second)
  },
  'adapters/sql/usage/outage-store.ts': async (db) => {
    const store = makeSqlOutageStore(db)(db)
    await store.list({ endsAfter: 1, ownerId: undefined, clusterUid: undefined } as never)
    await store.list({ endsAfter: 1, ownerId: account, clusterUid: 'uid-1' } as never)
  },
  'adapters/sql/webhooks/delivery-queue.ts': (db) =>
    makeSqlDeliveryQueue(db).listEnabled([undefined, account as OrgId]),
}

/** Makes what the service makes only when it works, after its composition. */
const madeLate: Run = async (db) => {
  makeSqlTaskQueues(db).open('holder', ['kind-1', 'kind-2'])
  makeSqlInstanceRegister(db, 'instance')
  makeSqlLeaseStore(db)
  makeSqlActorCalls(db, clock)
  makeSqlSigningKeyStore(db, secretBox)
  await makeAccessRevisions(db)()
  await raiseEveryone(db)
  const keeping = ['clusters', 'contracts'].map((table) => ({
    type: table,
    table,
    owner: 'owner_id',
    keepsAccount: true,
  }))
  await makeSqlHeldObjects(db, keeping)(db, account, 10)
}

/** Returns the statements that the service composes, or prepares, when it works. */
export const composedStatements = async (): Promise<readonly WithParameters[]> => {
  const found: WithParameters[] = []
  const composer = makeComposer('mysql')
  const sqlite = openSqliteDatabase(':memory:')
  const runner: SqlRunner = {
    dialect: 'mysql',
    all: async () => [],
    first: async () => undefined,
    run: async () => ({ affected: 0, insertId: 0 }),
    query: async (build) => {
      found.push({ made: composeNow(composer, build), params: {} })
      return []
    },
  }
  const prepare = collectingPrepare(composer, found)
  const db: SqlDatabase = { ...sqlite, ...runner, prepare, transaction: (work) => work(runner) }
  for (const run of [...Object.values(composingFiles), madeLate]) await run(db)
  await sqlite.close()
  return found
}
