// process: waiting - uses components
import { randomUUID } from 'node:crypto'
import { expectStatus, importCluster } from '../../clusters/cluster-fixture.ts'
import { needing } from '../../support/components/needing.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { until } from '../../support/until.ts'
import type { TasksFixture } from './tasks-fixture.ts'
import { echo, openTasksFixture, releases } from './tasks-fixture.ts'

/**
 * Install, upgrade, rollback and uninstall over HTTP: whose rights count and when, what is refused early, and what
 * nobody is told.
 */
const test = needing('helm')

let fixture: TasksFixture
test.before(async () => {
  fixture = await openTasksFixture()
})
test.after.always(() => fixture?.stop())

const changing = (calls: TasksFixture['fake']['calls']) =>
  calls.filter(
    ({ verb, group }) =>
      ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb) && group !== 'authorization.k8s.io',
  )
const installBody = (namespace: string, chart = 'minimal', more: object = {}) => ({
  ...fixture.chart(chart),
  releaseName: 'web',
  namespace,
  ...more,
})
const operations = (namespace: string): readonly (readonly [string, string, object])[] => [
  ['POST', `${releases}/`, installBody(namespace)],
  ['PUT', `${releases}/web/`, { ...fixture.chart('minimal'), namespace }],
  ['POST', `${releases}/web/rollback`, { namespace }],
  ['DELETE', `${releases}/web/`, { namespace }],
]

test.serial('a caller without the right to connect starts nothing', async (t) => {
  const namespace = fixture.namespace()
  await fixture.as(fixture.owner).done('POST', `${releases}/`, installBody(namespace))
  const before = fixture.fake.calls.length
  for (const [method, path, body] of operations(namespace)) {
    t.is((await fixture.as(fixture.viewer).send(method, path, body)).status, 403, `${method} ${path}`)
    t.is((await fixture.as(fixture.stranger).send(method, path, body)).status, 404, `${method} ${path}`)
    t.is(
      (await fixture.service.send(method, `/api/v1/clusters/${fixture.org}/prod/helm${path}`, { body })).status,
      401,
      `${method} ${path}`,
    )
    const reader = await fixture.service.tokenFor(fixture.owner.login, ['read:cluster'])
    t.is(
      (await fixture.as({ ...fixture.owner, token: reader }).send(method, path, body)).status,
      403,
      `${method} ${path}`,
    )
  }
  t.is(fixture.fake.calls.length, before)
})

test.serial('a task runs as its requester and is visible to its tenant only', async (t) => {
  const namespace = fixture.namespace()
  const [before, twinBefore] = [fixture.fake.calls.length, fixture.twin.calls.length]
  const task = await fixture.as(fixture.member).done('POST', `${releases}/`, installBody(namespace))
  t.is(task.state, 'succeeded', task.error)
  const users = new Set(fixture.fake.calls.slice(before).map(({ user }) => user))
  t.deepEqual([...users], [`moorage:${fixture.member.login}`])
  t.is(fixture.twin.calls.length, twinBefore)
  t.is((await fixture.service.send('GET', `/api/v1/tasks/${task.id}`, { token: fixture.stranger.token })).status, 404)
  // The twin: the other organization's cluster of the same name, by the same words.
  const theirs = await fixture
    .as(fixture.stranger, `${fixture.otherOrg}/prod`)
    .done('POST', `${releases}/`, installBody('default'))
  t.is(theirs.state, 'succeeded', theirs.error)
  t.is((await fixture.service.send('GET', `/api/v1/tasks/${theirs.id}`, { token: fixture.owner.token })).status, 404)
})

