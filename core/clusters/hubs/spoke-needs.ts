import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { at, isSameJson, toWireJson } from '../../kernel/json.ts'
import type { HubKind, HubObject, Hubs, SpokeIdentity, SpokeSupplies } from './ports.ts'
import {
  claimedUid,
  clusterClaimKind,
  clusterRoleKind,
  distribution,
  isAccepted,
  isIdentified,
  isMadeByUs,
  managedByLabel,
  managedByValue,
  uidClaim,
  workRoleName,
} from '../hub-types.ts'

/** The operator of the agents adds the rules of cluster roles with this label to the rights of the work agent. */
const workRoleLabel = 'open-cluster-management.io/aggregate-to-work'

/** Feature sets contain releases of Flux. The role `admin`, which the work agent has, does not contain them. */
const workRules = [
  {
    apiGroups: ['helm.toolkit.fluxcd.io'],
    resources: ['helmreleases'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
]

/** Returns the value of the claim with the identity of a spoke. JSON is YAML. */
const infoClaimValue = ({ uid, name, managers }: SpokeIdentity): string =>
  toWireJson({ clusterMetadata: { uid, name, clusterManagers: [...new Set([...managers, 'OCMSpoke'])] } })

interface Need {
  readonly kind: HubKind
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  /** The part of the object that this service owns, by its key. */
  readonly key: 'spec' | 'rules'
  readonly content: Json
}

const needsOf = (identity: SpokeIdentity): readonly Need[] => [
  { kind: clusterRoleKind, name: workRoleName, labels: { [workRoleLabel]: 'true' }, key: 'rules', content: workRules },
  { kind: clusterClaimKind, name: uidClaim, key: 'spec', content: { value: identity.uid } },
  { kind: clusterClaimKind, name: distribution.infoClaim, key: 'spec', content: { value: infoClaimValue(identity) } },
]

const contentOf = ({ labels, key, content }: Need): FreeObject => ({
  metadata: { labels: { ...labels, [managedByLabel]: managedByValue } },
  [key]: content,
})

/** An object that this service has made gets the wanted content; one of another program stays. */
const renewed = (need: Need) => (found: HubObject) =>
  right(
    isMadeByUs(found) && !isSameJson(at(found.body, need.key), need.content) ? { merge: contentOf(need) } : undefined,
  )

const write: SpokeSupplies['write'] = async (spoke, identity) => {
  for (const need of needsOf(identity)) {
    const { kind, name } = need
    const created = await spoke.create(kind, { name }, contentOf(need))
    if (isLeft(created) && created.left.tag === 'NotAHub') continue
    if (isLeft(created)) return created
    const kept =
      created.right === 'exists' ? await spoke.edit(kind, { name }, renewed(need)) : right('unchanged' as const)
    if (isLeft(kept)) return kept
  }
  return right(undefined)
}

/** Writes to spokes as `SpokeSupplies` describes. */
export const makeSpokeSupplies = ({
  authorizer,
  hubs,
}: {
  readonly authorizer: Authorizer
  readonly hubs: Hubs
}): SpokeSupplies => ({
  write,
  async supply(call, record, managed) {
    if (
      !record.hasCredential ||
      record.uid === '' ||
      !isAccepted(managed) ||
      managed.isDeleting ||
      isIdentified(managed)
    )
      return false
    if (!['', record.uid].includes(claimedUid(managed))) return false
    const grant = await authorizer.authorize(
      call.principal,
      { type: 'cluster', account: record.ownerName, name: record.name },
      'can_view',
    )
    if (isLeft(grant) || grant.right.objectId !== record.id) return false
    const spoke = await hubs.openSpoke(call, grant.right)
    if (isLeft(spoke)) return false
    return !isLeft(await write(spoke.right, { uid: record.uid, name: managed.name, managers: record.managers }))
  },
})
