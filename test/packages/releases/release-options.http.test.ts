// process: waiting - uses components
import type { FreeObject } from '../../../core/kernel/json.ts'
import { needing } from '../../support/components/needing.ts'
import { chartOf } from '../chart-archive.ts'
import type { FollowedTask, PackageClient } from '../package-fixture.ts'
import { echo, openTasksFixture, releases, type TasksFixture } from './tasks-fixture.ts'

/** What each option of the four operations does, with a real helm. */
const test = needing('helm')

let fixture: TasksFixture
let client: PackageClient
test.before(async () => {
  fixture = await openTasksFixture()
  client = fixture.as(fixture.owner)
  fixture.charts.add(await echo('1.1.0', { 'values-small.yaml': 'password: fromFile\nsmall: true\n' }))
  fixture.charts.add(await echo('2.0.0-rc.1'))
})
test.after.always(() => fixture?.stop())

const install = (namespace: string, chart: string, more: object = {}): Promise<FollowedTask> =>
  client.done('POST', `${releases}/`, { ...fixture.chart(chart), releaseName: 'web', namespace, ...more })
const upgrade = (namespace: string, chart: string, more: object = {}): Promise<FollowedTask> =>
  client.done('PUT', `${releases}/web/`, { ...fixture.chart(chart), namespace, ...more })
const content = async (namespace: string) =>
  (await client.send('GET', `${releases}/web/content?namespace=${namespace}`)).json
/** The values that the templates saw. */
const seen = (namespace: string): FreeObject =>
  JSON.parse(
    (
      fixture.fake.find('v1', 'ConfigMap', namespace, 'web-echo') as unknown as {
        readonly data: { readonly values: string }
      }
    ).data.values,
  ) as FreeObject
const said = (task: FollowedTask): string =>
  task.events.map(({ msg, step, error }) => `${step ?? ''} ${msg} ${error ?? ''}`).join('\n')
const plain = ({ global: _global, ...values }: FreeObject): FreeObject => values

test.serial('values come from a file of the chart, a patch, or lines over it', async (t) => {
  const namespace = fixture.namespace()
  t.is((await install(namespace, 'echo', { version: '1.1.0', valuesFile: 'values-small.yaml' })).state, 'succeeded')
  t.deepEqual(plain(seen(namespace)), { password: 'fromFile', small: true })
  await upgrade(namespace, 'echo', {
    version: '1.1.0',
    valuesPatch: [
      { op: 'add', path: '/list/-', value: { a: 1.5 } },
      { op: 'remove', path: '/password' },
    ],
  })
  t.deepEqual(plain(seen(namespace)), { fails: false, list: [{ a: 1.5 }] })
  await upgrade(namespace, 'echo', {
    valueBytes: [Buffer.from('a: {b: 1}').toString('base64')],
    values: ['a.c=2,list[1]=x'],
    stringValues: ['a.d=3'],
    kv_pairs: [{ K: 'a.e', V: [true] }],
  })
  t.deepEqual(plain(seen(namespace)), {
    password: '',
    fails: false,
    list: [null, 'x'],
    a: { b: 1, c: 2, d: '3', e: [true] },
  })
  await upgrade(namespace, 'echo', { replaceValues: {} })
  t.deepEqual(plain(seen(namespace)), {})
  const absent = await upgrade(namespace, 'echo', { valuesFile: 'values-none.yaml' })
  t.like(absent, { state: 'failed', message: 'Nothing was changed.' })
  t.regex(absent.error ?? '', /valuesFile: the chart has no file values-none\.yaml/)
})

