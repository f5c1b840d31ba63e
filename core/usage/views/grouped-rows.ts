import { toWireJson } from '../../kernel/json.ts'
import { getOrMake } from '../../kernel/cache.ts'
import { daysOfMonth, secondOf } from '../month.ts'
import type { ClusterInMonth, ContractInMonth, DayUsage, ObjectUsage, ProductMonth } from '../usage-types.ts'
import type { Amounts, Rounding, ShownAmounts } from './measures.ts'
import { addAmounts, addUse, billedShown, makeRunningShares, noAmounts, numberText, totalShown } from './measures.ts'
import { kindsOfClusters } from './ports.ts'
import type { RowsGiven, RowsOfUse, TypedView } from './view-writer.ts'
import { instantText, startBoth, stringText } from './view-writer.ts'

const secondsOfHour = 3600n

interface Used {
  objectCount: number
  readonly sum: Amounts
}
interface KindInCluster extends Used {
  readonly group: string
  readonly kind: string
  readonly contracts: Map<number, Used>
}
interface NamespaceInCluster extends Used {
  readonly namespace: string
  readonly namespaceUid: string
}

const nothing = (): Used => ({ objectCount: 0, sum: noAmounts() })
const sortedBy = <A>(map: ReadonlyMap<string, A>): readonly A[] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)

/**
 * The views of clusters and, with `hasNamespaces`, of namespaces. A cluster is written once its last object was read.
 */
