import { perCoreMonth, perGibMonth } from '../amounts.ts'
import type { ClusterInMonth, ObjectUsage, ProductMonth } from '../usage-types.ts'
import type { UsageMonthId, UsageProduct } from '../types.ts'
import { makeClusterRows, makeContractRows, makeKindRows } from './grouped-rows.ts'
import type { Amounts, Rounding, Shown, ShownAmounts } from './measures.ts'
import {
  addAmounts,
  addUse,
  classText,
  divideTotal,
  makeRounding,
  makeRunningShares,
  noAmounts,
  numberText,
} from './measures.ts'
import type { RowsGiven, RowsOfMonth, RowsOfUse, UsageViewSink } from './view-writer.ts'
import { instantText, keyOf, lifeText, makeNameObject, quotaItem, startBoth, startView } from './view-writer.ts'

/**
 * Views that are written in one pass over the objects of a product: what they used, with all sums, or what they
 * occupied and in which modes.
 */
export type ViewsPart = 'used' | 'occupied'

/** Returns the parts of which the views of a product are. Each can be written without the other. */
export const viewsPartsOf = (product: UsageProduct): readonly ViewsPart[] =>
  product === 'dbProduct' ? ['used', 'occupied'] : ['used']

/**
 * Writes the views of a product in a month of an owner, or one part of them. It reads the objects once, and keeps no
 * more of them than the sums by cluster, namespace of one cluster, kind and contract. The same use gives the same
 * bytes, in whatever order the days, clusters, contracts and parts of objects come. Throws if the days do not add up to
 * the objects.
 */
export const buildViews = async (
  views: UsageViewSink,
  monthId: UsageMonthId,
  month: ProductMonth,
  parts = viewsPartsOf(month.product),
): Promise<void> => {
  const exact = noAmounts()
  for (const day of month.days) addUse(exact, day.use, day)
  const given = { views, monthId, month, rounding: makeRounding(month.month, exact), nameOf: makeNameObject() }
  const isDatabase = month.product === 'dbProduct'
  const users: readonly RowsOfUse[] = parts.includes('used')
    ? [
        ...(isDatabase ? [await makeObjectRows(given), await makeKindRows(given)] : []),
        await makeClusterRows({ ...given, hasNamespaces: isDatabase }),
        await makeContractRows(given),
      ]
    : []
  const others: readonly RowsOfMonth[] = parts.includes('occupied')
    ? [await makeQuotaRows(given), await makeModeRows(given)]
    : []
  const seen = await readObjects(month, users, others)
  if (users.length > 0 && seen.some((amount, slot) => amount !== exact[slot]))
    throw new Error(`The days of ${month.product} in ${month.month} do not add up to its objects.`)
  for (const writer of [...users, ...others]) await writer.finish()
}

const byUid = (a: ClusterInMonth, b: ClusterInMonth): number => (a.clusterUid < b.clusterUid ? -1 : 1)

/** Passes clusters and their objects on, in order. Returns what all objects used, if that is passed on. */
const readObjects = async (
  { objects, clusters }: ProductMonth,
  users: readonly RowsOfUse[],
  others: readonly RowsOfMonth[],
): Promise<Amounts> => {
  const sum = noAmounts()
  const waiting = [...clusters].sort(byUid)
  let current: string | undefined
  let last = ''
  const start = (cluster: ClusterInMonth): void => {
    current = cluster.clusterUid
    for (const writer of users) writer.startCluster?.(cluster)
  }
  const end = async (): Promise<void> => {
    if (current !== undefined) for (const writer of users) await writer.endCluster?.()
    current = undefined
  }
  /** Passes on the clusters before this one, which have no objects, and this one. */
  const advanceTo = async (uid: string): Promise<void> => {
    await end()
    for (let next = waiting[0]; next !== undefined && next.clusterUid < uid; next = waiting[0]) {
      start(next)
      await end()
      waiting.shift()
    }
    start(waiting[0]?.clusterUid === uid ? (waiting.shift() as ClusterInMonth) : unknownCluster(uid))
  }
  for await (const batch of objects) {
    for (const usage of batch) {
      const key = keyOf(usage)
      if (key <= last) throw new Error(`The object ${key} does not follow ${last}.`)
      last = key
      if (usage.clusterUid !== current) await advanceTo(usage.clusterUid)
      for (const writer of others) {
        const written = writer.add(usage)
        if (written !== undefined) await written
      }
      if (users.length === 0) continue
      const { parts } = usage
      const amounts = noAmounts()
      for (const part of parts) addUse(amounts, part.use, part)
      addAmounts(sum, amounts)
      for (const writer of users) {
        const written = writer.add(usage, amounts, parts)
        if (written !== undefined) await written
      }
    }
  }
  await end()
  for (const cluster of waiting) {
    start(cluster)
    await end()
  }
  return sum
}

const unknownCluster = (clusterUid: string): ClusterInMonth => ({
  clusterUid,
  displayName: clusterUid,
  modes: [],
  heardSeconds: 0,
  contractIds: [],
  clientNamespaces: [],
})

