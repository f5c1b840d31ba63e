// process: own - breaks what a service needs
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import {
  closeClients,
  connectWith,
  credentialsFrom,
  listen,
  startBusFixture,
  type BusFixture,
} from '../../bus/bus-fixture.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import { startServiceProcess, type ServiceProcess } from '../../support/service-process.ts'
import { until } from '../../support/until.ts'
import { chartOf } from '../chart-archive.ts'
import type { ChartServer } from '../chart-server.ts'
import { chartSource } from '../chart-source.ts'
import { importedAs, packageClient, startCharts, type PackageClient } from '../package-fixture.ts'
import { afterAnnotation } from '../../support/workloads/workload-outcome.ts'
import { openPatiently } from '../../support/databases.ts'

const test = needing('helm', 'mariadb', 'nats')

let api: FakeApi
let charts: ChartServer
let fixture: BusFixture
let other: ServiceProcess
let database: SqlDatabase
let here: PackageClient
let there: PackageClient

test.before(async () => {
  api = await startFakeApi()
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  const harbour = await chartOf('harbour')
  // Its first hook takes two seconds, so that tasks of both instances are under way together.
  const slow = await chartOf('harbour', { version: '2.0.0', files: { 'templates/slow.yaml': slowHook } })
  const repository = await startCharts(harbour, slow)
  charts = repository.charts
  fixture = await startBusFixture('mysql', {
    ...repository.settings,
    MOORAGE_HELM: (await helm())!.helm4,
    MOORAGE_TASK_WORKERS: '3',
  })
  other = await startServiceProcess({ settings: fixture.settings })
  database = await openPatiently(fixture.settings['MOORAGE_DATABASE_URL']!)
  const { service } = fixture
  const cluster = await importedAs(service.send, service.adminToken, 'admin', api.kubeconfig())
  here = packageClient(service.send, service.adminToken, cluster)
  there = packageClient((...request) => other.send(...request), service.adminToken, cluster)
})
test.after.always(async () => {
  await closeClients()
  await database?.close()
  await other?.stop()
  await fixture?.stop()
  await charts?.stop()
  await api?.stop()
})

const slowHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-slow
  annotations:
    helm.sh/hook: pre-install
    ${afterAnnotation}: "2000"
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: slow, image: registry.example.com/slow:1}]
`

const install = (releaseName: string, more: object = {}): object => ({
  ...chartSource(charts, 'harbour', '1.0.0'),
  releaseName,
  namespace: 'shop',
  timeout: '200s',
  ...more,
})
const recordsOf = (release: string): readonly string[] =>
  api
    .all('v1', 'Secret', 'shop')
    .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm' && metadata.labels['name'] === release)
    .map(({ metadata }) => `${metadata.labels?.['version']} ${metadata.labels?.['status']}`)

test.serial('both instances share the tasks, and each release is installed once', async (t) => {
  const names = Array.from({ length: 6 }, (_, index) => `shared-${index}`)
  const ids = await Promise.all(
    names.map((name, index) =>
      (index % 2 === 0 ? here : there).accepted('POST', '/v3/releases/', install(name, { version: '2.0.0' })),
    ),
  )
  const holders = await until('work on both instances', async () => {
    const rows = await database.query((k) => k('tasks').where('state', 'running').distinct('holder'))
    return rows.length === 2 ? rows : undefined
  })
  t.is(holders.length, 2)
  const tasks = await Promise.all(ids.map((id, index) => (index % 2 === 0 ? there : here).follow(id)))
  t.deepEqual(
    tasks.map(({ state, error }) => `${state} ${error ?? ''}`),
    names.map(() => 'succeeded '),
  )
  for (const name of names) t.deepEqual(recordsOf(name), ['1 deployed'])
})

test.serial('of two changes of one release one runs, and the other is refused', async (t) => {
  for (const name of ['raced-0', 'raced-1', 'raced-2']) {
    const answers = await Promise.all([
      here.send('POST', '/v3/releases/', install(name)),
      there.send('POST', '/v3/releases/', install(name)),
    ])
    t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409], answers.map(({ text }) => text).join('\n'))
    const accepted = answers.find(({ status }) => status === 200)
    const task = await here.follow((accepted?.json as { id: string }).id)
    t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
    t.deepEqual(recordsOf(name), ['1 deployed'])
  }
})

test.serial('a bus client hears an installation to its end, whichever instance does it', async (t) => {
  const { service } = fixture
  const connection = await connectWith(await credentialsFrom(service, 'credentials', service.adminToken))
  const responseId = '5a0b4a3e-4e53-4f5c-9f43-0f2f7f7f0a11'
  const { heard } = listen(connection, `natjobs.resp.${responseId}`)
  await connection.flush()
  const accepted = await there.send('POST', `/v3/releases/?response-id=${responseId}`, install('heard'))
  t.is(accepted.status, 200, accepted.text)
  const { id, subject } = accepted.json as { id: string; subject: string }
  t.is(subject, `natjobs.resp.${responseId}`)
  const task = await here.follow(id)
  const messages = (): readonly { seq: number; id: string; status: string; msg: string }[] =>
    heard.map(({ text }) => JSON.parse(text) as { seq: number; id: string; status: string; msg: string })
  await until('the end on the bus', () =>
    messages().some((message) => message.id === id && message.status === 'Success') ? true : undefined,
  )
  const once = [...new Map(messages().map((message) => [message.seq, message])).values()]
  t.deepEqual(
    once.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`),
    task.events.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`),
  )
})

test.serial("a killed instance's task is reported by another and not repeated", async (t) => {
  const names = ['lost-0', 'lost-1', 'lost-2', 'lost-3']
  const hooksBefore = hooksMade()
  await Promise.all(
    names.map((name) => there.accepted('POST', '/v3/releases/', install(name, { values: ['hooks.install=never'] }))),
  )
  const running = await until('hooks of all', async () => {
    const rows = (await database.query((k) =>
      k('tasks').where('state', 'running').select('ref', 'holder'),
    )) as readonly { ref: string; holder: string }[]
    return names.every((name) => api.find('batch/v1', 'Job', 'shop', `${name}-pre-install`) !== undefined)
      ? rows
      : undefined
  })
  t.is(running.length, 4)
  other.signal('SIGKILL')
  await other.exited
  for (const { ref } of running) t.is((await here.cancel(ref)).status, 202)
  // Whoever lives obeys; what goes on is the dead one's.
  const survivor = await until('the end of what the living instance does', async () => {
    const left = (await database.query((k) => k('tasks').where('state', 'running').select('holder'))) as readonly {
      holder: string
    }[]
    return running.map(({ holder }) => holder).find((holder) => !left.some((each) => each.holder === holder))
  })
  await database.query((k) =>
    k('tasks').where('state', 'running').whereNot('holder', survivor).update({ lease_until: 1 }),
  )
  for (const { ref, holder } of running) {
    const task = await here.follow(ref)
    t.is(task.state, holder === survivor ? 'cancelled' : 'failed', task.message)
    t.like(task.result, { revision: 1, status: 'failed' })
  }
  for (const name of names) t.deepEqual(recordsOf(name), ['1 failed'])
  t.is(hooksMade() - hooksBefore, 4)
})

/** Hooks that helm created or applied. */
const hooksMade = (): number =>
  api.calls.filter(({ resource, verb }) => resource === 'jobs' && (verb === 'create' || verb === 'patch')).length