const bad: readonly (readonly [string, object])[] = [
  ['releaseName', { releaseName: 'Web' }],
  ['releaseName', { releaseName: 'x'.repeat(54) }],
  ['releaseName', { releaseName: '-f' }],
  ['releaseName', { releaseName: 'a..b' }],
  ['releaseName', { releaseName: 7 }],
  ['namespace', { namespace: 'Shop' }],
  ['namespace', { namespace: 'x'.repeat(64) }],
  ['namespace', { namespace: '../x' }],
  ['name', { name: 7 }],
  ['sourceName', { sourceName: null }],
  ['wait', { wait: 'yes' }],
  ['dryRun', { dryRun: 1 }],
  ['timeout', { timeout: '5 minutes' }],
  ['timeout', { timeout: -1 }],
  ['timeout', { timeout: '25h' }],
  ['timeout', { timeout: true }],
  ['replaceValues', { replaceValues: [] }],
  ['valuesPatch', { valuesPatch: {} }],
  ['valueBytes', { valueBytes: ['not base64!'] }],
  ['valueBytes', { valueBytes: [Buffer.from([0xff, 0xfe, 0xfd]).toString('base64')] }],
  ['valueBytes', { valueBytes: [Buffer.from('a: [').toString('base64')] }],
  ['values', { values: 'a=1' }],
  ['values', { values: ['a'] }],
  ['stringValues', { stringValues: ['a={b'] }],
  ['kv_pairs', { kv_pairs: [{ K: 'a' }] }],
  ['kv_pairs', { kv_pairs: [{ V: 1 }] }],
  ['createNamespace', { createNamespace: 'true' }],
]
test.serial('wrong options are 422 with the field and write nothing', async (t) => {
  const namespace = fixture.namespace()
  const before = fixture.fake.calls.length
  for (const [field, wrong] of bad) {
    const answer = await fixture.as(fixture.owner).send('POST', `${releases}/`, { ...installBody(namespace), ...wrong })
    t.is(answer.status, 422, `${JSON.stringify(wrong)}: ${answer.text}`)
    t.true(answer.json.message.includes(field), `${JSON.stringify(wrong)}: ${answer.text}`)
  }
  t.is(
    (
      await fixture
        .as(fixture.owner)
        .send('PUT', `${releases}/web/`, { ...fixture.chart('minimal'), namespace, maxHistory: -1 })
    ).status,
    422,
  )
  t.is(
    (await fixture.as(fixture.owner).send('POST', `${releases}/web/rollback`, { namespace, version: -1 })).status,
    422,
  )
  t.is((await fixture.as(fixture.owner).send('DELETE', `${releases}/web/?purge=perhaps`)).status, 422)
  const misnamed = await fixture
    .as(fixture.owner)
    .send('DELETE', `${releases}/web/?namespace=${namespace}&response-id=a.b`)
  t.deepEqual([misnamed.status, misnamed.json.code], [400, 'InvalidQuery'])
  t.regex(misnamed.json.message, /response-id must be 1 to 64 of the characters/)
  t.deepEqual(changing(fixture.fake.calls.slice(before)), [])
})

test.serial('unknown options are accepted', async (t) => {
  const task = await fixture
    .as(fixture.owner)
    .done(
      'POST',
      `${releases}/`,
      installBody(fixture.namespace(), 'minimal', { generateName: false, unknown: { a: 1 } }),
    )
  t.is(task.state, 'succeeded', task.error)
})

test.serial('of two installations of one name at once exactly one is accepted', async (t) => {
  const namespace = fixture.namespace()
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => fixture.as(fixture.owner).send('POST', `${releases}/`, installBody(namespace))),
  )
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409, 409])
  const refused = answers.find(({ status }) => status === 409)
  t.regex(refused?.json.message ?? '', /Install release web/)
  const accepted = answers.find(({ status }) => status === 200)
  t.is((await fixture.as(fixture.owner).follow(accepted?.json.id as string)).state, 'succeeded')
  const later = await fixture.as(fixture.owner).send('POST', `${releases}/`, installBody(namespace))
  t.is(later.status, 409)
  t.regex(later.json.message, /revision 1, deployed\. Upgrade it/)
})

test.serial('a repeated response-id gets the first answer, and other input a refusal', async (t) => {
  const namespace = fixture.namespace()
  const client = fixture.as(fixture.owner)
  for (const [method, path, body] of operations(namespace)) {
    const at = `${path}?response-id=${randomUUID()}`
    const first = await expectStatus(client.send(method, at, body), 200)
    t.is((await client.follow(first.json.id)).state, 'succeeded', `${method} ${path}`)
    const second = await expectStatus(client.send(method, at, body), 200)
    t.deepEqual(second.json, first.json, `${method} ${path}`)
    t.is(
      (await client.send(method, at, { ...body, ...(method === 'DELETE' ? { purge: false } : { timeout: 77 }) }))
        .status,
      422,
      `${method} ${path}`,
    )
  }
})

