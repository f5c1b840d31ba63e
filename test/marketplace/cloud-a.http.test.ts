import { randomUUID } from 'node:crypto'
import test from 'ava'
import { InstallerStorePort, SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, installerAddress, startMarket } from './market-service.ts'
import { openStoreOf } from './store-of.ts'

const path = '/marketplaces/cloudA/notification/resource'
let service: MarketService
test.before(async () => {
  service = await startMarket('A')
})
test.after.always(() => service?.stop())

const notify = (
  body: unknown,
  from: string = installerAddress,
  headers: Readonly<Record<string, string>> = {},
): Promise<ServiceAnswer> => service.sendTo('POST', path, { body, headers: { 'X-Forwarded-For': from, ...headers } })

const notification = (bindingInfo: unknown, changes: Readonly<Record<string, unknown>> = {}) => ({
  eventType: 'subscribe-success',
  eventTime: new Date().toISOString(),
  bindingInfo,
  ...changes,
})

const subscriptions = async () =>
  (await service.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 100 })).items

test('the version is served without a credential, and none is read', async (t) => {
  const asked = [
    {},
    { headers: { Authorization: 'Bearer wrong' } },
    { headers: { Cookie: 'moorage_session=wrong' } },
    { token: service.adminToken },
  ]
  for (const options of asked) {
    const { status, json } = await service.sendTo('GET', '/version', options)
    t.is(status, 200)
    t.regex(json.version, /^v\d{4}\.\d{1,2}\.\d{1,2}$/)
  }
  t.is((await service.sendTo('GET', '/version?token=wrong')).status, 200)
  t.is((await service.sendTo('GET', '/version/')).status, 200)
})

test('refusals of this listener have a message and nothing else', async (t) => {
  const answers = [
    await service.sendTo('GET', '/nothing'),
    await service.sendTo('DELETE', '/version'),
    await service.sendTo('POST', path, { body: '{' }),
    await notify('{'),
    await notify({}),
    await notify([]),
    await notify({ padding: 'x'.repeat(300_000) }),
    await service.sendTo('POST', path, { body: 'x', headers: { 'Content-Type': 'text/plain' } }),
  ]
  t.deepEqual(
    answers.map(({ status }) => status),
    [404, 405, 403, 400, 400, 400, 413, 403],
  )
  for (const { json } of answers) t.deepEqual(Object.keys(json), ['message'])
})

test('a bind is answered with a link to the archive, and again with the same link', async (t) => {
  const installer = await service.createInstaller()
  const binding = bindOf(installer, {
    cloudAAccountID: '123456789012',
    domainWhiteList: ['acme.example'],
    options: { a: 1 },
  })
  const first = await notify(notification(binding))
  t.is(first.status, 200, first.text)
  t.deepEqual(Object.keys(first.json), ['link'])
  const again = await notify(notification(binding, { eventTime: '2026-11-20T12:00:00.1707163Z' }))
  t.deepEqual([again.status, again.json], [200, first.json])
  const { pathname, search } = new URL(first.json.link)
  const archive = await service.send('GET', pathname + search)
  t.is(archive.status, 200)
  t.is(archive.headers['content-type'], 'application/gzip')
  t.is((await service.send('GET', pathname + search.replace('signature=', 'signature=A'))).status, 400)
  t.is((await service.send('GET', pathname + search.replace(/expires=\d/, 'expires=9'))).status, 403)
  t.is((await service.send('GET', pathname.replace(installer.ref, 'a'.repeat(32)) + search)).status, 403)
  const status = await service.send(
    'GET',
    `/api/v1/platform-installer/deployment/marketplace/installers/${installer.ref}/status`,
    { token: service.adminToken },
  )
  t.deepEqual([status.json.status, status.json.link, status.json.isExpired], ['Bound', first.json.link, false])
})

test('fields that are not known are ignored, and the type of the event may be any text', async (t) => {
  const installer = await service.createInstaller()
  const odd = notification({ ...bindOf(installer), novelty: true }, { eventType: 'something new', more: { a: [] } })
  const { status, text } = await notify(odd)
  t.is(status, 200, text)
  const bare = await service.createInstaller()
  t.is((await notify({ bindingInfo: bindOf(bare) })).status, 200)
})