test.serial('integers beyond 2^53 reach helm unchanged in every form', async (t) => {
  fixture.charts.add(await echo('0.9.0', { 'values.yaml': 'id: 9223372036854775807\n' }))
  const wide = '9007199254740993'
  for (const given of [
    `"values":["big=${wide}"]`,
    `"valueBytes":["${Buffer.from(`big: ${wide}`).toString('base64')}"]`,
    `"kv_pairs":[{"K":"big","V":${wide}}]`,
    `"replaceValues":{"big":${wide}}`,
    `"valuesPatch":[{"op":"add","path":"/big","value":${wide}}]`,
  ]) {
    const namespace = fixture.namespace()
    const chart = JSON.stringify({ ...fixture.chart('echo', '0.9.0'), releaseName: 'web', namespace }).slice(0, -1)
    const task = await client.done('POST', `${releases}/`, `${chart},${given}}`)
    t.is(task.state, 'succeeded', `${given}: ${task.error}`)
    // Helm 4.1 reads values as floats, so it shows the number next to it.
    const { text } = await client.send('GET', `${releases}/web/content?namespace=${namespace}`)
    t.regex(text, /"config":\{[^}]*"big":900719925474099[23]\b/, given)
  }
})

test.serial('upgrades keep, reset or reuse values by their options', async (t) => {
  const namespace = fixture.namespace()
  await install(namespace, 'echo', { values: ['password=first,more=1'] })
  await upgrade(namespace, 'echo')
  t.deepEqual(plain(seen(namespace)), { password: 'first', fails: false, list: [], more: 1 })
  for (const reuse of ['reuseValues', 'resetThenReuseValues']) {
    await upgrade(namespace, 'echo', { [reuse]: true, values: [`${reuse}=1`] })
    t.like(seen(namespace), { password: 'first', more: 1, [reuse]: 1 })
  }
  await upgrade(namespace, 'echo', { resetValues: true })
  t.deepEqual(plain(seen(namespace)), { password: '', fails: false, list: [] })
})

test.serial("only user values are stored beside each revision's chart", async (t) => {
  const defaults = (tag: string) => ({ 'values.yaml': `replicas: 1\nimage: {name: nginx, tag: "${tag}"}\nlist: [a]\n` })
  fixture.charts.add(await echo('0.1.0', defaults('1.0')))
  fixture.charts.add(await echo('0.2.0', defaults('2.0')))
  const [first, second] = [{ version: '0.1.0' }, { version: '0.2.0' }]
  for (const given of [
    { values: ['replicas=3'] },
    { valueBytes: [Buffer.from('replicas: 3').toString('base64')] },
    { kv_pairs: [{ K: 'replicas', V: 3 }] },
    { valuesFile: 'values.yaml', valuesPatch: [{ op: 'replace', path: '/replicas', value: 3 }] },
  ]) {
    const namespace = fixture.namespace()
    t.is((await install(namespace, 'echo', { ...first, ...given })).state, 'succeeded')
    t.deepEqual((await content(namespace)).config, { replicas: 3 }, JSON.stringify(given))
    const task = await upgrade(
      namespace,
      'echo',
      'kv_pairs' in given ? { ...second, resetThenReuseValues: true, values: [] } : second,
    )
    t.deepEqual(
      plain(seen(namespace)),
      { replicas: 3, image: { name: 'nginx', tag: '2.0' }, list: ['a'] },
      JSON.stringify(given),
    )
    t.notRegex(said(task), /only defaults/)
  }
  const namespace = fixture.namespace()
  await install(namespace, 'echo', { ...first, values: ['list[1]=b'] })
  t.deepEqual((await content(namespace)).config, { list: ['a', 'b'] })
  const kept = await upgrade(namespace, 'echo', { ...second, reuseValues: true, values: ['replicas=2'], dryRun: true })
  t.deepEqual(
    kept.result.diff.objects.map(({ change }: { change: string }) => change),
    ['changed'],
  )
  t.notRegex(JSON.stringify(kept.result.diff), /2\.0/)
  await upgrade(namespace, 'echo', { ...second, values: [''] })
  t.deepEqual((await content(namespace)).config ?? {}, {})
})

