import { needing } from '../../support/components/needing.ts'
import { until } from '../../support/until.ts'
import { openTasksWorld, releases, type TasksWorld } from './tasks-world.ts'

/** What is left when an operation is cancelled, and what the task says of it. */
const test = needing('helm')

let world: TasksWorld
test.before(async () => {
  world = await openTasksWorld()
})
test.after.always(() => world?.stop())

const hanging = { wait: true, timeout: '120s', values: ['hooks.isOn=false,claim.isOn=true'] }
const quick = { wait: true, timeout: '60s', values: ['hooks.isOn=false'] }
const statuses = async (namespace: string): Promise<readonly string[]> =>
  ((await world.as(world.owner).send('GET', `${releases}/web/?namespace=${namespace}`)).json as readonly { version: number; info: { status: string } }[]).map(({ version, info }) => `${version} ${info.status}`)
/** Both are there, the claim before the deployment: from then on helm waits. */
const isWaiting = (namespace: string) =>
  until('helm waits', () => world.fake.find('v1', 'PersistentVolumeClaim', namespace, 'web-store') && world.fake.find('apps/v1', 'Deployment', namespace, 'web'))

const said = (task: { readonly message: string; readonly error?: string }): string => `${task.message} | ${task.error ?? ''}`

for (const atomic of [false, true]) {
  test.serial(`a cancelled upgrade${atomic ? ' that undoes' : ''} leaves the former revision live, and says it`, async (t) => {
    const namespace = world.namespace()
    const client = world.as(world.owner)
    await client.done('POST', `${releases}/`, { ...world.chart('harbour'), releaseName: 'web', namespace, ...quick })
    const id = await client.accepted('PUT', `${releases}/web/`, { ...world.chart('harbour'), namespace, ...hanging, atomic })
    await isWaiting(namespace)
    t.is((await client.cancel(id)).status, 202)
    const task = await client.follow(id)
    t.is(task.state, 'cancelled', said(task))
    t.is(task.message, `Stopped as asked. ${atomic ? 'Revision 3 is live. The upgrade was rolled back.' : 'Revision 1 is live; revision 2 is recorded as failed.'}`)
    t.deepEqual(await statuses(namespace), atomic ? ['1 superseded', '2 failed', '3 deployed'] : ['1 deployed', '2 failed'])
    t.is((await client.done('PUT', `${releases}/web/`, { ...world.chart('harbour'), namespace, ...quick })).state, 'succeeded')
  })

  test.serial(`a cancelled install${atomic ? ' that undoes leaves no release' : ' leaves a failed revision'}`, async (t) => {
    const namespace = world.namespace()
    const client = world.as(world.owner)
    const id = await client.accepted('POST', `${releases}/`, { ...world.chart('harbour'), releaseName: 'web', namespace, ...hanging, atomic })
    await isWaiting(namespace)
    t.is((await client.cancel(id)).status, 202)
    const task = await client.follow(id)
    t.is(task.state, 'cancelled', said(task))
    if (atomic) t.is((await client.send('GET', `${releases}/web/?namespace=${namespace}`)).status, 404)
    else t.deepEqual(await statuses(namespace), ['1 failed'])
    t.is(world.fake.find('apps/v1', 'Deployment', namespace, 'web') === undefined, atomic)
  })
}

test.serial('cancelled while the chart is fetched: nothing was changed', async (t) => {
  const namespace = world.namespace()
  const client = world.as(world.owner)
  const asked = Promise.withResolvers<void>()
  world.charts.on('/index.yaml', () => asked.resolve())
  const before = world.fake.calls.length
  const id = await client.accepted('POST', `${releases}/`, { ...world.chart('harbour', '9.9.9'), releaseName: 'web', namespace })
  await asked.promise
  await client.cancel(id)
  t.like(await client.follow(id), { state: 'cancelled', message: 'Stopped before anything was changed.' })
  t.deepEqual(world.fake.calls.slice(before).filter(({ verb }) => verb !== 'list' && verb !== 'get'), [])
  world.charts.off('/index.yaml')
})
