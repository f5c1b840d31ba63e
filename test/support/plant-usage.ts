import { randomUUID } from 'node:crypto'
import { makeSqlUsageReportStore } from '../../adapters/sql/usage/report-store.ts'
import type { MonthKey } from '../../core/usage/types.ts'
import { plantRevision } from '../usage/planted-months.ts'
import { clusterUidOf, monthOfPlans, objectUidOf } from '../usage/product-months.ts'
import type { TestService } from './service.ts'
import { openPatiently } from './databases.ts'

/** Names in the planted usage of every account. */
export const plantedUsage = {
  year: '2026',
  month: 'June',
  clusterUid: clusterUidOf(1),
  objectUid: objectUidOf(0),
  namespace: 'shop',
} as const

/**
 * Writes the views of a month of an account, and reports a database in a namespace of its cluster. `text` is in
 * everything of it.
 */
export const plantUsage = async (
  service: TestService,
  owner: { readonly name: string; readonly id: number; readonly clusterUid: string; readonly text: string },
): Promise<void> => {
  const { name, id, clusterUid, text } = owner
  const plans = [
    {
      cluster: 1,
      kind: 'Postgres',
      namespace: plantedUsage.namespace,
      name: text,
      used: [{ day: 1, use: 'prod' as const, contractId: 7, milliCpuSeconds: 10n ** 9n, mebibyteSeconds: 10n ** 9n }],
    },
  ]
  const month = 202606 as MonthKey
  const db = await openPatiently(service.databaseUrl)
  try {
    const products = (['dbProduct', 'backupProduct', 'vaultProduct', 'ingressProduct'] as const).map((product) =>
      monthOfPlans(plans, { month, product }),
    )
    const monthId = await plantRevision(db, id, products)
    await makeSqlUsageReportStore(db)(db).addPiece(monthId, 0, Buffer.from(`%PDF-1.7 ${text}`))
  } finally {
    await db.close()
  }
  const yesterday = new Date(Date.now() - 86_400_000).toISOString()
  const created = {
    id: randomUUID(),
    type: 'object.created',
    time: yesterday,
    product: 'dbProduct',
    group: 'kubedb.com',
    kind: 'Postgres',
    uid: randomUUID(),
    namespace: plantedUsage.namespace,
    namespaceUID: randomUUID(),
    name: 'orders',
    generation: 1,
    createdAt: yesterday,
    milliCPU: 500,
    memoryMiB: 1024,
    replicas: 1,
  }
  const observed = {
    id: randomUUID(),
    type: 'namespace.observed',
    time: yesterday,
    namespace: plantedUsage.namespace,
    namespaceUID: created.namespaceUID,
    createdAt: yesterday,
    labels: { text },
  }
  const reported = await service.send('POST', `/api/v1/usage/${name}/events`, {
    token: service.adminToken,
    body: { clusterUID: clusterUid, events: [created, observed] },
  })
  if (
    reported.status !== 200 ||
    (reported.json as { results: { result: string }[] }).results.some(({ result }) => result !== 'accepted')
  )
    throw new Error(`usage of ${name}: ${reported.status} ${reported.text}`)
}
