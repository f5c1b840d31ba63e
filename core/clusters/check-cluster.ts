import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ClusterId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { checkClusterName } from './cluster-name.ts'
import type { Identified, Identify, IdentifyFailure } from './identify.ts'
import { agrees, candidate, type ClusterClaim } from './import-cluster.ts'
import { judge, notImported } from './phase.ts'
import type { ClusterStore } from './ports.ts'
import type { Cluster } from './types.ts'

export type CheckFailure = IdentifyFailure | Failure<'ClusterMismatch'>

/** The owner's account as the answer shows it. */
export interface ClaimOwner {
  readonly name: string
  readonly isOrganization: boolean
}

interface Deps {
  readonly identify: Identify
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid'>
  readonly clock: Clock
}

const identifyClaim = async (deps: Deps, call: SignedInCall, claim: ClusterClaim): Outcome<CheckFailure, Identified> => {
  const own = agrees({ ...claim, claimedUid: undefined }, '')
  if (isLeft(own)) return own
  const identified = await deps.identify(claim.accessConfig, call.signal)
  if (isLeft(identified)) return identified
  const agreed = agrees(claim, identified.right.facts.uid)
  return isLeft(agreed) ? agreed : identified
}

/** Looks at a cluster without recording it: the owner's record of it, or what would be recorded (phase NotImported, id 0). */
export const makeCheckCluster = (deps: Deps) =>
  async (call: SignedInCall, claim: ClusterClaim, owner: ClaimOwner): Outcome<CheckFailure, Cluster> => {
    const identified = await identifyClaim(deps, call, claim)
    if (isLeft(identified)) return identified
    const { facts } = identified.right
    const known = await deps.clusters.findByUid(claim.ownerId, facts.uid)
    if (known !== undefined) return right({ ...known, status: judge(known.uid, { kind: 'answered', facts }) })
    return right({
      ...candidate(claim, claim.name ?? '', identified.right, deps.clock.now()),
      id: 0 as ClusterId,
      ownerName: owner.name,
      ownerIsOrganization: owner.isOrganization,
      status: notImported,
      hasCredential: false,
      importedBy: undefined,
      version: 0,
    })
  }

/** Whether one field of a claim can be imported, and if not, why. */
export interface FieldJudgement {
  readonly valid: boolean
  readonly reason: string
}

export interface ImportJudgement {
  readonly alreadyImported: boolean
  readonly name: FieldJudgement
  readonly uid: FieldJudgement
  readonly message: string
  readonly identified: Identified
}

const valid: FieldJudgement = { valid: true, reason: '' }
const invalid = (reason: string): FieldJudgement => ({ valid: false, reason })

/** Judges a claim field by field, for a form that is still being filled in. Records nothing. */
export const makeValidateImport = (deps: Deps) =>
  async (call: SignedInCall, claim: ClusterClaim): Outcome<CheckFailure, ImportJudgement> => {
    const identified = await identifyClaim(deps, call, claim)
    if (isLeft(identified)) return identified
    const named = checkClusterName(claim.name ?? '')
    const [sameName, sameUid] = await Promise.all([
      isLeft(named) ? undefined : deps.clusters.find(claim.ownerId, named.right),
      deps.clusters.findByUid(claim.ownerId, identified.right.facts.uid),
    ])
    const name = isLeft(named)
      ? invalid(named.left.message)
      : sameName === undefined
        ? valid
        : invalid(`There is already a cluster named ${sameName.name}.`)
    const uid = sameUid === undefined ? valid : invalid(`This cluster is already imported as ${sameUid.name}.`)
    return right({
      alreadyImported: sameUid !== undefined,
      name,
      uid,
      message: name.valid && uid.valid ? 'The cluster can be imported.' : [name.reason, uid.reason].filter((reason) => reason !== '').join(' '),
      identified: identified.right,
    })
  }
