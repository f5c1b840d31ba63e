import { left, right } from 'fp-ts/lib/Either.js'
import type { ClusterId, AccountId } from '../kernel/ids.ts'
import type { SecretBox, SealedPlace } from '../kernel/secret.ts'
import { ClusterMissing, ClusterNotConnected, type ClusterConnections, type ClusterStore, type CredentialCodec } from './ports.ts'
import type { ClusterConnection, ClusterLink } from './types.ts'

/** What a cluster's sealed credential is bound to. */
export const credentialPlace = (ownerId: AccountId, ref: string): SealedPlace => ({
  table: 'clusters',
  column: 'sealed_credential',
  tenantId: ownerId,
  rowRef: ref,
})

/** Opened credentials kept at most, so that memory stays bounded. */
const maxOpened = 2000

/** Keeps opened credentials by record and version; the version is read anew for every request. */
export const makeClusterConnections = (deps: {
  readonly clusters: Pick<ClusterStore, 'link' | 'sealed'>
  readonly secretBox: SecretBox
  readonly codec: CredentialCodec
}): ClusterConnections => {
  const opened = new Map<ClusterId, ClusterConnection>()

  const keep = (connection: ClusterConnection): void => {
    const oldest = opened.size < maxOpened ? undefined : opened.keys().next().value
    if (oldest !== undefined) opened.delete(oldest)
    opened.set(connection.link.id, connection)
  }

  const openSealed = async (link: ClusterLink): Promise<ClusterConnection | undefined> => {
    const sealed = await deps.clusters.sealed(link.id, link.version)
    if (sealed === undefined) return undefined
    const text = await deps.secretBox.open(sealed.box, credentialPlace(sealed.ownerId, sealed.ref))
    const connection = { link, credential: deps.codec.decode(text) }
    keep(connection)
    return connection
  }

  return {
    async open(id, version) {
      const known = opened.get(id)
      if (version !== undefined && known?.link.version === version) return right(known)
      const link = await deps.clusters.link(id)
      if (link === undefined) {
        opened.delete(id)
        return left(ClusterMissing('There is no such cluster.'))
      }
      const kept = opened.get(id)
      if (kept?.link.version === link.version) return right(kept)
      const connection = await openSealed(link)
      return connection === undefined
        ? left(ClusterNotConnected('The cluster is not connected: store an access config for it first.'))
        : right(connection)
    },
  }
}