test.serial('a pending release of another helm is left alone with advice', async (t) => {
  const namespace = fixture.namespace()
  const client = fixture.as(fixture.owner)
  await client.done('POST', `${releases}/`, installBody(namespace))
  await client.done('PUT', `${releases}/web/`, { ...fixture.chart('minimal'), namespace })
  const name = 'sh.helm.release.v1.web.v2'
  const record = fixture.fake.find('v1', 'Secret', namespace, name)!
  const labels = { ...record.metadata.labels, status: 'pending-upgrade' }
  fixture.fake.put({ ...record, metadata: { ...record.metadata, labels } })
  for (const [method, path, body] of operations(namespace).slice(0, 2)) {
    const answer = await client.send(method, path, body)
    t.is(answer.status, 409, answer.text)
    t.regex(answer.json.message, /Revision 2 of web is pending-upgrade.*roll back to an earlier revision/)
  }
  const back = await client.done('POST', `${releases}/web/rollback`, {
    namespace,
    version: 1,
    description: 'away from the stuck one',
  })
  t.is(back.state, 'succeeded', back.error)
  t.like((await client.send('GET', `${releases}/web/status?namespace=${namespace}`)).json, {
    version: 3,
    info: { status: 'deployed', description: 'away from the stuck one' },
  })
})

