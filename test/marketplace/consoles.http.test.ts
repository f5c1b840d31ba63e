// process: own - changes its process, or keeps it busy
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import test from 'ava'
import { makeNotificationLimits } from '../../adapters/marketplace/claim-allowance.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { accessKey, region, startCloudAProvider } from '../metering/cloud-a-provider.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, installerAddress, secretOf, startMarket } from './market-service.ts'
import { openStoreOf } from './store-of.ts'

/** The installation of a customer: its metering proxy, and what it was asked with. */
const startInstallation = async () => {
  const asked: { readonly path: string; readonly authorization: string }[] = []
  const state = { token: 'token-of-the-installation', status: 200 }
  const server = createServer((req, res) => {
    asked.push({ path: req.url ?? '', authorization: req.headers.authorization ?? '' })
    const isAdmitted = req.headers.authorization === `Bearer ${state.token}`
    res.statusCode = isAdmitted ? state.status : 401
    res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    asked,
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

const notificationPath = '/marketplaces/cloudA/notification/resource'
let provider: Awaited<ReturnType<typeof startCloudAProvider>>
let service: MarketService
test.before(async () => {
  provider = await startCloudAProvider()
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: accessKey.id,
    AWS_SECRET_ACCESS_KEY: accessKey.secret,
    AWS_SESSION_TOKEN: accessKey.session,
  })
  service = await startMarket('A', {
    settings: {
      MOORAGE_EGRESS_ALLOW: '127.0.0.0/8',
      MOORAGE_METERING_ENDPOINT: provider.origin,
      MOORAGE_METERING_REGION: region,
    },
  })
})
test.after.always(async () => {
  await service?.stop()
  await provider?.stop()
})

const admin = (method: string, path: string, body?: unknown) =>
  service.send(method, `/api/v1${path}`, { token: service.adminToken, ...(body === undefined ? {} : { body }) })
const bind = (body: unknown, at = service) =>
  at.sendTo('POST', notificationPath, { body, headers: { 'X-Forwarded-For': installerAddress } })
const notification = (bindingInfo: unknown) => ({ eventTime: new Date().toISOString(), bindingInfo })

/** A subscription whose installer was bound. */
const newSubscription = async (): Promise<string> => {
  const installer = await service.createInstaller()
  const bound = await bind(notification(bindOf(installer)))
  if (bound.status !== 200) throw new Error(bound.text)
  const { items } = await service.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 50 })
  const found = items.find(({ installerRef }) => installerRef === installer.ref)
  if (found === undefined) throw new Error('The subscription is not found.')
  return found.ref
}
const usage = (hoursAgo: number) => ({
  ProductCode: 'product-1',
  Timestamp: new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - hoursAgo * 3_600_000).toISOString(),
  UsageDimension: `nodes-${randomUUID()}`,
  UsageQuantity: 3,
})
const report = (body: unknown) => admin('POST', '/proxy/metered-billing/marketplaces/cloudA/report-usage', body)

