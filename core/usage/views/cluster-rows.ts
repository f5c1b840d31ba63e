import type { ClusterInMonth, ObjectUsage } from '../months/usage-types.ts'
import { instantText, stringText } from './item-texts.ts'
import type { Amounts, Rounding, ShownAmounts } from './measures.ts'
import { addAmounts, addUse, noAmounts, numberText } from './measures.ts'
import type { RowsGiven, RowsOfMonth } from './rows-of-month.ts'
import { makeRunningShares, totalShown } from './shares.ts'
import { startBoth } from './view-writer.ts'

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
const sortedBy = <A>(map: ReadonlyMap<string, A>): readonly A[] => [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)

const found = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The views of clusters and, with `hasNamespaces`, of namespaces. A cluster is written once its last object was read. */
export const makeClusterRows = async ({ views, monthId, month, rounding, hasNamespaces }: RowsGiven & { readonly hasNamespaces: boolean }): Promise<RowsOfMonth> => {
  const clusters = await startBoth(views, monthId, month, 'clusters-usage-view')
  const namespaces = hasNamespaces ? await startBoth(views, monthId, month, 'namespaces-usage-view') : []
  const clusterShares = rounding.rows()
  const namespaceShares = rounding.rows()
  const heard = month.clusters.map(({ heardSeconds }) => BigInt(heardSeconds))
  const hours = totalShown(heard, secondsOfHour)
  const hourShares = makeRunningShares(heard.reduce((sum, each) => sum + each, 0n), hours, secondsOfHour)
  let objectCount = 0
  let cluster: (ReturnType<typeof emptyCluster> & { readonly about: ClusterInMonth }) | undefined

  const writeNamespaces = async (): Promise<void> => {
    for (const row of sortedBy(cluster?.namespaces ?? new Map<string, NamespaceInCluster>())) {
      const shown = namespaceShares.next(row.sum)
      const uid = cluster?.about.clusterUid ?? ''
      const named = `{"clusterUID":${stringText(uid)},"namespace":${stringText(row.namespace)},"namespaceUID":${stringText(row.namespaceUid)},"objectCount":${row.objectCount},`
      for (const { text, writer } of namespaces) await writer.add(`${named}${text(shown)}}`, `${uid}/`)
    }
  }
  return {
    startCluster: (about) => void (cluster = { ...emptyCluster(), about }),
    add: (usage, amounts) => {
      if (cluster === undefined) throw new Error('The object has no cluster.')
      objectCount += 1
      cluster.used.objectCount += 1
      addAmounts(cluster.used.sum, amounts)
      addObject(cluster.kinds, usage, amounts)
      const { namespace, namespaceUid } = usage.object
      const row = found(cluster.namespaces, `${namespace}\n${namespaceUid}`, () => ({ namespace, namespaceUid, ...nothing() }))
      row.objectCount += 1
      addAmounts(row.sum, amounts)
    },
    endCluster: async () => {
      if (cluster === undefined) return
      const { about, used, kinds } = cluster
      const shown = clusterShares.next(used.sum)
      const clusterHours = numberText(hourShares.next(BigInt(about.heardSeconds)))
      const parts = dividedKinds(rounding, shown, sortedBy(kinds))
      for (const { text, writer } of clusters) await writer.add(`{${aboutText(about)},"clusterHours":${clusterHours},"objectCount":${used.objectCount},${text(shown)},"kinds":[${parts.map((part) => kindText(part, text)).join(',')}]}`, `${about.clusterUid}/`)
      if (hasNamespaces) await writeNamespaces()
      cluster = undefined
    },
    finish: async () => {
      for (const { text, writer } of clusters) await writer.finish(`${text(rounding.totals)},"clusterHours":${numberText(hours)},"objectCount":${objectCount}`)
      for (const { text, writer } of namespaces) await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

const emptyCluster = () => ({ used: nothing(), kinds: new Map<string, KindInCluster>(), namespaces: new Map<string, NamespaceInCluster>() })

const addObject = (kinds: Map<string, KindInCluster>, { object: { group, kind }, parts }: ObjectUsage, amounts: readonly bigint[]): void => {
  const row = found(kinds, `${group}\n${kind}`, () => ({ group, kind, contracts: new Map<number, Used>(), ...nothing() }))
  row.objectCount += 1
  addAmounts(row.sum, amounts)
  for (const part of parts) addUse(found(row.contracts, part.contractId, nothing).sum, part.use, part)
  for (const contractId of new Set(parts.map((part) => part.contractId))) found(row.contracts, contractId, nothing).objectCount += 1
}

/** Returns what is shown of the kinds of a cluster, and of the contracts of each. */
const dividedKinds = (rounding: Rounding, row: ShownAmounts, kinds: readonly KindInCluster[]) => {
  const shown = rounding.parts(row, kinds.map(({ sum }) => sum))
  return kinds.map((kind, index) => {
    const own = shown[index] ?? []
    const contracts = [...kind.contracts].sort(([a], [b]) => a - b)
    const parts = rounding.parts(own, contracts.map(([, { sum }]) => sum))
    return { kind, shown: own, contracts: contracts.map(([contractId, { objectCount }], at) => ({ contractId, objectCount, shown: parts[at] ?? [] })) }
  })
}

const kindText = ({ kind: { group, kind, objectCount }, shown, contracts }: ReturnType<typeof dividedKinds>[number], text: (shown: ShownAmounts) => string): string => {
  const parts = contracts.map((part) => `{"contractID":${part.contractId},"objectCount":${part.objectCount},${text(part.shown)}}`)
  return `{"group":${stringText(group)},"kind":${stringText(kind)},"objectCount":${objectCount},${text(shown)},"contracts":[${parts.join(',')}]}`
}

const aboutText = ({ clusterUid, displayName, modes, contractIds }: ClusterInMonth): string => {
  const history = modes.map(({ from, to, mode }) => `{"from":${instantText(from)},"to":${instantText(to)},"mode":"${mode}"}`)
  return `"clusterUID":${stringText(clusterUid)},"displayName":${stringText(displayName)},"modes":[${history.join(',')}],"contractIDs":[${contractIds.join(',')}]`
}
