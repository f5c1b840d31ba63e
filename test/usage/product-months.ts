import { daysOfMonth, monthEnd, monthKey, monthStart } from '../../core/usage/month.ts'
import type { ContractInMonth, DayUsage, ObjectUsage, ProductMonth, UsagePart } from '../../core/usage/usage-types.ts'
import type { MonthKey, UnixSeconds, UsageClusterId, UsageObjectId, UsageProduct } from '../../core/usage/types.ts'
import type { UsageViewStore, UsageViewText } from '../../core/usage/views/ports.ts'

/** The use of a month in memory, whose objects can be read any number of times. */
export interface PlainMonth extends Omit<ProductMonth, 'objects' | 'days' | 'daysOf'> {
  readonly objects: readonly ObjectUsage[]
  /** Of each cluster. */
  readonly days: readonly (DayUsage & { readonly clusterUid: string })[]
}

/** The objects in batches, as they are read once. */
export const readOnce = (month: PlainMonth, batch = 7): ProductMonth => ({
  ...month,
  daysOf: async (clusterUid) => month.days.filter((day) => day.clusterUid === clusterUid),
  objects: (async function* () {
    for (let at = 0; at < month.objects.length; at += batch) yield month.objects.slice(at, at + batch)
  })(),
})

export const clusterUidOf = (n: number): string => `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`
export const objectUidOf = (n: number): string => `10000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** What one object used on one day, in one class, for one contract. */
export interface UsedOnDay {
  readonly day: number
  readonly use: UsagePart['use']
  readonly contractId: number
  readonly milliCpuSeconds: bigint
  readonly mebibyteSeconds: bigint
}

export interface ObjectPlan {
  readonly cluster: number
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly used: readonly UsedOnDay[]
}

const clusterNames: Readonly<Record<number, string>> = { 1: '=cmd|calc', 2: 'Кластер "два"', 3: '集群, 3' }
const terms = {
  features: ['database-enterprise'],
  from: 1_767_225_600 as UnixSeconds,
  to: 1_798_761_600 as UnixSeconds,
}
const contractsInMonth: readonly ContractInMonth[] = [
  { id: 7, name: '@sum', product: 'database', ...terms, quota: { metric: 'cpu_core_month', limit: 12.5 }, terms: [] },
  { id: 9, name: 'Plain', product: 'database', ...terms, quota: undefined, terms: [] },
]

/**
 * The terms of the first contract were changed on the 15th of the month; those of the others are the same in all of it.
 */
const contractsOf = (month: MonthKey): readonly ContractInMonth[] => {
  const changedAt = (monthStart(month) + 14 * 86_400 + 3600) as UnixSeconds
  const term = { startsAt: new Date(terms.from * 1000), endsAt: new Date(terms.to * 1000) }
  return contractsInMonth.map(({ product, features, quota, ...contract }, index) => {
    const version = { number: 3, from: monthStart(month), to: monthEnd(month), product, features, quota, ...term }
    const both = [
      { ...version, to: changedAt, quota: { metric: 'cpu_core_month' as const, limit: 10.25 } },
      { ...version, number: 4, from: changedAt, features: [...features, 'backup'], quota: undefined },
    ]
    return { ...contract, product, features, quota, terms: index === 0 ? both : [version] }
  })
}

const partsOf = (used: readonly UsedOnDay[]): readonly UsagePart[] => {
  const parts = new Map<string, UsagePart>()
  for (const { use, contractId, milliCpuSeconds, mebibyteSeconds } of used) {
    const key = `${use} ${contractId}`
    const known = parts.get(key)
    parts.set(key, {
      use,
      contractId,
      milliCpuSeconds: (known?.milliCpuSeconds ?? 0n) + milliCpuSeconds,
      mebibyteSeconds: (known?.mebibyteSeconds ?? 0n) + mebibyteSeconds,
    })
  }
  return [...parts.values()]
}

const sum = (used: readonly UsedOnDay[]) => ({
  milliCpuSeconds: used.reduce((all, { milliCpuSeconds }) => all + milliCpuSeconds, 0n),
  mebibyteSeconds: used.reduce((all, { mebibyteSeconds }) => all + mebibyteSeconds, 0n),
})

const objectOf = (plan: ObjectPlan, index: number, month: MonthKey): ObjectUsage => {
  const [from, to] = [monthStart(month), monthEnd(month)]
  const middle = (from + 86_400) as UnixSeconds
  const inProd = plan.used.filter(({ use }) => use === 'prod')
  const other = plan.used.filter(({ use }) => use !== 'prod')
  return {
    object: {
      id: (index + 1) as UsageObjectId,
      clusterId: plan.cluster as UsageClusterId,
      product: 'dbProduct',
      group: 'kubedb.com',
      kind: plan.kind,
      uid: objectUidOf(index),
      namespace: plan.namespace,
      namespaceUid: `uid-of-${plan.namespace}`,
      name: plan.name,
      createdAt: (from - 5) as UnixSeconds,
      deletedAt: index % 3 === 0 ? to : undefined,
      trialEndsAt: undefined,
    },
    clusterUid: clusterUidOf(plan.cluster),
    parts: partsOf(plan.used),
    dailyEvents: Array.from({ length: daysOfMonth(month) }, (_, day) => (day === 2 ? index % 4 : 0)),
    segments: [
      { from, to: middle, milliCpu: 1000 + index, memoryMib: 512, replicas: 1, generation: 1 },
      { from: middle, to, milliCpu: 2000, memoryMib: 1024, replicas: 3, generation: 2 },
    ],
    modes: [
      { from, to: middle, mode: 'prod', ...sum(inProd) },
      { from: middle, to, mode: 'non-prod', ...sum(other) },
    ],
  }
}

const daysOfPlans = (plans: readonly ObjectPlan[]): PlainMonth['days'] =>
  plans.flatMap(({ cluster, kind, used }) =>
    used.map(({ day, use, milliCpuSeconds, mebibyteSeconds }) => ({
      product: 'dbProduct' as const,
      group: 'kubedb.com',
      kind,
      clusterUid: clusterUidOf(cluster),
      day,
      use,
      milliCpuSeconds,
      mebibyteSeconds,
    })),
  )

/** The use of a month of the objects of plans. Cluster 9 has no objects. */
export const monthOfPlans = (
  given: readonly ObjectPlan[],
  {
    month = monthKey(2026, 6),
    product = 'dbProduct',
  }: { readonly month?: MonthKey; readonly product?: UsageProduct } = {},
): PlainMonth => {
  const plans = [...given].sort((a, b) => a.cluster - b.cluster)
  const clusters = [...new Set([...plans.map(({ cluster }) => cluster), 9])]
  return {
    product,
    month,
    objects: plans.map((plan, index) => objectOf(plan, index, month)),
    days: daysOfPlans(plans),
    clusters: clusters.map((n) => ({
      clusterUid: clusterUidOf(n),
      displayName: clusterNames[n] ?? `cluster ${n}`,
      modes: [{ from: monthStart(month), to: monthEnd(month), mode: 'prod' as const }],
      heardSeconds: n * 1234,
      contractIds: n === 1 ? [7, 9] : [],
      clientNamespaces: n === 1 ? [{ namespaceUid: 'uid-of-shop', clientOrg: 'shop' }] : [],
    })),
    contracts: contractsOf(month),
  }
}

/** A view that was built, without the database. */
export interface BuiltView extends UsageViewText {
  readonly pieces: readonly { readonly firstKey: string; readonly items: string }[]
}

/** A store that keeps what is written in memory. */
export const viewSink = () => {
  const views: {
    -readonly [K in keyof BuiltView]: K extends 'pieces' ? BuiltView['pieces'][number][] : BuiltView[K]
  }[] = []
  const sink: Pick<UsageViewStore, 'begin' | 'addPiece' | 'complete'> = {
    begin: async (_, key) => views.push({ key, head: '', tail: '', itemCount: -1, pieces: [] }) - 1,
    addPiece: async (id, piece, { firstKey, items }) =>
      void (views[id]!.pieces[piece] = { firstKey, items: Buffer.from(items).toString() }),
    complete: async (id, { head, tail, itemCount }) => void Object.assign(views[id]!, { head, tail, itemCount }),
  }
  return { sink, views: views as readonly BuiltView[] }
}

export const textOf = ({ head, tail, pieces }: BuiltView): string =>
  head + pieces.map(({ items }) => items).join(',') + tail
