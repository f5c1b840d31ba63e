import { jetstreamManager } from '@nats-io/jetstream'
import test from 'ava'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import type { NatsTaskBus } from '../../adapters/bus/nats-task-bus.ts'
import { TaskBusToken } from '../../core/tasks/ports.ts'
import { closeClients, connectWith, credentialsFrom, listen, newPerson, startBusWorld } from '../bus/bus-world.ts'
import type { BusWorld } from '../bus/bus-world.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { aMessage, taskBusSuite } from './task-bus.suite.ts'

taskBusSuite('in process', async () => {
  const bus = makeInProcessTaskBus()
  return { here: bus, there: bus, close: async () => undefined }
})

const withNats = needing('nats')
let world: Promise<BusWorld> | undefined
let second: Promise<TestService> | undefined
const started = (): Promise<BusWorld> => (world ??= startBusWorld())
test.after.always(async () => {
  await closeClients()
  await (await world)?.stop()
})

const busOf = async (service: TestService): Promise<NatsTaskBus> => {
  const bus = service.running.container.resolve(TaskBusToken) as NatsTaskBus
  await until('the bus is connected', () => (bus.isConnected() ? true : undefined))
  return bus
}

taskBusSuite('nats', async () => {
  const { service, second: another } = await started()
  return { here: await busOf(service), there: await busOf(await (second ??= another())), close: async () => undefined }
})

withNats('a published message is stored once, also if repeated, on the subjects of its users', async (t) => {
  const { service } = await started()
  const bus = await busOf(service)
  const admin = await connectWith(await credentialsFrom(service, 'admin_credentials', service.adminToken))
  const manager = await jetstreamManager(admin)
  await bus.publish(aMessage('first', 1))
  const heard = listen(admin, 'natjobs.resp.*.*')
  const notices = listen(admin, 'notifications.*')
  await admin.flush()
  const message = aMessage('t9', 4, { actorId: 21 as never, tenantId: 22 as never }, true)
  await bus.publish(message)
  await bus.publish(message)
  for (const subject of ['natjobs.resp.21.r-t9', 'notifications.21', 'notifications.22']) {
    t.deepEqual((await manager.streams.info('natjobs', { subjects_filter: subject })).state.subjects, { [subject]: 1 })
  }
  // Other tests of this file publish at the same time.
  const told = await until('the message', () => heard.heard.find(({ subject }) => subject === 'natjobs.resp.21.r-t9'))
  const noticed = await until('both notices', () => {
    const subjects = [...new Set(notices.heard.map(({ subject }) => subject))].filter((subject) => subject === 'notifications.21' || subject === 'notifications.22')
    return subjects.length === 2 ? subjects : undefined
  })
  t.is(told.text, '{"id":"t9","status":"Running","msg":"line 4","data":{"big":12345678901234567890},"seq":4,"at":"2026-05-01T08:00:00.000Z","task":"t9"}')
  t.deepEqual(noticed.toSorted(), ['notifications.21', 'notifications.22'])
  const stored = await manager.streams.getMessage('natjobs', { last_by_subj: 'natjobs.resp.21.r-t9' })
  t.is(stored?.header.get('Nats-Msg-Id'), 't9.4')
})

withNats('a person with credentials hears the own task and nothing of another tenant', async (t) => {
  const { service } = await started()
  const bus = await busOf(service)
  const [ada, eve] = [await newPerson(service), await newPerson(service)]
  const hers = await connectWith(await credentialsFrom(service, 'credentials', ada.token))
  const others = await connectWith(await credentialsFrom(service, 'credentials', eve.token))
  const own = listen(hers, 'natjobs.resp.r-t5')
  const notices = listen(hers, 'notifications')
  const foreign = listen(others, '>')
  const foreignProgress = listen(others, 'natjobs.resp.>')
  await hers.flush()
  await others.flush()
  await bus.publish(aMessage('t5', 1, { actorId: ada.id as never, tenantId: ada.id as never }, true))
  await bus.publish(aMessage('t6', 1, { actorId: eve.id as never, tenantId: eve.id as never }))
  await until('all', () => (own.heard.length > 0 && notices.heard.length > 0 && foreignProgress.heard.length > 0 ? true : undefined))
  t.deepEqual(foreignProgress.heard.map(({ subject }) => subject), ['natjobs.resp.r-t6'])
  t.deepEqual(foreign.heard, [])
  t.deepEqual(own.heard.map(({ subject }) => subject), ['natjobs.resp.r-t5'])
})

withNats.serial('while the server is unavailable publishing is refused, and afterwards continues, also when its streams are lost', async (t) => {
  const { service, nats } = await started()
  const bus = await busOf(service)
  await bus.publish(aMessage('away', 1))
  await nats.kill()
  await t.throwsAsync(bus.publish(aMessage('away', 2)))
  t.notThrows(() => bus.wake())
  await nats.restart({ wipe: true })
  await until('it takes messages again', async () => {
    try {
      await bus.publish(aMessage('away', 2))
      return true
    } catch {
      return undefined
    }
  })
})