export const makeClusterRows = async ({
  views,
  monthId,
  month,
  rounding,
  hasNamespaces,
}: RowsGiven & { readonly hasNamespaces: boolean }): Promise<RowsOfUse> => {
  const clusters = await startBoth(views, monthId, month, 'clusters-usage-view')
  const namespaces = hasNamespaces ? await startBoth(views, monthId, month, 'namespaces-usage-view') : []
  const clusterShares = rounding.rows()
  const namespaceShares = rounding.rows()
  const heard = month.clusters.map(({ heardSeconds }) => BigInt(heardSeconds))
  const hours = totalShown(heard, secondsOfHour)
  const hourShares = makeRunningShares(
    heard.reduce((sum, each) => sum + each, 0n),
    hours,
    secondsOfHour,
  )
  let objectCount = 0
  let cluster: (ReturnType<typeof emptyCluster> & { readonly about: ClusterInMonth }) | undefined

  const writeNamespaces = async (): Promise<void> => {
    const clientOrgs = new Map(
      cluster?.about.clientNamespaces.map(({ namespaceUid, clientOrg }) => [namespaceUid, clientOrg]),
    )
    for (const row of sortedBy(cluster?.namespaces ?? new Map<string, NamespaceInCluster>())) {
      const shown = namespaceShares.next(row.sum)
      const uid = cluster?.about.clusterUid ?? ''
      const named = `{"clusterUID":${stringText(uid)},"namespace":${stringText(row.namespace)},"namespaceUID":${stringText(row.namespaceUid)},"clientOrg":${stringText(clientOrgs.get(row.namespaceUid) ?? '')},"objectCount":${row.objectCount},`
      for (const { text, writer } of namespaces) await writer.add(`${named}${text(shown)}}`, `${uid}/`)
    }
  }
  return {
    startCluster: (about) => void (cluster = { ...emptyCluster(), about }),
    add: (usage, amounts, parts) => {
      if (cluster === undefined) throw new Error('The object has no cluster.')
      objectCount += 1
      cluster.used.objectCount += 1
      addAmounts(cluster.used.sum, amounts)
      addObject(cluster.kinds, usage, amounts, parts)
      const { namespace, namespaceUid } = usage.object
      const row = getOrMake(cluster.namespaces, `${namespace}\n${namespaceUid}`, () => ({
        namespace,
        namespaceUid,
        ...nothing(),
      }))
      row.objectCount += 1
      addAmounts(row.sum, amounts)
      return undefined
    },
    endCluster: async () => {
      if (cluster === undefined) return
      const { about, used, kinds } = cluster
      const shown = clusterShares.next(used.sum)
      const clusterHours = numberText(hourShares.next(BigInt(about.heardSeconds)))
      const parts = dividedKinds(rounding, shown, sortedBy(kinds))
      for (const { text, writer } of clusters)
        await writer.add(
          `{${aboutText(about)},"clusterHours":${clusterHours},"objectCount":${used.objectCount},${text(shown)},"kinds":[${parts.map((part) => kindText(part, text)).join(',')}]}`,
          `${about.clusterUid}/`,
        )
      if (hasNamespaces) await writeNamespaces()
      cluster = undefined
    },
    finish: async () => {
      for (const { text, writer } of clusters)
        await writer.finish(`${text(rounding.totals)},"clusterHours":${numberText(hours)},"objectCount":${objectCount}`)
      for (const { text, writer } of namespaces)
        await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

const emptyCluster = () => ({
  used: nothing(),
  kinds: new Map<string, KindInCluster>(),
  namespaces: new Map<string, NamespaceInCluster>(),
})

const addObject = (
  kinds: Map<string, KindInCluster>,
  { object: { group, kind } }: ObjectUsage,
  amounts: readonly bigint[],
  parts: ObjectUsage['parts'],
): void => {
  const row = getOrMake(kinds, `${group}\n${kind}`, () => ({
    group,
    kind,
    contracts: new Map<number, Used>(),
    ...nothing(),
  }))
  row.objectCount += 1
  addAmounts(row.sum, amounts)
  addByContract(parts, (contractId) => getOrMake(row.contracts, contractId, nothing))
}

/** Adds the parts of an object, which are few, to the rows of their contracts. */
const addByContract = (parts: ObjectUsage['parts'], rowOf: (contractId: number) => Used): void => {
  for (const [index, part] of parts.entries()) {
    const row = rowOf(part.contractId)
    addUse(row.sum, part.use, part)
    if (parts.findIndex(({ contractId }) => contractId === part.contractId) === index) row.objectCount += 1
  }
}

/** Returns what is shown of the kinds of a cluster, and of the contracts of each. */
const dividedKinds = (rounding: Rounding, row: ShownAmounts, kinds: readonly KindInCluster[]) => {
  const shown = rounding.parts(
    row,
    kinds.map(({ sum }) => sum),
  )
  return kinds.map((kind, index) => {
    const own = shown[index] ?? []
    const contracts = [...kind.contracts].sort(([a], [b]) => a - b)
    const parts = rounding.parts(
      own,
      contracts.map(([, { sum }]) => sum),
    )
    return {
      kind,
      shown: own,
      contracts: contracts.map(([contractId, { objectCount }], at) => ({
        contractId,
        objectCount,
        shown: parts[at] ?? [],
      })),
    }
  })
}

const kindText = (
  { kind: { group, kind, objectCount }, shown, contracts }: ReturnType<typeof dividedKinds>[number],
  text: (shown: ShownAmounts) => string,
): string => {
  const parts = contracts.map(
    (part) => `{"contractID":${part.contractId},"objectCount":${part.objectCount},${text(part.shown)}}`,
  )
  return `{"group":${stringText(group)},"kind":${stringText(kind)},"objectCount":${objectCount},${text(shown)},"contracts":[${parts.join(',')}]}`
}

const aboutText = ({ clusterUid, displayName, modes, contractIds }: ClusterInMonth): string => {
  const history = modes.map(
    ({ from, to, mode }) => `{"from":${instantText(from)},"to":${instantText(to)},"mode":"${mode}"}`,
  )
  return `"clusterUID":${stringText(clusterUid)},"displayName":${stringText(displayName)},"modes":[${history.join(',')}],"contractIDs":[${contractIds.join(',')}]`
}

/** The views of contracts. What was used without a contract is in the item of contract 0. */
export const makeContractRows = async ({ views, monthId, month, rounding }: RowsGiven): Promise<RowsOfUse> => {
  const used = new Map<number, { objectCount: number; readonly sum: Amounts }>()
  const rowOf = (id: number) => getOrMake(used, id, () => ({ objectCount: 0, sum: noAmounts() }))
  let objectCount = 0
  return {
    add: (_usage, _amounts, parts) => {
      objectCount += 1
      addByContract(parts, rowOf)
      return undefined
    },
    finish: async () => {
      const writers = await startBoth(views, monthId, month, 'contracts-usage-view')
      const contracts = new Map(month.contracts.map((contract) => [contract.id, contract]))
      const ids = [...new Set([...contracts.keys(), ...used.keys()])].sort((a, b) => a - b)
      const rows = rounding.rows()
      for (const id of ids) {
        const row = rowOf(id)
        const shown = rows.next(row.sum)
        const named = `{"contractID":${id},${contractText(contracts.get(id))},"quota":${quotaText(contracts.get(id), shown)},"terms":${termsText(contracts.get(id))},"objectCount":${row.objectCount},`
        for (const { text, writer } of writers) await writer.add(`${named}${text(shown)}}`, '')
      }
      for (const { text, writer } of writers)
        await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

const termsText = (contract: ContractInMonth | undefined): string => {
  const each = (contract?.terms ?? []).map(
    ({ number, from, to, product, features, startsAt, endsAt, quota }) =>
      `{"number":${number},"from":${instantText(from)},"to":${instantText(to)},"product":${stringText(product)},"features":${toWireJson(features)},"start":${instantText(secondOf(startsAt))},"end":${instantText(secondOf(endsAt))},"quota":${toWireJson(quota ?? null)}}`,
  )
  return `[${each.join(',')}]`
}

const contractText = (contract: ContractInMonth | undefined): string =>
  contract === undefined
    ? '"name":"","product":"","features":[],"start":null,"end":null'
    : `"name":${stringText(contract.name)},"product":${stringText(contract.product)},"features":[${contract.features.map(stringText).join(',')}],"start":${instantText(contract.from)},"end":${instantText(contract.to)}`

/**
 * What is billed counts against the quota; trials and use without a contract do not. It is the sum of what is shown of
 * the classes that are billed.
 */
const quotaText = (contract: ContractInMonth | undefined, shown: ShownAmounts): string => {
  if (contract?.quota === undefined) return 'null'
  const { metric, limit } = contract.quota
  const billed = billedShown(shown, metric === 'cpu_core_month' ? 'cpu' : 'memory')
  const usedPercent = limit > 0 ? Math.round((billed / limit) * 100) / 1000 : 0
  const excess = Math.max(0, billed - Math.round(limit * 1000))
  return `{"metric":"${metric}","limit":${limit},"billed":${numberText(billed)},"excess":${numberText(excess)},"usedPercent":${usedPercent}}`
}

/** The objects of one kind, in one cluster or in all of them. */
interface KindRow {
  readonly group: string
  readonly kind: string
  objectCount: number
  readonly sum: Amounts
  /** Of each day of the month. */
  readonly days: readonly Amounts[]
}

/**
 * The views of kinds: of all clusters together, and of each cluster for the filter by cluster. A cluster is written
 * once its last object was read.
 */
export const makeKindRows = async ({ views, monthId, month, rounding }: RowsGiven): Promise<RowsOfUse> => {
  const all = makeKindTable(month.month)
  for (const day of month.days) all.addDay(day)
  const ofClusters = await startBoth(views, monthId, month, kindsOfClusters)
  const clusterShares = rounding.rows()
  let cluster = { uid: '', table: makeKindTable(month.month) }
  let objectCount = 0
  const write = async (
    writers: readonly TypedView[],
    shares: ReturnType<Rounding['rows']>,
    rows: readonly KindRow[],
    clusterUid?: string,
  ): Promise<void> => {
    for (const row of rows) {
      const shown = shares.next(row.sum)
      const days = rounding.parts(shown, row.days)
      const named = clusterUid === undefined ? '{' : `{"clusterUID":${stringText(clusterUid)},`
      for (const { text, writer } of writers)
        await writer.add(named + itemText(row, shown, days, text), clusterUid === undefined ? '' : `${clusterUid}/`)
    }
  }
  return {
    startCluster: ({ clusterUid }) => void (cluster = { uid: clusterUid, table: makeKindTable(month.month) }),
    add: ({ object: { group, kind } }) => {
      objectCount += 1
      all.rowOf(group, kind).objectCount += 1
      cluster.table.rowOf(group, kind).objectCount += 1
      return undefined
    },
    endCluster: async () => {
      for (const day of await month.daysOf(cluster.uid)) cluster.table.addDay(day)
      await write(ofClusters, clusterShares, cluster.table.sorted(), cluster.uid)
    },
    finish: async () => {
      const ofAll = await startBoth(views, monthId, month, 'gks-usage-view')
      await write(ofAll, rounding.rows(), all.sorted())
      for (const { text, writer } of [...ofAll, ...ofClusters])
        await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

const itemText = (
  { group, kind, objectCount }: KindRow,
  shown: ShownAmounts,
  days: ReturnType<Rounding['parts']>,
  text: (shown: ShownAmounts) => string,
): string =>
  `"group":${stringText(group)},"kind":${stringText(kind)},"objectCount":${objectCount},${text(shown)},"matrix":[${days.map((day) => `{${text(day)}}`).join(',')}]}`

const makeKindTable = (month: ProductMonth['month']) => {
  const rows = new Map<string, KindRow>()
  const rowOf = (group: string, kind: string): KindRow =>
    getOrMake(rows, `${group}\n${kind}`, () => ({
      group,
      kind,
      objectCount: 0,
      sum: noAmounts(),
      days: Array.from({ length: daysOfMonth(month) }, noAmounts),
    }))
  return {
    rowOf,
    addDay: (usage: DayUsage): void => {
      const { sum, days } = rowOf(usage.group, usage.kind)
      const used = noAmounts()
      addUse(used, usage.use, usage)
      addAmounts(sum, used)
      const day = days[usage.day - 1]
      if (day === undefined) throw new RangeError(`The month ${month} has no day ${usage.day}.`)
      addAmounts(day, used)
    },
    sorted: (): readonly KindRow[] => [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
  }
}
