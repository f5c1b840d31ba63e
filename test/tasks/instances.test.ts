import { TaskStoreToken } from '../../core/tasks/ports.ts'
import { closeClients, connectWith, credentialsFrom, listen, startBusWorld } from '../bus/bus-world.ts'
import type { BusWorld } from '../bus/bus-world.ts'
import { makePeople } from '../clusters/cluster-world.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { eventsOf, openFeed, order, untilEnd, untilState } from './task-client.ts'
import type { Diary } from './tiny-plugin.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'

const test = needing('nats', 'mariadb')

const diaryOf = (): Diary => ({ runs: [], recoveries: [], reasons: [] })
const [diaryA, diaryB] = [diaryOf(), diaryOf()]
let world: BusWorld
let a: TestService
let b: TestService

test.before(async () => {
  world = await startBusWorld('mysql')
  a = await startService({ settings: world.settings, plugins: [makeTinyPlugin(diaryA)] })
  b = await startService({ settings: world.settings, plugins: [makeTinyPlugin(diaryB)] })
})
test.after.always(async () => {
  await closeClients()
  await a?.stop()
  await b?.stop()
  await world?.stop()
})

test.serial('two instances share the work; each task is run once and told once, in order', async (t) => {
  const people = makePeople(a)
  const senders = await Promise.all(['ada', 'ben', 'cyd', 'dan'].map((name) => people.person(name)))
  const orders = await Promise.all(
    Array.from({ length: 80 }, async (_, i) => {
      const sender = senders[i % 4]!
      return { sender, ...(await order(i % 2 === 0 ? a : b, sender.token, { title: `Work ${i}`, lines: 2, waitMs: 20 })) }
    }),
  )
  for (const { id, sender } of orders) t.is((await untilEnd(a, sender.token, id)).state, 'succeeded')
  const runs = [...diaryA.runs, ...diaryB.runs]
  t.is(runs.length, 80)
  t.is(new Set(runs).size, 80)
  t.true(diaryA.runs.length > 0 && diaryB.runs.length > 0, `${diaryA.runs.length} and ${diaryB.runs.length}`)
  t.deepEqual([...diaryA.recoveries, ...diaryB.recoveries], [])
  const events = await eventsOf(b, orders[0]!.sender.token, orders[0]!.id)
  t.deepEqual(events.map(({ seq, status }) => `${seq} ${status}`), ['1 Pending', '2 Started', '3 Started', '4 Running', '5 Running', '6 Success', '7 Success'])
})

test.serial('a client with bus credentials hears the whole task on the subject that the answer named', async (t) => {
  const ada = await makePeople(a).person('ada')
  const hers = await connectWith(await credentialsFrom(a, 'credentials', ada.token))
  const responseId = '0b9d7c55-9f43-4a0e-8a3a-3a2d64b8a7b4'
  const subject = `natjobs.resp.${responseId}`
  const progress = listen(hers, subject)
  const notices = listen(hers, 'notifications')
  await hers.flush()
  const ordered = await order(a, ada.token, { title: 'Told', responseId, lines: 3 })
  t.is(ordered.subject, subject)
  await untilEnd(b, ada.token, ordered.id)
  const heard = () => progress.heard.map(({ text }) => JSON.parse(text) as { seq: number; status: string; msg: string; id: string; step?: string })
  await until('its end', () => (heard().some(({ id, status }) => id === ordered.id && status === 'Success') ? true : undefined))
  const once = [...new Map(heard().map((each) => [each.seq, each])).values()]
  t.deepEqual(once.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`), [
    '1 Pending Told: waits for a worker', '2 Started Told started!', '3 Started Counting', '4 Running line 1', '5 Running line 2', '6 Running line 3',
    '7 Success Counting', '8 Success Told completed successfully!',
  ])
  t.is(once[0]?.step, 'Told')
  await until('both notices', () => (notices.heard.length >= 2 ? true : undefined))
  t.deepEqual([...new Set(notices.heard.map(({ text }) => (JSON.parse(text) as { status: string }).status))], ['Started', 'Success'])
})

test.serial('a feed of one instance tells at once what the other one does, and a cancel gets there', async (t) => {
  const ada = await makePeople(a).person('ada')
  const { id } = await order(a, ada.token, { title: 'Elsewhere', untilCancelled: true })
  await untilState(a, ada.token, id, 'running')
  const [far, near] = diaryA.runs.includes(id) ? [b, a] : [a, b]
  const feed = await openFeed(far.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  await until('the lines', () => (feed.events.length >= 6 ? true : undefined))
  t.is((await far.send('POST', `/api/v1/tasks/${id}/cancel`, { token: ada.token })).status, 202)
  await feed.ended
  t.like(feed.events.at(-1)?.event, { status: 'Failed', data: { state: 'cancelled' } })
  t.is((await untilEnd(near, ada.token, id)).state, 'cancelled')
  t.true([...diaryA.reasons, ...diaryB.reasons].includes('cancelled'))
})

test.serial('while the bus is away tasks go on; afterwards everything that was missed is published, in order', async (t) => {
  const ada = await makePeople(a).person('ada')
  const given = await credentialsFrom(a, 'credentials', ada.token)
  await world.nats.kill()
  const { id, subject } = await order(a, ada.token, { title: 'Unheard', lines: 2 })
  t.is((await untilEnd(b, ada.token, id)).state, 'succeeded')
  await world.nats.restart()
  const hers = await until('the server lets her in', async () => connectWith(given).catch(() => undefined))
  const progress = listen(hers, subject)
  const admin = await connectWith(await credentialsFrom(a, 'admin_credentials', a.adminToken))
  const found = await a.running.container.resolve(TaskStoreToken).find(id)
  const { jetstream, jetstreamManager, DeliverPolicy } = await import('@nats-io/jetstream')
  const manager = await jetstreamManager(admin)
  const of = `natjobs.resp.${found?.task.actorId}.${found?.task.responseId}`
  await until('all of it is stored', async () => {
    const info = await manager.streams.info('natjobs', { subjects_filter: of }).catch(() => undefined)
    return info?.state.subjects?.[of] === 7 ? true : undefined
  })
  const consumer = await jetstream(admin).consumers.get('natjobs', { filter_subjects: of, deliver_policy: DeliverPolicy.All })
  const seqs: number[] = []
  for await (const message of await consumer.fetch({ max_messages: 7, expires: 5_000 })) seqs.push(message.json<{ seq: number }>().seq)
  t.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7])
  t.true(progress.heard.length <= 7)
})