test.serial('a record with stored chart defaults keeps them with a warning', async (t) => {
  const namespace = fixture.namespace()
  // The complete set, as this service once stored it.
  await install(namespace, 'echo', {
    version: '0.1.0',
    replaceValues: { replicas: 3, image: { name: 'nginx', tag: '1.0' }, list: ['a'] },
  })
  const task = await upgrade(namespace, 'echo', { version: '0.2.0' })
  t.like(seen(namespace), { replicas: 3, image: { name: 'nginx', tag: '1.0' } })
  t.regex(
    said(task),
    /other defaults: image\.tag\. To take the new defaults, upgrade with resetValues and give the other values of the record: replicas\./,
  )
  const again = await upgrade(namespace, 'echo', { version: '0.2.0', resetValues: true, values: ['replicas=3'] })
  t.notRegex(said(again), /other defaults/)
  t.like(seen(namespace), { replicas: 3, image: { name: 'nginx', tag: '2.0' } })
  t.deepEqual((await content(namespace)).config, { replicas: 3 })
})

test.serial('a version is the newest stable one or fits a range', async (t) => {
  const namespace = fixture.namespace()
  const chartIn = async (): Promise<string> => (await content(namespace)).chart.metadata.version
  t.is((await install(namespace, 'echo')).state, 'succeeded')
  t.is(await chartIn(), '1.1.0')
  t.is((await upgrade(namespace, 'echo', { version: '~1.0' })).state, 'succeeded')
  t.is(await chartIn(), '1.0.0')
  t.is((await upgrade(namespace, 'echo', { devel: true })).state, 'succeeded')
  t.is(await chartIn(), '2.0.0-rc.1')
  const missing = await upgrade(namespace, 'echo', { version: '7.0.0' })
  t.like(missing, { state: 'failed', message: 'Nothing was changed.' })
})

test.serial('partOf, description, createNamespace and maxHistory reach the record', async (t) => {
  const namespace = 'made-by-helm'
  const task = await install(namespace, 'echo', { createNamespace: true, partOf: 'fleet', description: 'first of all' })
  t.is(task.state, 'succeeded', task.error)
  t.regex(said(task), /namespaces made-by-helm created/)
  const record = await content(namespace)
  t.is(record.chart.metadata.annotations['app.kubernetes.io/part-of'], 'fleet')
  t.is(record.info.description, 'first of all')
  for (let turn = 0; turn < 3; turn += 1) await upgrade(namespace, 'echo', { maxHistory: 2 })
  t.deepEqual(
    (await client.send('GET', `${releases}/web/?namespace=${namespace}`)).json.map(
      ({ version }: { version: number }) => version,
    ),
    [3, 4],
  )
})

test.serial('an upgrade with install creates a release in its namespace', async (t) => {
  const namespace = fixture.namespace()
  t.is((await client.send('PUT', `${releases}/web/`, { ...fixture.chart('echo'), namespace })).status, 404)
  t.is((await upgrade(namespace, 'echo', { install: true })).state, 'succeeded')
  t.like(await content(namespace), { version: 1, info: { status: 'deployed' } })
  const fresh = await client.done('PUT', `${releases}/nowhere-yet/`, { ...fixture.chart('minimal'), install: true })
  t.like(fresh, { state: 'succeeded', result: { release: 'nowhere-yet', namespace: 'default', revision: 1 } })
})

test.serial('a release is found by its name without a namespace', async (t) => {
  const namespace = fixture.namespace()
  await client.done('POST', `${releases}/`, { ...fixture.chart('minimal'), releaseName: 'only', namespace })
  const found = await client.done('PUT', `${releases}/only/`, fixture.chart('minimal'))
  t.like(found.result, { namespace, revision: 2 })
  await client.done('POST', `${releases}/`, {
    ...fixture.chart('minimal'),
    releaseName: 'only',
    namespace: fixture.namespace(),
  })
  for (const [method, path, body] of [
    ['PUT', 'only/', fixture.chart('minimal')],
    ['DELETE', 'only/', undefined],
    ['POST', 'only/rollback', {}],
  ] as const) {
    const answer = await client.send(method, `${releases}/${path}`, body)
    t.is(answer.status, 400, answer.text)
    t.true(answer.json.message.includes(namespace))
  }
  const gone = await client.done(
    'DELETE',
    `${releases}/only/?namespace=${namespace}&purge=false&disable_hooks=true&timeout=60`,
  )
  t.like(gone, { state: 'succeeded', result: { status: 'uninstalled' } })
  t.is((await client.send('POST', `${releases}/only/rollback`, { namespace, version: 9 })).status, 404)
})

