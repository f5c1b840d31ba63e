import type { UsageViewName } from '../../core/usage/types.ts'

const amounts = { cpu: 1.5, memory: 6 }
const objectExample = {
  clusterUID: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44',
  objectID: '5a0c7e54-6f2e-4f0c-9a86-0b7a54f5b8a1',
  group: 'kubedb.com',
  kind: 'Postgres',
  namespace: 'shop',
  namespaceUID: '6f2e5a0c-7e54-4f0c-9a86-b8a10b7a54f5',
  name: 'orders',
}
const intervalExample = { from: '2026-06-01T00:00:00Z', to: '2026-07-01T00:00:00Z' }
const termsExample = {
  number: 1,
  ...intervalExample,
  product: 'database',
  features: ['database-enterprise'],
  start: '2026-01-01T00:00:00Z',
  end: '2027-01-01T00:00:00Z',
  quota: { metric: 'cpu_core_month', limit: 10 },
}
const occupied = { ...intervalExample, milliCPU: 1500, memMiB: 6144, replicas: 3, generation: 2 }
const cluster = { clusterUID: objectExample.clusterUID, displayName: 'production' }
const kind = { group: objectExample.group, kind: objectExample.kind }
const counted = { objectCount: 1, ...amounts }
const summaryExample = (value: number) => ({ min: value, max: value, mean: value })
const quotaItem = {
  ...objectExample,
  milliCPU: summaryExample(1500),
  memMiB: summaryExample(6144),
  segments: [occupied],
}

const items: Readonly<Record<UsageViewName, unknown>> = {
  'objects-usage-view': {
    ...objectExample,
    createdAt: '2026-05-20T09:30:00Z',
    deletedAt: null,
    dailyEvents: [0, 0, 1, ...Array.from({ length: 27 }, () => 0)],
    ...amounts,
  },
  'clusters-usage-view': {
    ...cluster,
    modes: [{ ...intervalExample, mode: 'prod' }],
    contractIDs: [42],
    clusterHours: 720,
    ...counted,
    kinds: [{ ...kind, ...counted, contracts: [{ contractID: 42, ...counted }] }],
  },
  'namespaces-usage-view': {
    clusterUID: objectExample.clusterUID,
    namespace: objectExample.namespace,
    namespaceUID: objectExample.namespaceUID,
    clientOrg: '',
    ...counted,
  },
  'gks-usage-view': { ...kind, ...counted, matrix: Array.from({ length: 30 }, () => ({ cpu: 0.05, memory: 0.2 })) },
  'contracts-usage-view': {
    contractID: 42,
    name: 'Databases',
    product: 'database',
    features: ['database-enterprise'],
    start: '2026-01-01T00:00:00Z',
    end: '2027-01-01T00:00:00Z',
    quota: { metric: 'cpu_core_month', limit: 10, billed: 1.5, excess: 0, usedPercent: 15 },
    terms: [termsExample],
    ...counted,
  },
  'object-quota-history-summaries-view': quotaItem,
  'objects-cluster-mode-usage-view': {
    ...objectExample,
    ...amounts,
    segments: [{ ...intervalExample, mode: 'prod', ...amounts }],
  },
}

/** Returns an answer with one item. */
export const viewExample = (view: UsageViewName): unknown => ({
  revision: 1,
  status: 'final',
  generatedAt: '2026-07-04T00:30:00.000Z',
  product: 'dbProduct',
  view,
  viewType: 'total',
  year: 2026,
  month: 'June',
  timezone: 'UTC',
  units: { cpu: 'core-month', memory: 'GiB-month' },
  items: [items[view]],
  totals: { ...(view === 'object-quota-history-summaries-view' ? {} : amounts), objectCount: 1 },
})

export const historyExample = { ...objectExample, months: ['2026-06'], segments: [occupied] }
