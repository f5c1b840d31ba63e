import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import { closeClients, connectWith, credentialsFrom, listen, newPerson, publishRefusal, startBusWorld, type BusWorld } from './bus-world.ts'

const test = needing('nats')

let world: BusWorld
test.before(async () => {
  world = await startBusWorld()
})
test.after.always(async () => {
  await closeClients()
  await world?.stop()
})

const platform = async () => connectWith(await credentialsFrom(world.service, 'admin_credentials', world.service.adminToken))

test('a user hears the own tenant, without the tenant in the subject, and nothing of another user', async (t) => {
  const [alice, bob] = [await newPerson(world.service), await newPerson(world.service)]
  const given = await credentialsFrom(world.service, 'credentials', alice.token)
  t.deepEqual(given.endpoints, [world.url])
  const [hers, his] = [await connectWith(given), await connectWith(await credentialsFrom(world.service, 'credentials', bob.token))]
  const progress = listen(hers, 'natjobs.resp.r1')
  const notices = listen(hers, 'notifications')
  const foreign = listen(his, 'natjobs.resp.>')
  await hers.flush()
  await his.flush()
  const sender = await platform()
  sender.publish(`natjobs.resp.${alice.id}.r1`, 'for alice')
  sender.publish(`notifications.${alice.id}`, 'note')
  sender.publish(`natjobs.resp.${bob.id}.r1`, 'for bob')
  await until('all three', () => (progress.heard.length > 0 && notices.heard.length > 0 && foreign.heard.length > 0 ? true : undefined))
  t.deepEqual(progress.heard, [{ subject: 'natjobs.resp.r1', text: 'for alice' }])
  t.deepEqual(notices.heard, [{ subject: 'notifications', text: 'note' }])
  t.deepEqual(foreign.heard, [{ subject: 'natjobs.resp.r1', text: 'for bob' }])
})

test('a user may publish nowhere and subscribe to nothing but the own subjects', async (t) => {
  const [alice, bob] = [await newPerson(world.service), await newPerson(world.service)]
  const hers = await connectWith(await credentialsFrom(world.service, 'credentials', alice.token))
  for (const subject of ['natjobs.resp.r1', `natjobs.resp.${bob.id}.r1`, 'notifications', 'anything', '$SYS.REQ.SERVER.PING', '$JS.API.INFO', '_INBOX.x']) {
    t.regex((await publishRefusal(hers, subject)) ?? `published to ${subject}`, /permissions violation/i, subject)
  }
  for (const subject of ['>', `notifications.${bob.id}`, 'natjobs.queue.>', 'clusters.>', '$SYS.>', '$JS.>', '*']) {
    const { refused } = listen(hers, subject)
    t.regex(await until(`a refusal of ${subject}`, refused), /permissions violation/i, subject)
  }
  // Allowed by its form and still only the own account's: the other tenant's messages do not come here.
  const form = listen(hers, `natjobs.resp.${bob.id}.*`)
  const witness = listen(hers, 'natjobs.resp.end')
  await hers.flush()
  const sender = await platform()
  sender.publish(`natjobs.resp.${bob.id}.r1`, 'for bob')
  sender.publish(`natjobs.resp.${alice.id}.end`, 'for alice')
  await until('the own message', () => (witness.heard.length > 0 ? true : undefined))
  t.deepEqual(form.heard, [])
  t.is(form.refused(), undefined)
})

test('credentials for progress and notifications hear every tenant and may do nothing else', async (t) => {
  const watcher = await connectWith(await credentialsFrom(world.service, 'user_credentials', world.service.adminToken))
  const heard = listen(watcher, 'natjobs.resp.*.*')
  const notices = listen(watcher, 'notifications.*')
  await watcher.flush()
  const sender = await platform()
  sender.publish('natjobs.resp.77.a', '1')
  sender.publish('natjobs.resp.78.b', '2')
  sender.publish('notifications.78', '3')
  await until('every message', () => (heard.heard.length >= 2 && notices.heard.length >= 1 ? true : undefined))
  t.regex((await publishRefusal(watcher, 'natjobs.resp.77.a')) ?? '', /permissions violation/i)
  for (const subject of ['>', 'natjobs.queue.>', 'clusters.a.resources.x', '_INBOX.>', '$JS.API.>']) {
    t.regex(await until(`a refusal of ${subject}`, listen(watcher, subject).refused), /permissions violation/i, subject)
  }
})

test('credentials for the resource history of clusters hear that and may do nothing else', async (t) => {
  const watcher = await connectWith(await credentialsFrom(world.service, 'cluster-resource-history', world.service.adminToken))
  const heard = listen(watcher, 'clusters.*.resources.>')
  await watcher.flush()
  const sender = await platform()
  sender.publish('clusters.c1.resources.pods.web', 'changed')
  await until('the change', () => (heard.heard.length > 0 ? true : undefined))
  t.regex((await publishRefusal(watcher, 'clusters.c1.resources.pods.web')) ?? '', /permissions violation/i)
  for (const subject of ['>', 'clusters.>', 'natjobs.resp.>', 'notifications.*', '_INBOX.>']) {
    t.regex(await until(`a refusal of ${subject}`, listen(watcher, subject).refused), /permissions violation/i, subject)
  }
})

test("an admin's credentials reach everything of the platform's account, streams included, and no other account", async (t) => {
  const admin = await platform()
  const info = await admin.request('$JS.API.INFO', '', { timeout: 5_000 })
  t.falsy(info.json<{ error?: unknown }>().error)
  const alice = await newPerson(world.service)
  const hers = await connectWith(await credentialsFrom(world.service, 'credentials', alice.token))
  const inbox = listen(hers, '_INBOX.hers')
  const progress = listen(hers, 'natjobs.resp.done')
  await hers.flush()
  admin.publish('_INBOX.hers', 'from outside')
  admin.publish(`natjobs.resp.${alice.id}.done`, 'end')
  await until('the end', () => (progress.heard.length > 0 ? true : undefined))
  t.deepEqual(inbox.heard, [])
})

test('credentials are issued to the user only: not to ordinary users by the routes of admins, and not under sudo', async (t) => {
  const alice = await newPerson(world.service)
  for (const path of ['admin_credentials', 'user_credentials', 'cluster-resource-history']) {
    t.is((await world.service.send('GET', `/api/v1/user/bus/${path}`, { token: alice.token })).status, 403, path)
  }
  for (const path of ['credentials', 'admin_credentials', 'user_credentials', 'cluster-resource-history']) {
    t.is((await world.service.send('GET', `/api/v1/user/bus/${path}?sudo=${alice.username}`, { token: world.service.adminToken })).status, 403, path)
    t.is((await world.service.send('GET', `/api/v1/user/bus/${path}`)).status, 401, path)
  }
  const readOnly = await world.service.tokenFor(alice.username, ['read:user'])
  t.is((await world.service.send('GET', '/api/v1/user/bus/credentials', { token: readOnly })).status, 403)
})