test.serial('a client dry run changes nothing and shows definitions on request', async (t) => {
  const namespace = fixture.namespace()
  const before = fixture.fake.calls.length
  const task = await install(namespace, 'definitions', { clientOnly: true, includeCRDs: true })
  t.is(task.state, 'succeeded', task.error)
  t.deepEqual(
    task.result.diff.objects
      .map(({ object }: { object: string }) => object)
      .filter((object: string) => object.startsWith('CustomResourceDefinition')).length,
    1,
  )
  t.deepEqual(
    fixture.fake.calls
      .slice(before)
      .filter(
        ({ verb, group }) => ['create', 'update', 'patch', 'delete'].includes(verb) && group !== 'authorization.k8s.io',
      ),
    [],
  )
})

test.serial('definitions that differ are reported, and do not change', async (t) => {
  const namespace = fixture.namespace()
  const first = await install(namespace, 'definitions')
  t.is(first.state, 'succeeded', first.error)
  t.regex(said(first), /1 CRD will be created/)
  const name = 'berths.harbour.example.com'
  const definition = () => fixture.fake.find('apiextensions.k8s.io/v1', 'CustomResourceDefinition', undefined, name)
  const crd = definition()!
  const same = await upgrade(namespace, 'definitions')
  t.notRegex(said(same), /CRD/)
  const changed = JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: { ...(crd as unknown as { readonly spec: object }).spec, scope: 'Cluster' },
  })
  fixture.charts.add(await chartOf('definitions', { version: '3.0.0', files: { 'crds/berths.yaml': changed } }))
  const told = await upgrade(namespace, 'definitions', { version: '3.0.0' })
  t.is(told.state, 'succeeded', told.error)
  t.regex(said(told), /1 CRD differs, not applied: berths\.harbour\.example\.com/)
  t.deepEqual(definition(), crd)
})

test.serial('an unready object is named first, with its reason and the live ones', async (t) => {
  const namespace = fixture.namespace()
  await install(namespace, 'harbour', { values: ['hooks.isOn=false'], wait: true, timeout: 60 })
  const task = await upgrade(namespace, 'harbour', {
    values: ['hooks.isOn=false,outcome=fail'],
    wait: true,
    timeout: '3s',
  })
  t.is(task.state, 'failed')
  t.regex(task.error ?? '', /^Not ready: Deployment web \(pod web-[^:]+: container harbour: CrashLoopBackOff/)
  t.is(task.message, 'Revision 1 is live; revision 2 is recorded as failed.')
  t.like(task.result, { revision: 2, status: 'failed', live: 1 })
})

test.serial('a rollback with recreate deletes the pods of the workloads, and of nothing else', async (t) => {
  const namespace = fixture.namespace()
  await install(namespace, 'harbour', { values: ['hooks.isOn=false'], wait: true, timeout: 60 })
  fixture.fake.put({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'bystander', namespace, labels: { app: 'other' } },
    spec: { containers: [] },
  } as never)
  const podsOf = () => fixture.fake.all('v1', 'Pod', namespace).map(({ metadata }) => metadata.name)
  const before = podsOf()
  await upgrade(namespace, 'harbour', { values: ['hooks.isOn=false,greeting=moin'], wait: true, timeout: 60 })
  const [pod] = before.filter((name) => name !== 'bystander' && podsOf().includes(name))
  const task = await client.done('POST', `${releases}/web/rollback`, {
    namespace,
    version: 1,
    recreate: true,
    wait: true,
    timeout: 60,
  })
  t.is(task.state, 'succeeded', task.error)
  t.regex(said(task), /Deleted 1 pod;/)
  t.true(podsOf().includes('bystander'))
  if (pod !== undefined) t.false(podsOf().includes(pod))
})