test('another cluster, account or installer is 400 and changes nothing', async (t) => {
  const installer = await service.createInstaller()
  const binding = bindOf(installer, { cloudAAccountID: '123456789012' })
  t.is((await notify(notification(binding))).status, 200)
  const ofInstaller = async () => (await subscriptions()).filter(({ installerRef }) => installerRef === installer.ref)
  const before = await ofInstaller()
  const time = new Date().toISOString()
  const wrong = [
    notification({ ...binding, clusterId: randomUUID() }, { eventTime: time }),
    notification({ ...binding, cloudAAccountID: '210987654321' }, { eventTime: time }),
    notification(bindOf({ ...installer, ref: 'b'.repeat(32) })),
    notification({ ...binding, marketplace: 'CloudB' }),
    notification({ ...binding, marketplace: undefined }),
    notification({ ...binding, clusterId: '' }),
    notification({ ...binding, installerId: '' }),
    notification({ ...binding, cloudAAccountID: '12' }),
    notification({ ...binding, options: [] }),
    notification({ ...binding, installerId: 7 }),
    notification(binding, { eventTime: 'yesterday' }),
    notification(null),
    { eventType: 'subscribe-success' },
  ]
  for (const body of wrong) {
    const { status, json } = await notify(body)
    t.is(status, 400, JSON.stringify(body))
    t.is(typeof json.message, 'string')
  }
  t.deepEqual(await ofInstaller(), before)
  t.is(before.length, 1)
})

test('an installer that has expired is not bound', async (t) => {
  const installer = await service.createInstaller({ validDays: 1 })
  await openStoreOf(service, (database) =>
    database.query((k) => k('marketplace_installers').where('ref', installer.ref).update({ expires_at: 1 })),
  )
  t.is((await notify(notification(bindOf(installer)))).status, 400)
})

test('only provider addresses are accepted, as trusted proxies report them', async (t) => {
  const installer = await service.createInstaller()
  const body = notification(bindOf(installer))
  const refused = ['203.0.113.9', '127.0.0.1', '::1', `${installerAddress}, 203.0.113.9`, 'nonsense', '2001:db8::1']
  for (const from of refused) t.is((await notify(body, from)).status, 403, from)
  t.is((await service.sendTo('POST', path, { body })).status, 403)
  const heard = ['::ffff:3.80.0.1', `203.0.113.9, ${installerAddress}`, '2406:da1a::1']
  const [mapped, behind] = [await notify(body, heard[0]), await notify(body, heard[1])]
  t.deepEqual([mapped.status, behind.status], [200, 200])
})

test('a sender that is not proven learns nothing about its notification', async (t) => {
  const answers = [
    await notify(notification(bindOf(await service.createInstaller())), '203.0.113.9'),
    await notify('{', '203.0.113.9'),
    await notify({}, '203.0.113.9'),
  ]
  t.is(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
  t.is(answers[0]?.status, 403)
})

test('notifications of other clouds are refused, whatever their secret', async (t) => {
  for (const cloud of ['cloudB', 'cloudC'])
    t.is(
      (await service.sendTo('POST', `/marketplaces/${cloud}/notification/resource?secret=x`, { body: {} })).status,
      403,
    )
})

test('fifty copies at once bind once, and all get the same link', async (t) => {
  const people = makePeople(service)
  const org = await people.organization(await people.person('buyer'))
  const installer = await service.createInstaller({
    account: org,
    products: [{ product: 'database', features: ['db-basic'] }],
    contact: 'buyer@example.com',
  })
  const body = notification(bindOf(installer))
  const answers = await Promise.all(Array.from({ length: 50 }, () => notify(body)))
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  t.is(new Set(answers.map(({ text }) => text)).size, 1)
  const bound = (await subscriptions()).filter(({ installerRef }) => installerRef === installer.ref)
  t.is(bound.length, 1)
  t.is(bound[0]?.contractIds.length, 1)
})

test('the password of a bind is neither stored nor logged', async (t) => {
  const installer = await service.createInstaller()
  const adminPassword = `pass-${randomUUID()}`
  const { status, text } = await notify(notification(bindOf(installer, { adminUsername: 'root', adminPassword })))
  t.is(status, 200, text)
  t.false(service.logText().includes(adminPassword))
  const stored = await openStoreOf(service, (database) =>
    database.query((k) => k('marketplace_installers').where('ref', installer.ref).select('*')),
  )
  t.like(stored, [{ admin_username: 'root', admin_password: null }])
})

test('a password that an earlier release stored is erased a day after the bind', async (t) => {
  const installer = await service.createInstaller()
  const { container } = service.running
  const erase = () => container.resolve(InstallerStorePort).erasePasswordsBefore(new Date())
  await notify(notification(bindOf(installer)))
  await openStoreOf(service, (database) =>
    database.query((k) => k('marketplace_installers').where('ref', installer.ref).update({ admin_password: 'sealed' })),
  )
  t.is(await erase(), 1)
  t.is(await erase(), 0)
})
