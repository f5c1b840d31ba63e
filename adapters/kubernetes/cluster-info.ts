import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { CORE_SCHEMA, load } from 'js-yaml'
import type { ClusterInfoReader } from '../../core/clusters/hubs/ports.ts'
import { readPem, readServer } from './kubeconfig.ts'

/** In characters. A kubeconfig of one cluster is about 3 KB. */
const maxLength = 256 * 1024
const File = t.type({ clusters: t.array(t.type({ cluster: t.record(t.string, t.unknown) })) })

const loaded = (text: string): unknown => {
  try {
    return load(text, { schema: CORE_SCHEMA, maxAliases: 10, maxDepth: 50 })
  } catch {
    return undefined
  }
}

/** Reads published kubeconfigs as `ClusterInfoReader` describes. */
export const clusterInfoReader: ClusterInfoReader = {
  addressOf(kubeconfig) {
    const file = kubeconfig.length > maxLength ? File.decode(undefined) : File.decode(loaded(kubeconfig))
    const cluster = isLeft(file) ? undefined : file.right.clusters[0]?.cluster
    if (cluster === undefined) return undefined
    const [server, authority] = [readServer(cluster['server']), readPem(cluster, 'certificate-authority-data')]
    return isLeft(server) ? undefined : { server: server.right, authorityPem: isLeft(authority) ? undefined : authority.right }
  },
}
