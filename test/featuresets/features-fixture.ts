import { randomBytes } from 'node:crypto'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { makeBootstrapWorks } from '../support/hub/bootstrap-works.ts'
import { installHubCrds } from '../support/hub/install-hub-crds.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService } from '../support/service.ts'

const clusterApi = 'cluster.open-cluster-management.io'
const uiApi = 'ui.k8s.appscode.com/v1alpha1'
const profileApi = 'profile.k8s.appscode.com/v1alpha1'

interface Plural {
  readonly apiVersion: string
  readonly kind: string
}
/** The kinds of which the tests plant objects, by their plural. */
const kinds = {
  managedclustersets: { apiVersion: `${clusterApi}/v1beta2`, kind: 'ManagedClusterSet' },
  managedclusters: { apiVersion: `${clusterApi}/v1`, kind: 'ManagedCluster' },
  features: { apiVersion: uiApi, kind: 'Feature' },
  featuresets: { apiVersion: uiApi, kind: 'FeatureSet' },
  clusterprofiles: { apiVersion: uiApi, kind: 'ClusterProfile' },
  managedclustersetprofiles: { apiVersion: profileApi, kind: 'ManagedClusterSetProfile' },
  managedclusterprofilebindings: { apiVersion: profileApi, kind: 'ManagedClusterProfileBinding' },
  manifestworks: { apiVersion: 'work.open-cluster-management.io/v1', kind: 'ManifestWork' },
  helmreleases: { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' },
} satisfies Readonly<Record<string, Plural>>
export type PlantedKind = keyof typeof kinds

interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
}
export type Chart = { readonly name: string; readonly version?: string; readonly sourceRef: { readonly name: string } }
export type Content = { readonly featureSet: string; readonly chart?: Chart; readonly values?: unknown }

export const unique = (prefix: string): string => `${prefix}-${randomBytes(5).toString('hex')}`
export const chartOf = (name: string, version = '1.0.0'): Chart => ({ name, version, sourceRef: { name: 'charts' } })
const condition = (type: string, status: string, message = '') => ({
  type,
  status,
  reason: 'Test',
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
})

/** The status of a spoke whose agent reports. Undefined: it makes no claim on its features. */
export const claimsOf = (yaml: string | undefined): object => ({
  conditions: [condition('ManagedClusterConditionAvailable', 'True')],
  clusterClaims: [
    { name: 'cluster.ace.info', value: 'clusterMetadata: {}' },
    ...(yaml === undefined ? [] : [{ name: 'features.ace.info', value: yaml }]),
  ],
})

/** The status of a work whose present content is applied, or is not. */
export const appliedStatus = (isApplied: boolean, message = '', generation = 1) => ({
  conditions: [{ ...condition('Applied', isApplied ? 'True' : 'False', message), observedGeneration: generation }],
})

/** The values of the editor of a feature set, with a release for each feature. */
export const modelOf = (featureSet: string, releases: Readonly<Record<string, object | undefined>>): object => ({
  metadata: { release: { name: featureSet, namespace: 'features' } },
  resources: Object.fromEntries(
    Object.entries(releases).map(([feature, values]) => [
      `helmToolkitFluxcdIoHelmRelease_${feature.replaceAll('-', '_')}`,
      {
        spec: {
          chart: { spec: { chart: feature, version: '1.0.0', sourceRef: { kind: 'HelmRepository', name: 'charts' } } },
          values,
        },
      },
    ]),
  ),
})

/**
 * A service with a hub on a real API server, and an organization whose owner may do everything. With `hasFixedNames` it
 * is the API server of spokes, which is the hub of no other test file, so objects may have fixed names.
 */
