// process: own - starts a service as a process
import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { UsageEventCountersPort } from '../../../core/usage/events/reports.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import { monthKey } from '../../../core/usage/month.ts'
import { makePublishFinalMonths } from '../../../core/usage/final-months/final-months.ts'
import { FinalMonthBusPort, FinalMonthOutboxPort } from '../../../core/usage/final-months/ports.ts'
import {
  closeClients,
  connectWith,
  publishRefusal,
  startBusFixture,
  type BusFixture,
  type GivenCredentials,
} from '../../bus/bus-fixture.ts'
import { makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { needing } from '../../support/components/needing.ts'
import { startServiceProcess } from '../../support/service-process.ts'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { startBusLink } from './bus-link.ts'
import { clusterHeard, newObject } from './event-fixture.ts'
import { openPatiently } from '../../support/databases.ts'

const test = needing('nats')

/** Events over the message bus: a program publishes in the account of its organization. */

const uid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
const strange = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0cff'
let fixture: BusFixture
let db: SqlDatabase
let owner: Person
let org: string
let sender: NatsConnection
let client: NatsConnection
let admin: NatsConnection

const now = (seconds = 0): string => new Date(Date.now() + seconds * 1000).toISOString()
const object = () => newObject({ createdAt: now(-3600) })

const credentialsOf = (account: string, token: string): Promise<GivenCredentials> =>
  until('credentials', async () => {
    const { status, text, json } = await fixture.service.send('GET', `/api/v1/usage/${account}/bus-credentials`, {
      token,
    })
    if (status === 503) return undefined
    if (status !== 200) throw new Error(`${status} ${text}`)
    return json as GivenCredentials
  })

const credentialsOfAdmin = async (): Promise<GivenCredentials | undefined> => {
  const { status, json } = await fixture.service.send('GET', '/api/v1/user/bus/admin_credentials', {
    token: fixture.service.adminToken,
  })
  return status === 200 ? (json as GivenCredentials) : undefined
}

const addCluster = async (account: string, clusterUid: string): Promise<number> => {
  const [row] = await db.query<{ id: number }>((k) => k('accounts').where('name', account).select('id'))
  const cluster = {
    owner_id: row?.id,
    name: clusterUid.slice(-4),
    display_name: '',
    uid: clusterUid,
    provider: 'generic',
    endpoint: 'https://192.0.2.1',
    phase: 'Active',
    ref: randomUUID(),
    created_at: 0,
  }
  await db.query((k) => k('clusters').insert(cluster))
  return row?.id ?? 0
}
/** Publishes a message, and returns once the bus has stored it. */
const publish = async (events: readonly ReportedEvent[], clusterUID = uid, by = sender): Promise<number> => {
  const stored = JSON.parse(
    (await by.request('usage.events', JSON.stringify({ clusterUID, events }), { timeout: 10_000 })).string(),
  ) as { seq?: number; error?: unknown }
  if (stored.seq === undefined) throw new Error(JSON.stringify(stored))
  return stored.seq
}
const changesOf = async (objectUid: string): Promise<number> =>
  (
    await db.query((k) =>
      k('usage_changes as c')
        .join('usage_objects as o', 'o.id', 'c.object_id')
        .where('o.object_uid', objectUid)
        .select('c.type'),
    )
  ).length
const counted = (objectUid: string, count: number) =>
  until(`${count} changes`, async () => ((await changesOf(objectUid)) === count ? true : undefined))

test.before(async () => {
  fixture = await startBusFixture('sqlite', { MOORAGE_BILLING_ENABLED: 'true', MOORAGE_USAGE_REPORTERS: 'anyone' })
  db = await openPatiently(fixture.settings['MOORAGE_DATABASE_URL'] ?? '')
  const people = makePeople(fixture.service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  await addCluster(org, uid)
  sender = await connectWith(await credentialsOf(org, owner.token))
  const stranger = await people.person('stranger')
  await addCluster(await people.organization(stranger), strange)
  client = await connectWith(await credentialsOf(stranger.login, stranger.token))
  // The stream is there as soon as the service has connected.
  await until('the stream', async () =>
    publish([clusterHeard(now())]).then(
      () => true,
      () => undefined,
    ),
  )
})
test.after.always(async () => {
  await closeClients()
  await fixture?.stop()
  await db?.close()
})

test.serial('events that the bus has stored are recorded for the account of the sender, once', async (t) => {
  const one = object()
  const created = one.created(now())
  await publish([created, clusterHeard(now())])
  await publish([created])
  await publish([one.resized(now(), 2, 7)])
  await counted(one.uid, 2)
  const rows = await db.query((k) =>
    k('usage_clusters as c').join('accounts as a', 'a.id', 'c.owner_id').select('a.name', 'c.cluster_uid'),
  )
  t.deepEqual(rows, [{ name: org, cluster_uid: uid }])
})

test.serial('credentials allow to publish on one subject, and to read nothing of others', async (t) => {
  for (const subject of ['usage.events.1', 'usage.events.other', 'natjobs.resp.x', '$JS.API.STREAM.NAMES', 'anything'])
    t.regex((await publishRefusal(sender, subject)) ?? '', /permissions violation/i, subject)
  let refused = ''
  sender.subscribe('usage.>', { callback: (error) => void (refused = error?.message ?? '') })
  await sender.flush()
  await until('the subscription is refused', () => refused !== '' || undefined)
  t.pass()
})

test.serial('unacceptable messages are terminated and counted, later ones recorded', async (t) => {
  const counters = fixture.service.running.container.resolve(UsageEventCountersPort)
  const before = counters.terminated
  for (const text of [
    '',
    'no json',
    '{}',
    '[]',
    '{"clusterUID":"x","events":[]}',
    `{"clusterUID":"${uid}","events":[1]}`,
    `{"clusterUID":"pier","events":[${JSON.stringify(clusterHeard(now()))}]}`,
  ])
    await sender.request('usage.events', text, { timeout: 10_000 })
  const one = object()
  await publish([{ ...one.created(now()), milliCPU: -1 }, one.created(now())])
  await counted(one.uid, 1)
  await until('seven were terminated', () => counters.terminated === before + 7 || undefined)
  t.true(fixture.service.logText().includes('a message with usage events is not acceptable'))
})

test.serial("another tenant's cluster is not reached, whatever the message says", async (t) => {
  const one = object()
  await publish([one.created(now())], uid, client)
  await publish([one.created(now())], strange, client)
  const last = object()
  await publish([last.created(now())])
  await counted(last.uid, 1)
  t.is(
    await changesOf(one.uid),
    0,
    'the organization of the stranger has that cluster; the account of the stranger has none',
  )
})

test.serial('messages that cannot be recorded yet do not hold up those of others', async (t) => {
  admin = await connectWith(await until('admin credentials', credentialsOfAdmin))
  const one = object()
  const unknown = { clusterUID: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c00', events: [clusterHeard(now())] }
  // More than the bus delivers without an acknowledgement.
  for (let i = 0; i < 3000; i++) client.publish('usage.events', JSON.stringify(unknown))
  await client.flush()
  await publish([one.created(now())])
  await counted(one.uid, 1)
  const manager = await jetstreamManager(admin)
  const waiting = async (name: string): Promise<number> => (await manager.streams.info(name)).state.messages
  await until('the first hundred are set aside', async () => ((await waiting('usage')) === 0 ? true : undefined))
  t.is(await waiting('usage-aside'), 100)
})

test.serial('each final month is published under one id once the bus is available', async (t) => {
  const { container } = fixture.service.running
  const outbox = container.resolve(FinalMonthOutboxPort)
  const [row] = await db.query<{ id: number }>((k) => k('accounts').where('name', org).select('id'))
  const month = {
    ownerId: Number(row?.id) as AccountId,
    month: monthKey(2026, 10),
    revision: 2,
    generatedAt: new Date('2026-11-04T00:30:00Z'),
  }
  await outbox.add(month)
  await outbox.add({ ...month, month: monthKey(2026, 9) })
  const bus = container.resolve(FinalMonthBusPort)
  const away = { publish: () => Promise.reject(new Error('The bus is away.')) }
  await t.throwsAsync(makePublishFinalMonths({ outbox, bus: away })(new AbortController().signal))
  t.is((await outbox.oldest(9)).length, 2)
  // A process that is killed between the publication and the removal publishes again.
  const forgetful = { ...outbox, remove: () => Promise.reject(new Error('The process is killed.')) }
  await t.throwsAsync(makePublishFinalMonths({ outbox: forgetful, bus })(new AbortController().signal))
  await makePublishFinalMonths({ outbox, bus })(new AbortController().signal)
  t.deepEqual(await outbox.oldest(9), [])
  admin = await connectWith(await until('the credentials of the platform', credentialsOfAdmin))
  const { streams } = await jetstreamManager(admin)
  t.is((await streams.info('usage-months')).state.messages, 2)
  const stored = await streams.getMessage('usage-months', { last_by_subj: `usage.months.${row?.id}` })
  t.is(stored?.header.get('Nats-Msg-Id'), `usage-month.${row?.id}.2026-09.2`)
  const first = await streams.getMessage('usage-months', { seq: 1 })
  t.deepEqual(first?.json(), {
    type: 'usage-month.final',
    account: org,
    accountID: Number(row?.id),
    month: '2026-10',
    revision: 2,
    status: 'final',
    generatedAt: '2026-11-04T00:30:00.000Z',
  })
})

test.serial('stored bus messages survive a restart and are recorded', async (t) => {
  const [one, two] = [object(), object()]
  await publish([one.created(now())])
  await fixture.nats.kill()
  await fixture.nats.restart()
  sender = await connectWith(await credentialsOf(org, owner.token))
  await until('the bus takes messages', async () =>
    publish([two.created(now())]).then(
      () => true,
      () => undefined,
    ),
  )
  await counted(one.uid, 1)
  await counted(two.uid, 1)
  t.pass()
})

test.serial('a deleted consumer or stream is created again', async (t) => {
  admin = await connectWith(await until('admin credentials', credentialsOfAdmin))
  const manager = await jetstreamManager(admin)
  const [one, two] = [object(), object()]
  await manager.consumers.delete('usage', 'usage')
  await publish([one.created(now())])
  await counted(one.uid, 1)
  await manager.streams.delete('usage')
  await until('the bus takes messages', async () =>
    publish([two.created(now())]).then(
      () => true,
      () => undefined,
    ),
  )
  await counted(two.uid, 1)
  t.pass()
})

test.serial('a process that is killed between the commit and the acknowledgement counts once', async (t) => {
  admin = await connectWith(await until('admin credentials', credentialsOfAdmin))
  const { consumers } = await jetstreamManager(admin)
  await fixture.service.stop()
  const link = await startBusLink(fixture.url)
  t.teardown(() => link.close())
  const settings = { ...fixture.settings, MOORAGE_BUS_URL: link.url }
  const first = await startServiceProcess({ settings })
  t.teardown(() => first.stop())
  link.holds = ['$JS.ACK']
  const one = object()
  await publish([one.created(now()), clusterHeard(now())])
  await counted(one.uid, 1)
  await until('it has acknowledged', () => link.held > 0 || undefined)
  first.signal('SIGKILL')
  t.is(await first.exited, 'SIGKILL')
  // Besides those of a cluster that is not known, which the bus gives again later.
  const { num_ack_pending: pending } = await consumers.info('usage', 'usage')
  t.true(pending > 0)
  // The bus gives a message again after the time to acknowledge it, which is a minute.
  await consumers.update('usage', 'usage', { ack_wait: 100_000_000 })
  link.holds = []
  const second = await startServiceProcess({ settings })
  t.teardown(() => second.stop())
  await until('the message was acknowledged', async () => {
    const { num_ack_pending, num_pending } = await consumers.info('usage', 'usage')
    return (num_ack_pending < pending && num_pending === 0) || undefined
  })
  t.is(await changesOf(one.uid), 1)
  t.is(
    (
      await db.query((k) =>
        k('usage_intervals as i')
          .join('usage_objects as o', 'o.id', 'i.object_id')
          .where('o.object_uid', one.uid)
          .select('i.month'),
      )
    ).length,
    1,
  )
})

test.serial('messages of an hour without the bus are counted once', async (t) => {
  // The other instances, which would receive the messages, have ended.
  const { consumers, streams } = await jetstreamManager(admin)
  const link = await startBusLink(fixture.url)
  t.teardown(() => link.close())
  const service = await startService({ settings: { ...fixture.settings, MOORAGE_BUS_URL: link.url } })
  t.teardown(() => service.stop())
  const [first, one, last] = [object(), object(), object()]
  await publish([first.created(now())])
  await counted(first.uid, 1)
  link.isAway = true
  await until(
    'the service has noticed',
    () => service.logText().includes('the message bus is unavailable') || undefined,
  )
  // A message for each minute of the hour; each second one is sent twice.
  for (let minute = 60; minute > 0; minute -= 1) {
    const change = [minute === 60 ? one.created(now(-3600)) : one.resized(now(-60 * minute), 60 - minute, minute)]
    for (let sent = 0; sent <= minute % 2; sent += 1) await publish(change)
  }
  t.is((await service.send('GET', '/api/v1/user', { token: owner.token })).status, 200, 'HTTP is served')
  t.is(await changesOf(one.uid), 0)
  const { config, state } = await streams.info('usage')
  t.true(config.max_age / 1e9 > 3600, 'the stream keeps messages longer than that')
  t.true(state.messages >= 90)
  // The bus is back, but its streams are not ready at first, as after a restart with much in them.
  link.holds = ['$JS.API']
  link.isAway = false
  await until(
    'the first attempt has failed',
    () => /"purpose":"usage","reason":"[^"]*timeout/.test(service.logText()) || undefined,
  )
  link.holds = []
  await counted(one.uid, 60)
  await publish([last.created(now())])
  await counted(last.uid, 1)
  t.is((await db.query((k) => k('usage_conflicts').select('id'))).length, 0)
  await until('nothing is left', async () => (await consumers.info('usage', 'usage')).num_pending === 0 || undefined)
})
