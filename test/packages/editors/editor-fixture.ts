import { expectStatus, importCluster, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { helm } from '../../support/components/available.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService } from '../../support/service.ts'
import { chartOf } from '../chart-archive.ts'
import type { ChartServer } from '../chart-server.ts'
import { packageClient, startCharts, type PackageClient } from '../package-fixture.ts'

const namespace = 'shop'

const definition = (group: string, version: string, kind: string, plural: string, scope: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: { group, scope, names: { kind, plural }, versions: [{ name: version, served: true, storage: true }] },
})

/** Makes the cluster one that knows editors, as a vendor's installation does. */
export const putEditorDefinitions = (api: FakeApi): void => {
  api.put(definition('ui.k8s.appscode.com', 'v1alpha1', 'ResourceEditor', 'resourceeditors', 'Cluster'))
  api.put(definition('drivers.x-helm.dev', 'v1alpha1', 'AppRelease', 'appreleases', 'Namespaced'))
}

/** An editor of the cluster's own, by charts of a repository. */
export const putResourceEditor = (
  api: FakeApi,
  charts: ChartServer,
  name: string,
  resource: Readonly<Record<string, string>>,
  more: object = {},
): void => {
  const chart = (chartName: string) => ({
    name: chartName,
    version: '1.0.0',
    sourceRef: { kind: 'Legacy', name: charts.url },
  })
  api.put({
    apiVersion: 'ui.k8s.appscode.com/v1alpha1',
    kind: 'ResourceEditor',
    metadata: { name },
    spec: {
      resource,
      ui: {
        options: chart('berth-options'),
        editor: chart('berth-editor'),
        instanceLabelPaths: ['spec.selector.matchLabels', '.spec.template.metadata.labels'],
        ...more,
      },
    },
  })
}

/**
 * An organization with a cluster, its owner, a member who may connect, one who may only look, and an outsider with an
 * organization of the own.
 */
export const openEditorFixture = async () => {
  const [api, { charts, settings }] = await Promise.all([
    startFakeApi(),
    startCharts(await chartOf('berth-options'), await chartOf('berth-editor'), await chartOf('minimal')),
  ])
  const service = await startService({ settings: { ...settings, MOORAGE_HELM: (await helm())!.helm4 } })
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const people = makePeople(service)
  const [owner, member, viewer, stranger] = [
    await people.person('owner'),
    await people.person('member'),
    await people.person('viewer'),
    await people.person('stranger'),
  ]
  const [org, otherOrg] = [await people.organization(owner), await people.organization(stranger)]
  const may = (...actions: readonly string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  await people.teamWithRole(owner, org, [member], may('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [viewer], may('view clusters'))
  await expectStatus(
    importCluster(service.send, owner.token, org, 'prod', api.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  const as = (person: Person): PackageClient => packageClient(service.send, person.token, `${org}/prod`)
  return {
    api,
    charts,
    service,
    people,
    owner,
    member,
    viewer,
    stranger,
    org,
    otherOrg,
    as,
    put: (path: string, body: unknown, person: Person = owner): Promise<ServiceAnswer> =>
      as(person).send('PUT', path, body),
    stop: async () => {
      await service.stop()
      await charts.stop()
      await api.stop()
    },
  }
}
export type EditorFixture = Awaited<ReturnType<typeof openEditorFixture>>

/** What the cluster is told that a person is. */
export const userOf = ({ login }: Person): string => `moorage:${login}`

export const deployments = {
  group: 'apps',
  version: 'v1',
  name: 'deployments',
  kind: 'Deployment',
  scope: 'Namespaced',
}
export const configMaps = { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' }
export const about = (resource: object, name: string): { readonly metadata: object } => ({
  metadata: { resource, release: { name, namespace } },
})
