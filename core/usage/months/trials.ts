import { toWireJson } from '../../kernel/json.ts'
import { getOrMake } from '../../kernel/cache.ts'
import type { TrialClaim, UnixSeconds, UsageClusterId, UsageObjectId, UsageProduct } from '../types.ts'
import { coveragesOf } from './coverage.ts'
import type { OwnerFacts } from './ports.ts'
import type { Coverage } from './segments.ts'
import { coverageAt } from './segments.ts'

/** An object that is made again under its name is the same one to its users. */
const identityOf = ({ clusterId, product, group, kind, namespace, name }: TrialClaim): string =>
  toWireJson([clusterId, product, group, kind, namespace, name])

const inOrder = (a: TrialClaim, b: TrialClaim): number =>
  a.createdAt - b.createdAt || a.clusterId - b.clusterId || (a.uid < b.uid ? -1 : 1)

/**
 * Returns the objects that are trials. An object is one if the terms that covered its product on its cluster when it
 * was created allow trials, if no object was a trial before under its kind, namespace and name in the cluster, and if
 * the contract has not had as many trials as its terms allow then. The result does not depend on the order in which
 * objects were reported.
 */
export const trialsOf = ({
  clusters,
  contracts,
  trialClaims,
}: Pick<OwnerFacts, 'clusters' | 'contracts' | 'trialClaims'>): ReadonlySet<UsageObjectId> => {
  const trials = new Set<UsageObjectId>()
  const identities = new Set<string>()
  const counts = new Map<number, number>()
  const known = new Map<string, readonly Coverage[]>()
  const bindings = new Map(clusters.map((cluster) => [cluster.id, cluster.bindings]))
  const coverages = (clusterId: UsageClusterId, product: UsageProduct): readonly Coverage[] =>
    getOrMake(known, `${clusterId} ${product}`, () => coveragesOf(contracts, bindings.get(clusterId) ?? [], product))
  for (const claim of trialClaims.toSorted(inOrder)) {
    const { contractId, termsNumber } = coverageAt(coverages(claim.clusterId, claim.product), claim.createdAt) ?? {}
    const terms =
      contractId === undefined
        ? undefined
        : contracts.find(({ id }) => id === contractId)?.timeline.find(({ number }) => number === termsNumber)
    if (contractId === undefined || terms === undefined || !terms.allowsTrials) continue
    const count = counts.get(contractId) ?? 0
    const identity = identityOf(claim)
    if (count >= terms.maxTrials || identities.has(identity)) continue
    counts.set(contractId, count + 1)
    identities.add(identity)
    trials.add(claim.objectId)
  }
  return trials
}

/** Returns an object with the end of its trial only if it is one. */
export const withTrial = <O extends { readonly id: UsageObjectId; readonly trialEndsAt: UnixSeconds | undefined }>(
  object: O,
  trials: ReadonlySet<UsageObjectId>,
): O => (object.trialEndsAt === undefined || trials.has(object.id) ? object : { ...object, trialEndsAt: undefined })