test.serial('the first accepted usage starts a subscription, and each one counts', async (t) => {
  const id = await newSubscription()
  const at = `/dashboard/marketplaces/CloudA/${id}`
  t.like((await admin('GET', at)).json, { state: 'Bounded', noOfBillingEventSent: 0 })
  t.is((await report({ ...usage(1), ProductCode: 'other' })).status, 400)
  t.is((await report({ ...usage(1), DryRun: true })).status, 200)
  t.is((await admin('GET', at)).json.state, 'Bounded', 'what is refused, or dry, is no usage')
  const sent = usage(1)
  const accepted = await report(sent)
  t.is(accepted.status, 200)
  const running = (await admin('GET', at)).json
  t.like(running, { state: 'Running', noOfBillingEventSent: 1 })
  t.is(typeof running.lastBillingEventSentAt, 'string')
  t.is((await report(sent)).status, 200)
  t.is((await report(usage(2))).status, 200)
  t.like((await admin('GET', at)).json, { state: 'Running', noOfBillingEventSent: 2 })
  const { auditReports } = (await admin('GET', `${at}/audit-logs`)).json
  const events = Object.values(auditReports).flat() as { operationType: string }[]
  t.is(events.filter(({ operationType }) => operationType === 'report-usage').length, 1)

  const page = (await admin('GET', `/dashboard/marketplaces/metering/calls?subscription=${id}`)).json
  t.deepEqual(
    page.map(({ outcome, code }: Record<string, string>) => [outcome, code]),
    [
      ['accepted', ''],
      ['accepted', ''],
      ['refused', 'InvalidProductCodeException'],
    ],
  )
  t.like(page[1], { product: 'product-1', dimension: sent.UsageDimension, quantity: '3', askedBy: 'admin' })
  const listed = await admin(
    'GET',
    `/dashboard/marketplaces/metering/usage?subscription=${id}&outcome=accepted&limit=1`,
  )
  t.deepEqual([listed.json.length, listed.headers['x-total-count']], [1, '2'])
  t.deepEqual(
    (await admin('GET', `/dashboard/marketplaces/metering/usage?until=${sent.Timestamp}&since=${sent.Timestamp}`)).json,
    [],
  )
  t.is((await admin('GET', '/dashboard/marketplaces/metering/usage?outcome=nothing')).status, 400)
  t.is((await admin('GET', '/dashboard/marketplaces/metering/usage?since=yesterday')).status, 400)

  // With a second one, it is not known which one it is.
  const second = await newSubscription()
  t.is((await report(usage(3))).status, 200)
  t.is((await admin('GET', `/dashboard/marketplaces/CloudA/${second}`)).json.state, 'Bounded')
  t.is((await admin('GET', '/dashboard/marketplaces/metering/calls?limit=1')).json[0].subscriptionId, '')
})

test.serial('an installation is probed with its token, which no answer contains', async (t) => {
  const installation = await startInstallation()
  t.teardown(() => installation.stop())
  const at = `/dashboard/marketplaces/CloudA/${await newSubscription()}`
  const unknown = await admin('GET', `${at}/ping`)
  t.is(unknown.status, 400)
  t.regex(unknown.json.message, /not known/)

  const set = (hostedConsoleBaseURL: string, meteringProxyApiToken: string) =>
    admin('PUT', `${at}/console`, { hostedConsoleBaseURL, meteringProxyApiToken })
  t.is((await set(installation.url, installation.state.token)).status, 200)
  t.is((await admin('GET', `${at}/ping`)).status, 200)
  t.deepEqual(installation.asked, [
    {
      path: '/api/v1/proxy/metered-billing/marketplaces/cloudA/check/readiness',
      authorization: 'Bearer token-of-the-installation',
    },
  ])
  const details = { hostedConsoleBaseURL: installation.url, meteringProxyApiToken: '********' }
  t.deepEqual((await admin('GET', at)).json.cloudABillingDetails, details)
  t.deepEqual((await admin('GET', '/dashboard/marketplaces/subscriptions')).json[0].cloudABillingDetails, details)
  const stored = await openStoreOf(service, (database) =>
    database.query<{ metering_token: Uint8Array }>((k) =>
      k('marketplace_subscriptions').whereNot('console_url', '').select('metering_token'),
    ),
  )
  t.false(Buffer.from(stored[0]?.metering_token ?? '').includes(installation.state.token))
  t.false(service.logText().includes(installation.state.token))

  installation.state.status = 503
  t.regex((await admin('GET', `${at}/ping`)).json.message, /answers 503/)
  installation.state.token = 'another'
  t.like(await admin('GET', `${at}/ping`), { status: 400 })
  // Neither half is kept without the other: a token would go to another host.
  t.is((await set('https://elsewhere.example', '')).status, 422)
  t.is((await set('', 'token')).status, 422)
  for (const url of ['ftp://x.example', 'https://user@x.example', 'https://x.example/path', 'x'])
    t.is((await set(url, 'token')).status, 422, url)
  t.is((await admin('GET', at)).json.cloudABillingDetails.hostedConsoleBaseURL, installation.url)
  t.is((await set('', '')).status, 200)
  t.deepEqual((await admin('GET', at)).json.cloudABillingDetails, {
    hostedConsoleBaseURL: '',
    meteringProxyApiToken: '',
  })
  const absent = `/dashboard/marketplaces/CloudA/${randomUUID()}`
  t.is((await admin('GET', `${absent}/ping`)).status, 404)
  t.is((await admin('PUT', `${absent}/console`, { hostedConsoleBaseURL: '', meteringProxyApiToken: '' })).status, 404)
  t.is((await admin('GET', '/dashboard/marketplaces/CloudA/none/ping')).status, 400)
})

