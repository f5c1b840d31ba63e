// process: own - breaks what a service needs
import { needing } from '../../support/components/needing.ts'
import { chartSource } from '../chart-source.ts'
import { untilObject } from '../life-cycle.fixture.ts'
import {
  closeSharedHouse,
  isHelms,
  isSound,
  killedTogether,
  namespace,
  sharedPackageHouse,
  startPackageFixture,
  type PackageHouse,
} from './package-house.ts'

const test = needing('helm')
const killed = killedTogether(test)

test.after.always(() => closeSharedHouse())

const source = (house: PackageHouse, chart = 'harbour'): object => chartSource(house.charts, chart)

const install = (house: PackageHouse, values: readonly string[], more: object = {}): Promise<string> =>
  house.client.accepted('POST', '/v3/releases/', {
    ...source(house),
    releaseName: 'web',
    namespace,
    timeout: '200s',
    values,
    ...more,
  })

const installed = async (house: PackageHouse, ...values: readonly string[]): Promise<void> => {
  const task = await house.client.follow(await install(house, values))
  if (task.state !== 'succeeded') throw new Error(`${task.message} ${task.error}`)
}

test.serial('killed while a task waits: it is done after the restart, once', async (t) => {
  const house = await startPackageFixture(t, { MOORAGE_TASK_WORKERS: '1' })
  const busy = await house.client.accepted('POST', '/v3/releases/', {
    ...source(house),
    releaseName: 'other',
    namespace,
    timeout: '200s',
    values: ['hooks.install=never'],
  })
  await untilObject(house, `/apis/batch/v1/namespaces/${namespace}/jobs/other-pre-install`)
  const waiting = await install(house, ['hooks.isOn=false'])
  await house.killAndRestart()
  const [first, second] = [await house.client.follow(busy), await house.client.follow(waiting)]
  t.is(first.state, 'failed', first.message)
  t.is(second.state, 'succeeded', second.message)
  t.deepEqual(house.records(), ['1 deployed'])
  t.is(house.made('secrets', /^sh\.helm/).length, 2, 'one record of each release')
  await isSound(t, house, second, source(house))
})

killed('killed while the chart is fetched: nothing was done, and nothing is fetched again', async (t, house) => {
  const { otherCharts } = house
  otherCharts.on('/index.yaml', () => undefined)
  await house.prepared()
  const id = await install(house, [], chartSource(otherCharts, 'harbour'))
  await untilObject({ object: async () => otherCharts.requests[0] }, 'a request for the index')
  await house.killAndRestart()
  otherCharts.off('/index.yaml')
  const task = await house.client.follow(id)
  t.is(task.state, 'failed', task.message)
  t.regex(task.message, /No new revision was recorded/)
  t.is(otherCharts.requests.length, 1)
  t.deepEqual(house.records(), [])
  await isSound(t, house, task, source(house))
})

killed('killed while helm renders: nothing was done', async (t, house) => {
  const hold = house.api.rules.hold({ verb: 'get', resource: 'configmaps', name: 'lighthouse' })
  await house.prepared()
  const id = await house.client.accepted('POST', '/v3/releases/', {
    ...source(house, 'lookup'),
    releaseName: 'web',
    namespace,
  })
  await hold.arrived
  await house.killAndRestart()
  hold.release()
  const task = await house.client.follow(id)
  t.is(task.state, 'failed', task.message)
  t.deepEqual(house.records(), [])
  await isSound(t, house, task, source(house))
})

killed(
  'killed in a hook: the revision that was pending is failed, and the hook does not run twice',
  async (t, house) => {
    await house.prepared()
    const id = await install(house, ['hooks.install=never', 'greeting=in-a-file'])
    await untilObject(house, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-install`)
    t.deepEqual(house.records(), ['1 pending-install'])
    t.is(house.valueFiles('in-a-file').length, 1)
    await house.killAndRestart()
    const task = await house.client.follow(id)
    t.is(task.state, 'failed', task.message)
    t.like(task.result, { revision: 1, status: 'failed' })
    t.deepEqual(house.records(), ['1 failed'])
    t.is(house.made('jobs', /^web-pre-install$/).length, 1)
    await isSound(t, house, task, source(house))
  },
)

killed('killed in the wait of an upgrade: what was live stays so, and the task says it', async (t, house) => {
  await installed(house, 'hooks.isOn=false')
  await house.prepared()
  const id = await house.client.accepted('PUT', '/v3/releases/web/', {
    ...source(house),
    namespace,
    wait: true,
    timeout: '200s',
    values: ['hooks.isOn=false', 'claim.isOn=true'],
  })
  await untilObject(house, `/api/v1/namespaces/${namespace}/persistentvolumeclaims/web-store`)
  await house.killAndRestart()
  const task = await house.client.follow(id)
  t.is(task.state, 'failed', task.message)
  t.deepEqual(house.records(), ['1 deployed', '2 failed'])
  t.like(task.result, { revision: 2, status: 'failed', live: 1 })
  await isSound(t, house, task, source(house))
})

test.serial("a task whose service was killed after helm's end has succeeded", async (t) => {
  const house = await sharedPackageHouse(t)
  const hold = house.api.rules.hold({
    verb: 'list',
    resource: 'secrets',
    when: (call) => !isHelms(call) && house.records().includes('1 deployed'),
  })
  const id = await install(house, [])
  await hold.arrived
  await house.killAndRestart()
  hold.release()
  const task = await house.client.follow(id)
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  t.deepEqual(house.records(), ['1 deployed'])
  t.is(house.made('jobs', /^web-pre-install$/).length, 1)
  t.is(house.made('secrets', /^sh\.helm/).length, 1)
  await isSound(t, house, task, source(house))
})

killed('killed in a rollback: its revision is failed, the release continues', async (t, house) => {
  await installed(house, 'hooks.rollback=never')
  t.is(
    (await house.client.done('PUT', '/v3/releases/web/', { ...source(house), namespace, values: ['replicas=2'] }))
      .state,
    'succeeded',
  )
  await house.prepared()
  const id = await house.client.accepted('POST', '/v3/releases/web/rollback', { namespace, version: 1, timeout: 200 })
  await untilObject(house, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-rollback`)
  await house.killAndRestart()
  const task = await house.client.follow(id)
  t.is(task.state, 'failed', task.message)
  t.deepEqual(house.records(), ['1 superseded', '2 deployed', '3 failed'])
  await isSound(t, house, task, source(house))
})

killed(
  'killed in an uninstall: the task says that a part is gone, and the next uninstall ends it',
  async (t, house) => {
    await installed(house, 'hooks.isOn=false')
    const hold = house.api.rules.hold({ verb: 'delete', resource: 'deployments' })
    await house.prepared()
    const id = await house.client.accepted('DELETE', '/v3/releases/web/', { namespace })
    await hold.arrived
    await house.killAndRestart()
    hold.release()
    const task = await house.client.follow(id)
    t.is(task.state, 'failed', task.message)
    t.regex(task.message, /uninstall/i)
    const again = await house.client.done('DELETE', '/v3/releases/web/', { namespace })
    t.is(again.state, 'succeeded', `${again.message} ${again.error}`)
    t.deepEqual(house.records(), [])
  },
)
