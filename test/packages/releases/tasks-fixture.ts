import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectStatus, importCluster, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { helm } from '../../support/components/available.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { chartFrom, chartOf, type TestChart } from '../chart-archive.ts'
import { chartSource } from '../chart-source.ts'
import { packageClient, startCharts } from '../package-fixture.ts'

export const releases = '/v3/releases'

/** Renders what it is told to, and fails with it where it is told to. */
export const echo = (version: string, files: Readonly<Record<string, string>> = {}): Promise<TestChart> =>
  chartFrom({
    'Chart.yaml': `apiVersion: v2\nname: echo\nversion: ${version}\n`,
    'values.yaml': 'password: ""\nfails: false\nlist: []\n',
    'templates/config.yaml': [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata: {name: {{ .Release.Name }}-echo}',
      'data:',
      '  values: {{ .Values | toJson | quote }}',
      '{{- if .Values.fails }}{{ fail (printf "it holds %s" .Values.password) }}{{ end }}',
      '',
    ].join('\n'),
    'templates/NOTES.txt': 'The password is {{ .Values.password }}.\n',
    ...files,
  })

/**
 * A service with a real helm over a cluster in this process, an organization with an owner, a member who may connect
 * and one who may only look, and an outsider with an organization and the same cluster's twin.
 */
export const openTasksFixture = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-tasks-'))
  const { charts, settings } = await startCharts(
    await chartOf('minimal'),
    await chartOf('harbour'),
    await chartOf('definitions'),
    await chartOf('schema'),
    await echo('1.0.0'),
  )
  const [fake, twin, binaries] = await Promise.all([startFakeApi(), startFakeApi(), helm()])
  const service = await startService({
    settings: {
      ...settings,
      MOORAGE_HELM: binaries!.helm4,
      MOORAGE_DATABASE_URL: `sqlite:${join(folder, 'moorage.db')}`,
    },
  })
  const people = makePeople(service)
  const [owner, member, viewer, stranger] = [
    await people.person('owner'),
    await people.person('member'),
    await people.person('viewer'),
    await people.person('stranger'),
  ]
  const [org, otherOrg] = [await people.organization(owner), await people.organization(stranger)]
  const may = (...actions: readonly string[]) => actions.map((action) => ({ namespace: 'cluster_mgmt', action }))
  const connecting = await people.teamWithRole(owner, org, [member], may('view clusters', 'connect to clusters'))
  await people.teamWithRole(owner, org, [viewer], may('view clusters'))
  await expectStatus(
    importCluster(service.send, owner.token, org, 'prod', fake.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  await expectStatus(
    importCluster(service.send, stranger.token, otherOrg, 'prod', twin.kubeconfig(), { impersonateUsers: true }),
    200,
  )
  let namespaces = 0
  return {
    fake,
    twin,
    service,
    people,
    owner,
    member,
    viewer,
    stranger,
    org,
    otherOrg,
    charts,
    connecting,
    as: (person: Person, cluster = `${org}/prod`) => packageClient(service.send, person.token, cluster),
    chart: (name: string, version = '') => chartSource(charts, name, version),
    namespace: (): string => {
      namespaces += 1
      return fake.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `shop-${namespaces}` } }).metadata.name
    },
    /** Everything that was written anywhere, as text: the database with its log, and the lines of the service. */
    written: (): string =>
      [
        ...readdirSync(folder).map((name) => readFileSync(join(folder, name)).toString('latin1')),
        service.logText(),
      ].join('\n'),
    stop: async () => {
      await service.stop()
      await Promise.all([fake.stop(), twin.stop(), charts.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type TasksFixture = Awaited<ReturnType<typeof openTasksFixture>>