test.serial('a hosted console on a private address is not requested', async (t) => {
  const closed = await startMarket('A')
  t.teardown(() => closed.stop())
  const installation = await startInstallation()
  t.teardown(() => installation.stop())
  const installer = await closed.createInstaller()
  t.is((await bind(notification(bindOf(installer)), closed)).status, 200)
  const [{ ref } = { ref: '' }] = (
    await closed.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 1 })
  ).items
  const at = `/api/v1/dashboard/marketplaces/CloudA/${ref}`
  const body = { hostedConsoleBaseURL: installation.url, meteringProxyApiToken: 'token' }
  t.is((await closed.send('PUT', `${at}/console`, { token: closed.adminToken, body })).status, 200)
  t.is((await closed.send('GET', `${at}/ping`, { token: closed.adminToken })).status, 400)
  t.is(installation.asked.length, 0)
})

test('counts are of one key, for a minute', (t) => {
  const state = { nowMs: 0 }
  const limits = makeNotificationLimits(lruCaches, { refused: 2, binds: 1, nowMs: () => state.nowMs })
  t.deepEqual(['198.51.100.7', '198.51.100.7', '198.51.100.8'].map(limits.refused), [undefined, undefined, undefined])
  state.nowMs = 20_000
  t.is(limits.refused('198.51.100.7'), 40)
  t.is(limits.bind('a'), undefined)
  t.is(limits.bind('a'), 60)
  t.is(limits.bind('b'), undefined)
  state.nowMs = 60_000
  t.is(limits.refused('198.51.100.7'), undefined)
})

test.serial('an installer with too many binds waits, and others do not', async (t) => {
  const [named, other] = [await service.createInstaller(), await service.createInstaller()]
  let refused = await bind(notification(bindOf(named)))
  for (let sent = 0; refused.status !== 429 && sent < 200; sent += 1) refused = await bind(notification(bindOf(named)))
  t.is(refused.status, 429)
  t.true(Number(refused.headers['retry-after']) >= 1)
  t.deepEqual(Object.keys(refused.json), ['message'])
  t.is((await bind(notification(bindOf(other)))).status, 200)
})

test('wrong secrets are refused more and more shortly, and never stop the right one', async (t) => {
  const market = await startMarket('C', { settings: { MOORAGE_REFERENCE_NAMES: 'true' } })
  t.teardown(() => market.stop())
  const send = (query: string, body: unknown, path = 'cloudC') =>
    market.sendTo('POST', `/marketplaces/${path}/notification/resource${query}`, { body })
  const statuses: number[] = []
  for (let sent = 0; sent < 40; sent += 1) statuses.push((await send('?secret=wrong', {})).status)
  t.deepEqual([...new Set(statuses)], [403, 429])
  const refused = await send('', {})
  t.true(Number(refused.headers['retry-after']) >= 1)
  const installer = await market.createInstaller()
  t.is((await send(`?secret=${secretOf}`, notification(bindOf(installer)))).status, 200)

  // The names of the reference lead to the same routes.
  const next = await market.createInstaller()
  const binding = { ...bindOf(next), marketplace: 'Gcp' }
  t.is((await send(`?secret=${secretOf}`, notification(binding), 'gcp')).status, 200)
  t.is((await send(`?secret=${secretOf}`, notification(binding), 'aws')).status, 403)
  const status = `/api/v1/ace-installer/deployment/marketplace/installers/${next.ref}/status`
  t.is((await market.send('GET', status, { token: market.adminToken })).json.status, 'Bound')
  const { items } = await market.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 1 })
  const shown = await market.send('GET', `/api/v1/dashboard/marketplaces/Gcp/${items[0]?.ref ?? ''}`, {
    token: market.adminToken,
  })
  t.is(shown.json.cloudCBillingDetails.hostedB3BaseURL, '')
  const plain = await startMarket('C')
  t.teardown(() => plain.stop())
  t.is(
    (await plain.sendTo('POST', `/marketplaces/gcp/notification/resource?secret=${secretOf}`, { body: {} })).status,
    404,
  )
})
