import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { clientConfig } from '../../core/clusters/client-config.ts'
import type { makeChangeCluster, makeListUserClusters, makeRemoveCluster } from '../../core/clusters/clusters.ts'
import { nameMismatch } from '../../core/clusters/clusters.ts'
import type { makeCheckCluster, makeImportCluster, makeValidateImport } from '../../core/clusters/imports.ts'
import type { ClusterStore, PublicAddress } from '../../core/clusters/ports.ts'
import { ClusterMismatch, ClusterMissing } from '../../core/clusters/ports.ts'
import type { RefreshStatus } from '../../core/clusters/status.ts'
import type { Cluster } from '../../core/clusters/types.ts'
import type { ClusterTokens } from '../../core/identity/tokens/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import { mapPage, pageOffset } from '../../core/kernel/page.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import {
  connectWish,
  providerNamed,
  reconfigureWish,
  toClaim,
  toClusterInfo,
  toClusterInfoModel,
  toValidationResponse,
  updateWish,
} from './cluster-wire.ts'
import {
  checkCluster,
  clusterExists,
  connectCluster,
  consoleListClusters,
  getClientConfig,
  getCluster,
  getClusterStatus,
  importCluster,
  listOwnerClusters,
  listUserClusters,
  reconfigureCluster,
  removeCluster,
  updateCluster,
  validateImport,
} from './clusters.routes.ts'

export interface ClusterHandlers {
  readonly clusters: ClusterStore
  readonly clock: Clock
  readonly kubernetesUrl: PublicAddress['kubernetesUrl']
  readonly clusterTokens: ClusterTokens
  readonly check: ReturnType<typeof makeCheckCluster>
  readonly validate: ReturnType<typeof makeValidateImport>
  readonly importOne: ReturnType<typeof makeImportCluster>
  readonly change: ReturnType<typeof makeChangeCluster>
  readonly remove: ReturnType<typeof makeRemoveCluster>
  readonly refresh: RefreshStatus
  readonly listOfUser: ReturnType<typeof makeListUserClusters>
}

const idOf = (grant: AccessGrant): ClusterId => grant.objectId as ClusterId
const ownerOf = (grant: AccessGrant) => ({ name: grant.objectName, isOrganization: grant.orgId !== undefined })

const shownBy =
  ({ clock }: Pick<ClusterHandlers, 'clock'>) =>
  (cluster: Cluster) =>
    toClusterInfoModel(cluster, clock.now())

/** Returns the whole list, or the requested page of it. Paging parameters are read as leniently as in other lists. */
const slice = <A>(items: readonly A[], asked: string | undefined, page: PageRequest): readonly A[] =>
  asked === undefined || !(Number(asked) >= 1) ? items : items.slice(pageOffset(page), pageOffset(page) + page.limit)

const ownerRoutes = (h: ClusterHandlers): readonly BoundRoute[] => [
  handle(listUserClusters, async ({ call, query }) => {
    const found = await h.listOfUser(call, query.all === 'true')
    return right(found.map((cluster) => toClusterInfo(cluster, h.clock.now())))
  }),
  handle(listOwnerClusters, async ({ grant, query, page }) => {
    const provider = providerNamed(query.provider)
    const isUnknown = (query.provider ?? '') !== '' && provider === undefined
    const found = isUnknown ? [] : await h.clusters.listOf(grant.ownerId, provider)
    return right(slice(found, query.limit, page).map((cluster) => toClusterInfo(cluster, h.clock.now())))
  }),
  handle(clusterExists, async ({ grant, params }) => right({ exist: (await h.clusters.find(grant.ownerId, params.cluster)) !== undefined })),
  handle(checkCluster, async ({ call, grant, body }) => {
    const checked = await h.check(call, toClaim(grant, body), ownerOf(grant))
    return map((cluster: Parameters<typeof toClusterInfoModel>[0]) => toClusterInfoModel(cluster, h.clock.now()))(checked)
  }),
  handle(validateImport, async ({ call, grant, body }) => {
    const claim = toClaim(grant, body)
    const judged = await h.validate(call, claim)
    return isLeft(judged) ? judged : right(toValidationResponse(judged.right, claim, grant.orgId !== undefined))
  }),
  handleChange(importCluster, shownBy(h), ({ call, grant, body }) => h.importOne(call, toClaim(grant, body))),
]

const clusterRoutes = (h: ClusterHandlers): readonly BoundRoute[] => [
  handle(getCluster, async ({ grant }) => {
    const found = await h.clusters.get(idOf(grant))
    return found === undefined ? left(ClusterMissing('There is no such cluster.')) : right(toClusterInfoModel(found, h.clock.now()))
  }),
  handleChange(updateCluster, shownBy(h), ({ call, grant, body }) => h.change(call, idOf(grant), updateWish(body))),
  handle(getClientConfig, async ({ call, grant, query, makesToken }) => {
    const found = await h.clusters.get(idOf(grant))
    if (found === undefined) return left(ClusterMissing('There is no such cluster.'))
    if (makesToken !== true) return right(clientConfig(h.kubernetesUrl(call), found))
    const made = await h.clusterTokens.issue(call, { ...found, maxTokenLifeDays: grant.context.entry?.maxTokenLifeDays ?? 0 }, query.expirationSeconds)
    if (isLeft(made)) return made
    const { value, expiresAt } = made.right
    return right(clientConfig(h.kubernetesUrl(call), found, { token: value.reveal(), expiresAt }))
  }),
  handle(getClusterStatus, async ({ grant }) => {
    const seen = await h.refresh(idOf(grant))
    return isLeft(seen) ? seen : right(toClusterInfoModel(seen.right, h.clock.now()))
  }),
  handleChange(connectCluster, shownBy(h), async ({ call, grant, body }) => {
    const wish = connectWish(body)
    if (isLeft(wish)) return wish
    const mismatch = nameMismatch(grant.objectName, wish.right.name)
    if (mismatch !== undefined) return left(ClusterMismatch(mismatch))
    return wish.right.accessConfig === undefined ? h.refresh(idOf(grant), { evenIfFresh: true }) : h.change(call, idOf(grant), wish.right)
  }),
  handleChange(
    reconfigureCluster,
    (cluster: Cluster) => ({ ...shownBy(h)(cluster) }),
    ({ call, grant, body }) => h.change(call, idOf(grant), reconfigureWish(body)),
  ),
  handle(removeCluster, ({ call, grant, body }) => h.remove(call, idOf(grant), body.name)),
]

export const clusterHandlers = (h: ClusterHandlers): readonly BoundRoute[] => [...ownerRoutes(h), ...clusterRoutes(h)]

/** The routes by which a site admin reads all clusters. */
export const clusterAdminRoutes = ({ clusters, clock }: { readonly clusters: ClusterStore; readonly clock: Clock }): readonly BoundRoute[] => [
  handle(consoleListClusters, async ({ page }) =>
    right(mapPage(await clusters.listAll(page), (cluster) => toClusterInfo(cluster, clock.now()))),
  ),
]