export const startFeatureFixture = async ({ hasFixedNames = false }: { readonly hasFixedNames?: boolean } = {}) => {
  const server = (await (hasFixedNames ? spokeKubernetes() : kubernetes()))!
  await installHubCrds(server)
  await makeBootstrapWorks(server)
  const service = await startService()
  const people = makePeople(service)
  const owner = await people.person('owner')
  const org = await people.organization(owner)
  await expectStatus(importCluster(service.send, owner.token, org, 'hub', server.kubeconfig()), 200)

  const pathOf = (plural: PlantedKind, { namespace, name }: Partial<Metadata>): string =>
    `/apis/${kinds[plural].apiVersion}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}${name === undefined ? '' : `/${name}`}`
  const must = async (method: string, path: string, body: unknown, contentType = 'application/json'): Promise<void> => {
    const answer = await server.request(method, path, body, { contentType })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  }
  const plant = async (
    plural: PlantedKind,
    { name, ...metadata }: Metadata,
    spec: object,
    status?: object,
  ): Promise<string> => {
    await must('POST', pathOf(plural, { ...metadata }), { ...kinds[plural], metadata: { name, ...metadata }, spec })
    if (status !== undefined)
      await must('PATCH', `${pathOf(plural, { name, ...metadata })}/status`, { status }, 'application/merge-patch+json')
    return name
  }
  const under = async (
    prefix: string,
    method: 'GET' | 'POST',
    path: string,
    body: unknown,
    person: Person,
    at: string,
  ): Promise<ServiceAnswer> =>
    service.send(method, `/api/v1/clusters/${at}${prefix}${path}`, { token: person.token, body })

  return {
    server,
    service,
    stop: async (): Promise<void> => {
      await service.stop()
    },
    people,
    owner,
    org,
    plant,
    /** The spec of an object of the hub; undefined if it does not exist. */
    specOf: async (plural: PlantedKind, key: Metadata): Promise<Record<string, unknown> | undefined> =>
      ((await server.request('GET', pathOf(plural, key))).body as { spec?: Record<string, unknown> }).spec,
    replaceSpec: (plural: PlantedKind, key: Metadata, spec: object): Promise<void> =>
      must('PATCH', pathOf(plural, key), { spec }, 'application/merge-patch+json'),
    set: (spec: object = {}): Promise<string> => plant('managedclustersets', { name: unique('set') }, spec),
    /** A spoke of a set. Undefined: it makes no claim on its features. */
    spoke: async (set: string, claim: string | undefined, prefix = 'spoke'): Promise<string> =>
      plant(
        'managedclusters',
        { name: unique(prefix), labels: { 'cluster.open-cluster-management.io/clusterset': set } },
        { hubAcceptsClient: true },
        claimsOf(claim),
      ),
    featureSet: (spec: object = {}): Promise<string> =>
      plant(
        'featuresets',
        { name: unique('fs') },
        { title: 'A set', description: 'Features', chart: { ...chartOf('set') }, ...spec },
      ),
    feature: (featureSet: string, spec: object = {}, status?: object, name = unique('feature')): Promise<string> =>
      plant(
        'features',
        { name },
        { title: 'A feature', description: 'Does things', featureSet, chart: chartOf(name), ...spec },
        status,
      ),
    profile: (set: string, features: Readonly<Record<string, Content>>): Promise<string> =>
      plant('managedclustersetprofiles', { name: set }, { features }),
    ofSet: (
      method: 'GET' | 'POST',
      set: string,
      path: string,
      body?: unknown,
      person: Person = owner,
      at = `${org}/hub`,
    ): Promise<ServiceAnswer> => under(`/clustersets/${set}`, method, path, body, person, at),
    /** The rows of the audit log about a cluster set, newest first. */
    auditOf: async (
      set: string,
    ): Promise<readonly { readonly action: string; readonly changes: Readonly<Record<string, unknown>> }[]> => {
      const log = await expectStatus(
        service.send('GET', `/api/v1/orgs/${org}/audit?limit=100`, { token: owner.token }),
        200,
      )
      return (log.json as { action: string; changes?: Record<string, unknown> }[]).flatMap(({ action, changes }) =>
        changes?.['clusterSet'] === set ? [{ action, changes }] : [],
      )
    },
  }
}
export type FeatureFixture = Awaited<ReturnType<typeof startFeatureFixture>>
