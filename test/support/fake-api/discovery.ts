import { apiVersionOf, type ResourceKind } from './kinds.ts'

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

const groupsOf = (kinds: readonly ResourceKind[]): readonly string[] =>
  [...new Set(kinds.map(({ group }) => group))].filter((group) => group !== '')

const versionsOf = (kinds: readonly ResourceKind[], group: string): readonly string[] => [
  ...new Set(kinds.filter((each) => each.group === group).map(({ version }) => version)),
]

const singular = ({ kind }: ResourceKind): string => kind.toLowerCase()

const groupOf = (kinds: readonly ResourceKind[], name: string): object => {
  const versions = versionsOf(kinds, name).map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions, preferredVersion: versions[0] }
}

const resourcesOf = (kinds: readonly ResourceKind[], groupVersion: string): object => ({
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion,
  resources: kinds
    .filter((each) => apiVersionOf(each) === groupVersion)
    .flatMap((each) => [
      {
        name: each.resource,
        singularName: singular(each),
        namespaced: each.isNamespaced,
        kind: each.kind,
        verbs: allVerbs,
      },
      {
        name: `${each.resource}/status`,
        singularName: '',
        namespaced: each.isNamespaced,
        kind: each.kind,
        verbs: ['get', 'patch', 'update'],
      },
    ]),
})

const aggregated = (kinds: readonly ResourceKind[], groups: readonly string[]): object => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: groups.map((group) => ({
    metadata: group === '' ? { creationTimestamp: null } : { name: group, creationTimestamp: null },
    versions: versionsOf(kinds, group).map((version) => ({
      version,
      freshness: 'Current',
      resources: kinds
        .filter((each) => each.group === group && each.version === version)
        .map((each) => ({
          resource: each.resource,
          responseKind: { group, version, kind: each.kind },
          scope: each.isNamespaced ? 'Namespaced' : 'Cluster',
          singularResource: singular(each),
          verbs: allVerbs,
          subresources: [
            {
              subresource: 'status',
              responseKind: { group, version, kind: each.kind },
              verbs: ['get', 'patch', 'update'],
            },
          ],
        })),
    })),
  })),
})

export interface DiscoveryAnswer {
  readonly contentType: string
  readonly body: object
}

const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const json = (body: object): DiscoveryAnswer => ({ contentType: 'application/json', body })

/** Undefined when the path is none of discovery, or nothing is served there. */
export const discoveryAnswer = (
  pathname: string,
  accept: string,
  kinds: readonly ResourceKind[],
): DiscoveryAnswer | undefined => {
  const asksAll = accept.replaceAll(' ', '').includes(aggregatedType)
  const groups = groupsOf(kinds)
  if (pathname === '/api') {
    if (asksAll) return { contentType: aggregatedType, body: aggregated(kinds, ['']) }
    return json({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] })
  }
  if (pathname === '/apis') {
    if (asksAll) return { contentType: aggregatedType, body: aggregated(kinds, groups) }
    return json({ kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => groupOf(kinds, group)) })
  }
  if (pathname === '/api/v1') return json(resourcesOf(kinds, 'v1'))
  const [, , group = '', version, more] = pathname.split('/')
  if (!pathname.startsWith('/apis/') || more !== undefined || !groups.includes(group)) return undefined
  if (version === undefined) return json({ kind: 'APIGroup', apiVersion: 'v1', ...groupOf(kinds, group) })
  return versionsOf(kinds, group).includes(version) ? json(resourcesOf(kinds, `${group}/${version}`)) : undefined
}
