import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import test from 'ava'
import { sample as organizations } from '../../organizations/sample.ts'
import type { PopulatedService } from '../../support/populated-service.ts'
import { populatedClusterUid, startPopulatedService } from '../../support/populated-service.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService } from '../../support/service.ts'
import { IntakeSumsPort } from '../../../core/usage/events/intake.ts'
import { clusterHeard, newObject } from './event-fixture.ts'

/** Events over HTTP, as programs in clusters report them. */

let service: PopulatedService
const path = '/api/v1/usage/harbour/events'

test.before(async () => {
  service = await startPopulatedService({ MOORAGE_BILLING_ENABLED: 'true', MOORAGE_USAGE_REPORTERS: 'anyone' })
})
test.after.always(() => service?.stop())

const now = (seconds = 0): string => new Date(Date.now() + seconds * 1000).toISOString()
const report = async (
  events: unknown,
  options: {
    readonly token?: string
    readonly path?: string
    readonly clusterUID?: unknown
    readonly key?: string
  } = {},
): Promise<ServiceAnswer> => {
  const token = options.token ?? (await service.tokenFor('alice'))
  const headers = options.key === undefined ? {} : { 'Idempotency-Key': options.key }
  return service.send('POST', options.path ?? path, {
    token,
    headers,
    body: { clusterUID: options.clusterUID ?? populatedClusterUid, events },
  })
}
const words = ({ json }: ServiceAnswer): readonly string[] =>
  (json as { results: { result: string; reason?: string }[] }).results.map(({ result, reason }) => reason ?? result)
const rows = (): readonly number[] =>
  ['usage_clusters', 'usage_objects', 'usage_changes', 'usage_intervals', 'usage_conflicts', 'usage_presence'].map(
    (table) => Number(service.rows(`select count(*) as n from ${table}`)[0]?.['n']),
  )
const object = () => newObject({ createdAt: now(-3600) })

test.serial('each event has its result in order, with repeats and refusals', async (t) => {
  const read = (query: string): Promise<ServiceAnswer> =>
    service.send('GET', `/api/v1/dashboard/summary/${query}`, { token: service.adminToken })
  const sumsNow = async (): Promise<readonly number[]> => {
    await service.running.container.resolve(IntakeSumsPort).flush()
    const { json } = await read('intake?org=harbour')
    const own = json.items.filter(
      ({ clusterUID }: { clusterUID: string }) => clusterUID === populatedClusterUid,
    ) as readonly Record<string, number>[]
    return ['received', 'accepted', 'repeated', 'refused', 'late'].map((name) =>
      own.reduce((sum, each) => sum + (each[name] ?? 0), 0),
    )
  }
  const before = await sumsNow()
  const one = object()
  const created = { ...one.created(now(-60)), id: 'a' }
  const first = await report([created, clusterHeard(now()), { ...one.created(now(86_400)), id: 'late' }])
  t.is(first.status, 200, first.text)
  t.deepEqual(words(first), ['accepted', 'accepted', 'too-early'])
  t.deepEqual(first.json.results.map(({ id }: { id: string }) => id).slice(0, 1), ['a'])
  t.deepEqual(words(await report([created, { ...created, milliCPU: 7 }])), ['repeated', 'conflict'])
  t.deepEqual(words(await report([newObject({ createdAt: now(-3 * 86_400) }).created(now(-2 * 86_400))])), ['accepted'])
  t.deepEqual(
    (await sumsNow()).map((sum, index) => sum - (before[index] ?? 0)),
    [6, 3, 1, 2, 1],
  )
  t.deepEqual((await read('intake?org=harbour&from=2020-01-01&to=2020-02-01')).json, { items: [] })
  for (const bad of ['2026-02-30', '1', '2026-13-01'])
    t.is((await read(`intake?org=harbour&from=${bad}`)).status, 400, bad)
  const refused = await read('refused-events?org=harbour')
  t.deepEqual(
    refused.json.items.map(({ id, reason }: { id: string; reason: string }) => [id, reason]),
    [
      ['a', 'conflict'],
      ['late', 'too-early'],
    ],
  )
  t.deepEqual((await read('refused-events?org=lagoon')).json, { items: [] })
  t.is(
    (
      await service.send('GET', '/api/v1/dashboard/summary/intake?org=harbour', {
        token: await service.tokenFor('alice'),
      })
    ).status,
    403,
  )
  t.is(
    service.rows(
      'select * from usage_changes as c join usage_objects as o on o.id = c.object_id where o.object_uid = ?',
      one.uid,
    ).length,
    1,
  )
})

