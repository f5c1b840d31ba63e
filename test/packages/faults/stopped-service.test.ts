// process: own - breaks what a service needs
import { needing } from '../../support/components/needing.ts'
import { untilObject } from '../life-cycle.fixture.ts'
import { chartSource } from '../chart-source.ts'
import { closeSharedHouse, isSound, namespace, sharedPackageHouse } from './package-house.ts'

const test = needing('helm')

test.after.always(() => closeSharedHouse())

test.serial("a stopped service completes helm's record and returns waiting tasks", async (t) => {
  // Both workers are busy, and the third task waits.
  const house = await sharedPackageHouse(t, { MOORAGE_TASK_WORKERS: '2' })
  const rolling = await sharedPackageHouse(t)
  const source = chartSource(house.charts, 'harbour')
  for (const [method, path, values] of [
    ['POST', '', ['hooks.isOn=false', 'greeting=first']],
    ['PUT', 'web/', ['hooks.isOn=false', 'greeting=second']],
  ] as const) {
    t.is(
      (
        await rolling.client.done(method, `/v3/releases/${path}`, {
          ...source,
          ...(path === '' ? { releaseName: 'web' } : {}),
          namespace,
          values,
        })
      ).state,
      'succeeded',
    )
  }
  const busy = await house.client.accepted('POST', '/v3/releases/', {
    ...source,
    releaseName: 'web',
    namespace,
    timeout: '200s',
    values: ['hooks.install=never'],
  })
  await untilObject(house, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-install`)
  const hold = rolling.api.rules.hold({ verb: 'patch', resource: 'configmaps', name: 'web-settings' })
  const rollback = await rolling.client.accepted('POST', '/v3/releases/web/rollback', { namespace, version: 1 })
  await hold.arrived
  const waiting = await house.client.accepted('POST', '/v3/releases/', {
    ...source,
    releaseName: 'other',
    namespace,
    values: ['hooks.isOn=false'],
  })

  const restarted = house.stopAndRestart()
  setTimeout(() => hold.release(), 1000)
  t.is(await restarted, 0)
  t.deepEqual(house.records(), ['1 failed'], 'written by helm itself')
  const stopped = await house.client.follow(busy)
  t.is(stopped.state, 'failed')
  t.regex(stopped.message, /service stops/)
  const other = await house.client.follow(waiting)
  t.is(other.state, 'succeeded', `${other.message} ${other.error}`)
  const rolled = await rolling.client.follow(rollback)
  t.is(rolled.state, 'succeeded', `${rolled.message} ${rolled.error}`)
  t.deepEqual(rolling.records(), ['1 superseded', '2 superseded', '3 deployed'])
  await isSound(t, house, stopped, source)
  await isSound(t, rolling, rolled, source)
})

test.serial('a task names unreadable state and a remedy after a cluster outage', async (t) => {
  const house = await sharedPackageHouse(t)
  const source = chartSource(house.charts, 'harbour')
  const id = await house.client.accepted('POST', '/v3/releases/', {
    ...source,
    releaseName: 'web',
    namespace,
    wait: true,
    timeout: '5s',
    values: ['hooks.install=never'],
  })
  await untilObject(house, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-install`)
  const mend = house.api.rules.fail({}, 503, 'ServiceUnavailable', 'the cluster is away')
  const task = await house.client.follow(id)
  mend()
  t.is(task.state, 'failed', task.message)
  t.regex(task.message, /could not be read/)
  t.deepEqual(house.records(), ['1 pending-install'], 'it could not be written')
  const refused = await house.client.send('PUT', '/v3/releases/web/', { ...source, namespace, install: true })
  t.is(refused.status, 409)
  t.regex(refused.text, /uninstall/)
  t.is((await house.client.done('DELETE', '/v3/releases/web/', { namespace })).state, 'succeeded')
  await isSound(t, house, task, source)
})
