import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../core/clusters/ports.ts'

/** What charts ask a cluster about, beside objects. */
export interface Capabilities {
  readonly kubeVersion: string
  /** `apps/v1` and `apps/v1/Deployment`. */
  readonly apiVersions: readonly string[]
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'
/** An argument list has its bounds. */
const mostApiVersions = 6_000
const longestWord = 253
const discoveryLimitBytes = 16 * 1024 * 1024

const isWord = (text: string): boolean => text.length <= longestWord && /^[A-Za-z0-9][A-Za-z0-9./-]*$/.test(text)

/** What a cluster answers may have any shape: what is not there is undefined. */
const at = (value: unknown, key: string): unknown => (typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined)
const listAt = (value: unknown, key: string): readonly unknown[] => {
  const list = at(value, key)
  return Array.isArray(list) ? list : []
}

/** From an APIGroupDiscoveryList. */
const versionsIn = (discovery: unknown): readonly string[] =>
  listAt(discovery, 'items').flatMap((item) => {
    const group = at(at(item, 'metadata'), 'name')
    return listAt(item, 'versions').flatMap((each) => {
      const version = at(each, 'version')
      if (typeof version !== 'string') return []
      const groupVersion = typeof group === 'string' && group !== '' ? `${group}/${version}` : version
      const kinds = listAt(each, 'resources').flatMap((resource) => {
        const kind = at(at(resource, 'responseKind'), 'kind')
        return typeof kind === 'string' ? [`${groupVersion}/${kind}`] : []
      })
      return [groupVersion, ...new Set(kinds)]
    })
  })

/** Version and kinds of a cluster, as the caller sees them; undefined when it does not tell. */
export const capabilitiesOf = async (cluster: MemberCluster, signal: AbortSignal): Promise<Capabilities | undefined> => {
  const ask = async (target: string, accept: string): Promise<unknown> => {
    const answer = await cluster.request({ method: 'GET', target, headers: [['accept', accept]], limitBytes: discoveryLimitBytes }, signal)
    return isLeft(answer) || answer.right.status !== 200 ? undefined : answer.right.json
  }
  const [version, core, groups] = await Promise.all([ask('/version', 'application/json'), ask('/api', aggregated), ask('/apis', aggregated)])
  const kubeVersion = at(version, 'gitVersion')
  if (typeof kubeVersion !== 'string' || !/^v?\d+\.\d+[0-9A-Za-z.+-]{0,60}$/.test(kubeVersion)) return undefined
  const apiVersions = [core, groups].flatMap(versionsIn).filter(isWord)
  return { kubeVersion, apiVersions: apiVersions.slice(0, mostApiVersions) }
}