/** The views of what each object used. */
const makeObjectRows = async ({ views, monthId, month, rounding, nameOf }: RowsGiven): Promise<RowsOfUse> => {
  const objects = await startBoth(views, monthId, month, 'objects-usage-view')
  const rows = rounding.rows()
  let objectCount = 0
  return {
    add: (usage, amounts, parts) => {
      objectCount += 1
      const { key, members } = nameOf(usage)
      const named = `{${members},${lifeText(usage)},`
      const shown = rows.next(amounts)
      const uses = `,"uses":[${usesText(rounding, shown, parts)}]`
      const writing = objects.flatMap(
        ({ text, writer, viewType }) =>
          writer.add(`${named}${text(shown)}${viewType === 'billable' ? uses : ''}}`, key) ?? [],
      )
      return writing.length === 0 ? undefined : Promise.all(writing).then(() => undefined)
    },
    finish: async () => {
      for (const { text, writer } of objects)
        await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

/** Returns what an object used for each contract in each class. Most objects have one contract and one class. */
const usesText = (rounding: Rounding, shown: ShownAmounts, parts: ObjectUsage['parts']): string => {
  const [only] = parts
  if (parts.length === 1 && only !== undefined)
    return `{"contractID":${only.contractId},"class":"${only.use}",${classText(shown, only.use)}}`
  const ordered = parts.toSorted((a, b) => a.contractId - b.contractId || (a.use < b.use ? -1 : 1))
  const amounts = ordered.map((part) => {
    const own = noAmounts()
    addUse(own, part.use, part)
    return own
  })
  const divided = rounding.parts(shown, amounts)
  return ordered
    .map(
      ({ contractId, use }, index) =>
        `{"contractID":${contractId},"class":"${use}",${classText(divided[index] ?? [], use)}}`,
    )
    .join(',')
}

/** The view of what each object occupied. */
const makeQuotaRows = async ({
  views,
  monthId,
  month: { product, month },
  nameOf,
}: RowsGiven): Promise<RowsOfMonth> => {
  const quotas = await startView(views, monthId, month, {
    product,
    view: 'object-quota-history-summaries-view',
    viewType: 'total',
  })
  let objectCount = 0
  return {
    add: (usage) => {
      objectCount += 1
      const name = nameOf(usage)
      return quotas.add(quotaItem(usage, name), name.key)
    },
    finish: () => quotas.finish(`"objectCount":${objectCount}`),
  }
}

/** The view of what each object used while its cluster was in each mode. */
const makeModeRows = async ({
  views,
  monthId,
  month: { product, month, days },
  rounding,
  nameOf,
}: RowsGiven): Promise<RowsOfMonth> => {
  const modes = await startView(views, monthId, month, {
    product,
    view: 'objects-cluster-mode-usage-view',
    viewType: 'total',
  })
  const byMode = makeModeRounding(
    month,
    {
      cpu: days.reduce((sum, { milliCpuSeconds }) => sum + milliCpuSeconds, 0n),
      memory: days.reduce((sum, { mebibyteSeconds }) => sum + mebibyteSeconds, 0n),
    },
    rounding.totals,
  )
  let objectCount = 0
  return {
    add: (usage) => {
      objectCount += 1
      const { key, members } = nameOf(usage)
      return modes.add(byMode.itemOf(usage, members), key)
    },
    finish: () => modes.finish(`${byMode.totals()},"objectCount":${objectCount}`),
  }
}

/** Rounds what objects used while their clusters were in each mode. Modes are no classes: a trial is in a mode too. */
const makeModeRounding = (
  month: ProductMonth['month'],
  exact: { readonly cpu: bigint; readonly memory: bigint },
  totals: readonly Shown[],
) => {
  const totalOf = (measure: number): Shown =>
    totals.reduce((sum, shown, slot) => (slot % 2 === measure ? sum + shown : sum), 0)
  const units = { cpu: perCoreMonth(month), memory: perGibMonth(month) }
  const running = {
    cpu: makeRunningShares(exact.cpu, totalOf(0), units.cpu),
    memory: makeRunningShares(exact.memory, totalOf(1), units.memory),
  }
  const seen = { cpu: 0, memory: 0 }
  const divided = (
    measure: 'cpu' | 'memory',
    amounts: readonly bigint[],
  ): { readonly row: Shown; readonly parts: readonly Shown[] } => {
    let sum = 0n
    for (const amount of amounts) sum += amount
    const row = running[measure].next(sum)
    seen[measure] += row
    return { row, parts: divideTotal(row, amounts, units[measure]) }
  }
  return {
    itemOf: ({ modes }: ObjectUsage, members: string): string => {
      const cpu = divided(
        'cpu',
        modes.map(({ milliCpuSeconds }) => milliCpuSeconds),
      )
      const memory = divided(
        'memory',
        modes.map(({ mebibyteSeconds }) => mebibyteSeconds),
      )
      let segments = ''
      for (const [index, { from, to, mode }] of modes.entries()) {
        segments += `${index === 0 ? '' : ','}{"from":${instantText(from)},"to":${instantText(to)},"mode":"${mode}","cpu":${numberText(cpu.parts[index] ?? 0)},"memory":${numberText(memory.parts[index] ?? 0)}}`
      }
      return `{${members},"cpu":${numberText(cpu.row)},"memory":${numberText(memory.row)},"segments":[${segments}]}`
    },
    totals: (): string => `"cpu":${numberText(seen.cpu)},"memory":${numberText(seen.memory)}`,
  }
}