test.serial('a robot whose team can report usage reports, and people are refused', async (t) => {
  const alice = await service.tokenFor('alice')
  const role = await service.send('POST', '/api/v1/authz/roles?org=harbour', {
    token: alice,
    body: {
      name: 'meter',
      permissions: [{ namespace: 'usage_mgmt', action: 'report usage' }],
      teamIDs: [service.of(organizations).teamId],
    },
  })
  t.is(role.status, 201, role.text)
  const robots = await service.send('GET', '/api/v1/orgs/harbour/robots', { token: alice })
  t.is(robots.status, 200)
  const made = await service.send('POST', `/api/v1/orgs/harbour/robots/${service.fixture.key('robot_ac')}/tokens`, {
    token: alice,
    body: { name: 'meter' },
  })
  t.is(made.status, 201, made.text)
  const robot = (made.json.sha1 ?? made.json.token) as string
  t.deepEqual(words(await report([clusterHeard(now())], { token: robot })), ['accepted'])
  const before = rows()
  t.is((await report([object().created(now())], { token: robot, path: '/api/v1/usage/lagoon/events' })).status, 404)
  t.is((await report([object().created(now())], { token: await service.tokenFor('eddie') })).status, 403)
  t.is((await report([object().created(now())], { token: await service.tokenFor('dora') })).status, 404)
  t.is(
    (await service.send('POST', path, { body: { clusterUID: populatedClusterUid, events: [clusterHeard(now())] } }))
      .status,
    401,
  )
  t.is(
    (await report([object().created(now())], { token: await service.tokenFor('alice', ['read:billing']) })).status,
    403,
  )
  t.deepEqual(rows(), before)
})

test.serial('a cluster unknown to the account is 404 and changes nothing', async (t) => {
  const before = rows()
  t.is((await report([object().created(now())], { clusterUID: randomUUID() })).status, 404)
  t.is((await report([object().created(now())], { path: '/api/v1/usage/alice/events' })).status, 404)
  t.is((await report([object().created(now())], { clusterUID: 'pier' })).status, 422)
  // The UID of the cluster as that of an object, a namespace or an event names nothing that exists.
  const own = {
    ...newObject({
      uid: populatedClusterUid,
      namespaceUID: populatedClusterUid,
      name: populatedClusterUid,
      createdAt: now(-10),
    }).created(now()),
    id: populatedClusterUid,
  }
  t.deepEqual(rows(), before)
  t.deepEqual(words(await report([own])), ['accepted'])
})

test.serial('an invalid report is refused whole, and an invalid event alone', async (t) => {
  const before = rows()
  const created = object().created(now())
  const text = (events: string): string => `{"clusterUID":"${populatedClusterUid}","events":[${events}]}`
  const alice = await service.tokenFor('alice')
  for (const [title, body, status] of [
    ['no JSON', '{"clusterUID":', 400],
    ['no events', text(''), 422],
    ['1,001 events', text(Array.from({ length: 1001 }, () => JSON.stringify(clusterHeard(now()))).join()), 422],
    ['an event that is a number', text('1'), 422],
    [
      'a generation of 2^63',
      text(JSON.stringify(created).replace('"generation":1', '"generation":9223372036854775808')),
      422,
    ],
    ['an amount that is a text', text(JSON.stringify({ ...created, milliCPU: '1' })), 422],
    ['an event id that is a number', text(JSON.stringify({ ...created, id: 1 })), 422],
    ['events that are an object', `{"clusterUID":"${populatedClusterUid}","events":{}}`, 422],
    ['no cluster', '{"events":[]}', 422],
  ] as const) {
    const { status: got, json } = await service.send('POST', path, {
      token: alice,
      headers: { 'Content-Type': 'application/json' },
      body,
    })
    t.is(got, status, title)
    t.is(typeof json.message, 'string', title)
  }
  const refused = await report([
    { ...created, milliCPU: -1 },
    { ...created, generation: -(2 ** 53 - 1) },
    { ...created, time: '9999-12-31T23:59:59Z' },
    { ...created, time: now(-86_400 * 36) },
    { ...created, type: 'constructor' },
  ])
  t.deepEqual(words(refused), ['invalid', 'invalid', 'too-early', 'too-late', 'invalid'])
  t.deepEqual(rows(), before)
})