test.serial('rights are checked again when the work begins', async (t) => {
  const namespace = fixture.namespace()
  const held = fixture.fake.rules.hold({
    user: `moorage:${fixture.member.login}`,
    resource: 'secrets',
    verb: 'list',
    namespace,
  })
  const answer = fixture.as(fixture.member).send('POST', `${releases}/`, installBody(namespace))
  await held.arrived
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/teams/${fixture.connecting.teamId}/members/${fixture.member.login}`, {
      token: fixture.owner.token,
    }),
    204,
  )
  held.release()
  const { id } = (await expectStatus(answer, 200)).json as { readonly id: string }
  const before = fixture.fake.calls.length
  const task = await fixture.as(fixture.owner).follow(id)
  t.like(task, {
    state: 'failed',
    message: 'Nothing was changed.',
    error: 'You may no longer connect to this cluster.',
  })
  t.deepEqual(changing(fixture.fake.calls.slice(before)), [])
  await expectStatus(
    fixture.service.send('PUT', `/api/v1/teams/${fixture.connecting.teamId}/members/${fixture.member.login}`, {
      token: fixture.owner.token,
    }),
    204,
  )
})

test.serial('a revoked token begins nothing any more', async (t) => {
  const namespace = fixture.namespace()
  const person = await fixture.people.person('leaver')
  const org = await fixture.people.organization(person)
  const cluster = await startFakeApi()
  t.teardown(() => cluster.stop())
  await expectStatus(importCluster(fixture.service.send, person.token, org, 'own', cluster.kubeconfig()), 200)
  const held = cluster.rules.hold({ resource: 'secrets', verb: 'list' })
  const second = await fixture.service.tokenFor(person.login)
  const answer = fixture
    .as({ ...person, token: second }, `${org}/own`)
    .send('POST', `${releases}/`, installBody(namespace))
  await held.arrived
  const basic = [person.login, 'quiet-harbour-lantern-7'] as const
  const tokens = (
    await expectStatus(fixture.service.send('GET', `/api/v1/users/${person.login}/tokens`, { basic }), 200)
  ).json as readonly { readonly id: number }[]
  const newest = Math.max(...tokens.map(({ id }) => id))
  await expectStatus(fixture.service.send('DELETE', `/api/v1/users/${person.login}/tokens/${newest}`, { basic }), 204)
  held.release()
  const { id } = (await expectStatus(answer, 200)).json as { readonly id: string }
  const task = await fixture.as(person, `${org}/own`).follow(id)
  t.is(task.state, 'failed')
  t.deepEqual(changing(cluster.calls), [])
})

test.serial('a cluster that was replaced under its name is refused', async (t) => {
  const person = await fixture.people.person('mover')
  const org = await fixture.people.organization(person)
  const [first, second] = await Promise.all([startFakeApi(), startFakeApi()])
  t.teardown(async () => void (await Promise.all([first.stop(), second.stop()])))
  await expectStatus(importCluster(fixture.service.send, person.token, org, 'own', first.kubeconfig()), 200)
  const held = first.rules.hold({ resource: 'secrets', verb: 'list' })
  const answer = fixture.as(person, `${org}/own`).send('POST', `${releases}/`, installBody('default'))
  await held.arrived
  await expectStatus(
    fixture.service.send('POST', `/api/v1/clustersv2/${org}/own/remove`, { token: person.token, body: {} }),
    200,
  )
  await expectStatus(importCluster(fixture.service.send, person.token, org, 'own', second.kubeconfig()), 200)
  held.release()
  const accepted = await answer
  if (accepted.status === 200) {
    const task = await fixture.as(person, `${org}/own`).follow(accepted.json.id)
    t.like(task, { state: 'failed', message: 'Nothing was changed.' })
  } else t.true([404, 500].includes(accepted.status), accepted.text)
  t.deepEqual([...changing(first.calls), ...changing(second.calls)], [])
})

test.serial("the cluster's refusal is found before a change", async (t) => {
  const namespace = fixture.namespace()
  const allow = fixture.fake.rules.forbid({ resource: 'deployments', verb: 'create' })
  const before = fixture.fake.calls.length
  const task = await fixture.as(fixture.owner).done('POST', `${releases}/`, installBody(namespace, 'harbour'))
  allow()
  t.like(task, {
    state: 'failed',
    message: 'Nothing was changed.',
    error: `The cluster does not let you create deployments.apps in the namespace ${namespace}.`,
  })
  t.deepEqual(changing(fixture.fake.calls.slice(before)), [])
})

test.serial('a release with an oversized record is refused with its large files', async (t) => {
  const noise = Array.from({ length: 60_000 }, () => randomUUID()).join('\n')
  fixture.charts.add(await echo('9.0.0', { 'files/noise.txt': noise }))
  const namespace = fixture.namespace()
  const task = await fixture
    .as(fixture.owner)
    .done('POST', `${releases}/`, { ...fixture.chart('echo', '9.0.0'), releaseName: 'big', namespace })
  t.is(task.state, 'failed')
  t.regex(task.error ?? '', /would take \d+ KiB, and a Secret holds 1024 KiB.*files\/noise\.txt \(\d+ KiB\)/)
  t.deepEqual(
    fixture.fake.all('v1', 'Secret', namespace).filter(({ metadata }) => metadata.name.startsWith('sh.helm')),
    [],
  )
})

const planted = 'Zanzibar-lighthouse-42'
test.serial('values appear in no database, event, result, audit row or log', async (t) => {
  const namespace = fixture.namespace()
  const client = fixture.as(fixture.owner)
  const secretly = {
    stringValues: [`password=${planted}`],
    kv_pairs: [{ K: 'more.token', V: `${planted}-kv` }],
    valueBytes: [Buffer.from(`other: {apiKey: ${planted}-yaml}`).toString('base64')],
  }
  const tasks = [
    await client.done('POST', `${releases}/`, {
      ...installBody(namespace, 'echo'),
      ...fixture.chart('echo', '1.0.0'),
      ...secretly,
      dryRun: true,
    }),
    await client.done('POST', `${releases}/`, {
      ...fixture.chart('echo', '1.0.0'),
      releaseName: 'web',
      namespace,
      ...secretly,
    }),
    await client.done('PUT', `${releases}/web/`, {
      ...fixture.chart('echo', '1.0.0'),
      namespace,
      ...secretly,
      values: ['fails=true'],
    }),
    await client.done('PUT', `${releases}/web/`, {
      ...fixture.chart('echo', '1.0.0'),
      namespace,
      replaceValues: { password: `${planted}-new` },
    }),
    await client.done('POST', `${releases}/web/rollback`, { namespace, dry_run: true }),
    await client.done('POST', `${releases}/web/rollback`, { namespace }),
    await client.done('DELETE', `${releases}/web/`, { namespace }),
  ]
  t.deepEqual(
    tasks.map(({ state }) => state),
    ['succeeded', 'succeeded', 'failed', 'succeeded', 'succeeded', 'succeeded', 'succeeded'],
    tasks.map(({ error }) => error).join('\n'),
  )
  t.regex(tasks[2]?.error ?? '', /it holds \*\*\*/)
  const wrong = await client.send('POST', `${releases}/`, {
    ...installBody(namespace),
    values: [`password.${planted}`],
  })
  t.is(wrong.status, 422)
  const shown = JSON.stringify([
    tasks,
    wrong.json,
    (await fixture.service.send('GET', '/api/v1/tasks?limit=100', { token: fixture.owner.token })).json,
  ])
  const stored = fixture.written()
  t.true(stored.includes(tasks[1]?.id ?? 'nothing'), 'the task itself is found in what was written')
  for (const form of [planted, Buffer.from(planted).toString('base64').slice(0, 24), encodeURIComponent(planted)]) {
    t.false(shown.includes(form))
    t.false(stored.includes(form))
  }
})

let cancelFixture: TasksFixture
test.before(async () => {
  cancelFixture = await openTasksFixture()
})
test.after.always(() => cancelFixture?.stop())

const hanging = { wait: true, timeout: '120s', values: ['hooks.isOn=false,claim.isOn=true'] }
const quick = { wait: true, timeout: '60s', values: ['hooks.isOn=false'] }
const statuses = async (namespace: string): Promise<readonly string[]> =>
  (
    (await cancelFixture.as(cancelFixture.owner).send('GET', `${releases}/web/?namespace=${namespace}`))
      .json as readonly {
      version: number
      info: { status: string }
    }[]
  ).map(({ version, info }) => `${version} ${info.status}`)
/** Both are there, the claim before the deployment: from then on helm waits. */
const isWaiting = (namespace: string) =>
  until(
    'helm waits',
    () =>
      cancelFixture.fake.find('v1', 'PersistentVolumeClaim', namespace, 'web-store') &&
      cancelFixture.fake.find('apps/v1', 'Deployment', namespace, 'web'),
  )

const said = (task: { readonly message: string; readonly error?: string }): string =>
  `${task.message} | ${task.error ?? ''}`

for (const atomic of [false, true]) {
  test.serial(`a cancelled upgrade${atomic ? ' with undo' : ''} leaves the former revision live`, async (t) => {
    const namespace = cancelFixture.namespace()
    const client = cancelFixture.as(cancelFixture.owner)
    await client.done('POST', `${releases}/`, {
      ...cancelFixture.chart('harbour'),
      releaseName: 'web',
      namespace,
      ...quick,
    })
    const id = await client.accepted('PUT', `${releases}/web/`, {
      ...cancelFixture.chart('harbour'),
      namespace,
      ...hanging,
      atomic,
    })
    await isWaiting(namespace)
    t.is((await client.cancel(id)).status, 202)
    const task = await client.follow(id)
    t.is(task.state, 'cancelled', said(task))
    t.is(
      task.message,
      `Stopped as asked. ${atomic ? 'Revision 3 is live. The upgrade was rolled back.' : 'Revision 1 is live; revision 2 is recorded as failed.'}`,
    )
    t.deepEqual(
      await statuses(namespace),
      atomic ? ['1 superseded', '2 failed', '3 deployed'] : ['1 deployed', '2 failed'],
    )
    t.is(
      (await client.done('PUT', `${releases}/web/`, { ...cancelFixture.chart('harbour'), namespace, ...quick })).state,
      'succeeded',
    )
  })

  test.serial(
    `a cancelled install${atomic ? ' with undo leaves no release' : ' leaves a failed revision'}`,
    async (t) => {
      const namespace = cancelFixture.namespace()
      const client = cancelFixture.as(cancelFixture.owner)
      const id = await client.accepted('POST', `${releases}/`, {
        ...cancelFixture.chart('harbour'),
        releaseName: 'web',
        namespace,
        ...hanging,
        atomic,
      })
      await isWaiting(namespace)
      t.is((await client.cancel(id)).status, 202)
      const task = await client.follow(id)
      t.is(task.state, 'cancelled', said(task))
      if (atomic) t.is((await client.send('GET', `${releases}/web/?namespace=${namespace}`)).status, 404)
      else t.deepEqual(await statuses(namespace), ['1 failed'])
      t.is(cancelFixture.fake.find('apps/v1', 'Deployment', namespace, 'web') === undefined, atomic)
    },
  )
}

test.serial('cancelled while the chart is fetched: nothing was changed', async (t) => {
  const namespace = cancelFixture.namespace()
  const client = cancelFixture.as(cancelFixture.owner)
  const asked = Promise.withResolvers<void>()
  cancelFixture.charts.on('/index.yaml', () => asked.resolve())
  const before = cancelFixture.fake.calls.length
  const id = await client.accepted('POST', `${releases}/`, {
    ...cancelFixture.chart('harbour', '9.9.9'),
    releaseName: 'web',
    namespace,
  })
  await asked.promise
  await client.cancel(id)
  t.like(await client.follow(id), { state: 'cancelled', message: 'Stopped before anything was changed.' })
  t.deepEqual(
    cancelFixture.fake.calls.slice(before).filter(({ verb }) => verb !== 'list' && verb !== 'get'),
    [],
  )
  cancelFixture.charts.off('/index.yaml')
})