test.serial('a million events are refused by size while others are served', async (t) => {
  const before = rows()
  const alice = await service.tokenFor('alice')
  const body = `{"clusterUID":"${populatedClusterUid}","events":[${Array(1_000_000).fill('{"id":"1","type":"cluster.heartbeat","time":"2026-11-22T10:00:00Z"}').join()}]}`
  const [large, other] = await Promise.all([
    service.send('POST', path, { token: alice, headers: { 'Content-Type': 'application/json' }, body }).then(
      ({ status }) => status,
      () => 413,
    ),
    report([clusterHeard(now())], { token: alice }),
  ])
  t.is(large, 413)
  t.is(other.status, 200)
  t.deepEqual(rows().slice(0, 5), before.slice(0, 5))
})

test.serial('a million unannounced events are refused at the limit unread', async (t) => {
  const alice = await service.tokenFor('alice')
  const url = new URL(path, service.baseUrl)
  const heartbeats = Buffer.from('{"id":"1","type":"cluster.heartbeat","time":"2026-11-22T10:00:00Z"},'.repeat(1000))
  const sent = await new Promise<{ status: number; bytes: number }>((resolve, reject) => {
    const sending = request(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${alice}`, 'Content-Type': 'application/json' },
    })
    let thousands = 0
    let status = 0
    const write = (): void => {
      while (status === 0 && thousands < 1000) {
        thousands += 1
        if (!sending.write(heartbeats)) return void sending.once('drain', write)
      }
    }
    sending.on('response', (response) => {
      status = response.statusCode ?? 0
      response.resume().on('end', () => resolve({ status, bytes: thousands * heartbeats.length }))
    })
    sending.on('error', (error) => (status === 0 ? reject(error) : undefined))
    sending.write(`{"clusterUID":"${populatedClusterUid}","events":[`)
    write()
  })
  t.is(sent.status, 413)
  t.true(sent.bytes < 20_000_000, `${sent.bytes} of 69,000,000 bytes were taken`)
})

const numbers = [
  '-1',
  '-9223372036854775808',
  '9007199254740992',
  '9223372036854775807',
  '9223372036854775808',
  '1.5',
  '1e-7',
  '1e400',
  '-1e400',
  '"1"',
  '"NaN"',
  '"Infinity"',
  '""',
  'true',
  '[1]',
  '{}',
]
const noNumbers = ['NaN', 'Infinity', '-Infinity', '0x10', '01', '1_000', '.5', '1.']

test.serial('negative, fractional, oversized and text numbers change nothing', async (t) => {
  const before = rows()
  const alice = await service.tokenFor('alice')
  const created = object().created(now())
  const event = (field: string, value: string): string =>
    JSON.stringify({ ...created, [field]: '?' }).replace('"?"', value)
  const detail = (list: string, field: string, value: string): string =>
    JSON.stringify({
      ...created,
      details: {
        [list]: [
          {
            name: 'data',
            createdAt: created.createdAt,
            sizeMiB: 1,
            milliCPU: 1,
            memoryMiB: 1,
            count: 1,
            [field]: '?',
          },
        ],
      },
    }).replace('"?"', value)
  const places = [
    ...['generation', 'milliCPU', 'memoryMiB', 'replicas'].map((field) => (value: string) => event(field, value)),
    ...['milliCPU', 'memoryMiB', 'count'].map((field) => (value: string) => detail('pods', field, value)),
    (value: string) => detail('volumes', 'sizeMiB', value),
  ]
  const send = (text: string) =>
    service.send('POST', path, {
      token: alice,
      headers: { 'Content-Type': 'application/json' },
      body: `{"clusterUID":"${populatedClusterUid}","events":[${text}]}`,
    })
  for (const place of places) {
    for (const value of numbers) {
      const answer = await send(place(value))
      t.true(
        answer.status === 422 || (answer.status === 200 && words(answer)[0] === 'invalid'),
        `${place(value)}: ${answer.text}`,
      )
    }
    for (const value of noNumbers) t.is((await send(place(value))).status, 400, value)
  }
  t.deepEqual(rows(), before)
})

test.serial("another tenant's ids reach nothing in any field", async (t) => {
  const theirs = { cluster: randomUUID(), object: randomUUID(), namespace: randomUUID() }
  const [lagoon] = service.rows("select id from accounts where name = 'lagoon'")
  await service.write(
    'insert into clusters (owner_id, name, display_name, uid, provider, endpoint, phase, ref, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, 0)',
    lagoon?.['id'],
    'theirs',
    '',
    theirs.cluster,
    'generic',
    'https://192.0.2.1',
    'Active',
    randomUUID(),
  )
  const at = now(-60)
  const identity = newObject({ uid: theirs.object, namespaceUID: theirs.namespace, createdAt: now(-3600) })
  const observed = (labels: object) => ({
    id: randomUUID(),
    type: 'namespace.observed',
    time: at,
    namespace: 'shop',
    namespaceUID: theirs.namespace,
    createdAt: now(-3600),
    labels,
  })
  const asThem = { token: service.adminToken, path: '/api/v1/usage/lagoon/events', clusterUID: theirs.cluster }
  t.deepEqual(
    words(
      await report(
        [
          identity.created(at),
          observed({ of: 'lagoon' }),
          { id: 'mode', type: 'cluster.mode-changed', time: at, mode: 'prod' },
        ],
        asThem,
      ),
    ),
    ['accepted', 'accepted', 'accepted'],
  )
  const [place] = service.rows('select id from usage_clusters where cluster_uid = ?', theirs.cluster)
  const tables = ['usage_objects', 'usage_modes', 'usage_namespaces', 'usage_presence', 'usage_intervals']
  const ofThem = () => [
    ...tables.map((table) => service.rows(`select * from ${table} where cluster_id = ?`, place?.['id'])),
    service.rows(
      'select c.* from usage_changes as c join usage_objects as o on o.id = c.object_id where o.cluster_id = ?',
      place?.['id'],
    ),
  ]
  const before = ofThem()
  const all = [
    identity.deleted(now(-30)),
    identity.resized(now(-40), 2, 7),
    identity.heard(now(-20)),
    observed({ of: 'harbour' }),
    { id: 'mode', type: 'cluster.mode-changed', time: at, mode: 'dev' },
    clusterHeard(now(-10)),
  ]
  t.is((await report(all, { clusterUID: theirs.cluster })).status, 404)
  t.is((await report(all, { clusterUID: theirs.cluster, path: '/api/v1/usage/lagoon/events' })).status, 404)
  // In the own cluster they are the names of own things.
  t.deepEqual(words(await report(all)), Array(6).fill('accepted'))
  const named = {
    ...object().created(now()),
    id: theirs.object,
    name: theirs.object,
    namespace: theirs.cluster,
    namespaceUID: theirs.cluster,
  }
  t.deepEqual(
    words(
      await report([
        named,
        { ...clusterHeard(now()), id: theirs.cluster, uid: theirs.object, namespaceUID: theirs.namespace },
      ]),
    ),
    ['accepted', 'accepted'],
  )
  t.deepEqual(ofThem(), before)
})

test.serial('under an Idempotency-Key a repeated request has the first answer', async (t) => {
  const key = randomUUID()
  const events = [object().created(now()), { ...object().created(now()), milliCPU: -1 }]
  const token = await service.tokenFor('alice')
  const first = await report(events, { key, token })
  t.deepEqual(words(first), ['accepted', 'invalid'])
  const again = await report(events, { key, token })
  t.is(again.text, first.text)
  t.deepEqual(words(await report(events)), ['repeated', 'invalid'])
})

test('where billing is off there is no such route, for any caller', async (t) => {
  const other = await startService()
  t.teardown(() => other.stop())
  for (const token of [undefined, other.adminToken]) {
    const { status } = await other.send('POST', '/api/v1/usage/admin/events', {
      ...(token === undefined ? {} : { token }),
      body: { clusterUID: populatedClusterUid, events: [clusterHeard(now())] },
    })
    t.is(status, 404)
  }
})
