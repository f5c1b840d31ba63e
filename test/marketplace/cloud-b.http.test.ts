import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import type { ContractId } from '../../core/contracts/types.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, previousSecret, secretOf, startMarket } from './market-service.ts'
import { contractOf } from './store-of.ts'

const path = '/marketplaces/cloudB/notification/resource'
let service: MarketService
let org: string
test.before(async () => {
  // Not the port of the API.
  service = await startMarket('B', {
    settings: { MOORAGE_MARKETPLACE_LISTEN: 'localhost:0', MOORAGE_MARKETPLACE_ALERTS: 'alerts@vendor.example' },
  })
  const people = makePeople(service)
  org = await people.organization(await people.person('buyer'))
})
test.after.always(() => service?.stop())

const notify = (body: unknown, query = `secret=${secretOf}`): Promise<ServiceAnswer> =>
  service.sendTo('POST', `${path}?${query}`, { body })
const admin = (method: string, to: string, more: object = {}): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1${to}`, { token: service.adminToken, ...more })

const newApplication = (): string =>
  `/subscriptions/${randomUUID()}/resourceGroups/production/providers/Microsoft.Solutions/applications/app-${randomUUID()}`

/** The samples that the provider publishes, about one application. */
const samples = (applicationId: string) => ({
  accepted: {
    eventType: 'PUT',
    applicationId,
    eventTime: '2019-08-14T19:20:08.1707163Z',
    provisioningState: 'Accepted',
    plan: { publisher: 'publisherId', product: 'offer', name: 'skuName', version: '1.0.1' },
  },
  succeeded: {
    eventType: 'PUT',
    applicationId,
    eventTime: '2019-08-14T19:20:08.1707164Z',
    provisioningState: 'Succeeded',
    billingDetails: { resourceUsageId: randomUUID() },
    plan: { publisher: 'publisherId', product: 'offer', name: 'skuName', version: '1.0.1' },
  },
  failed: {
    eventType: 'PUT',
    applicationId,
    eventTime: '2019-08-14T19:20:09.1707163Z',
    provisioningState: 'Failed',
    applicationDefinitionId: '/subscriptions/x/resourceGroups/y/providers/Microsoft.Solutions/applicationDefinitions/z',
    error: {
      code: 'ErrorCode',
      message: 'error message',
      details: [{ code: 'DetailedErrorCode', message: 'error message' }],
    },
  },
  patched: {
    eventType: 'PATCH',
    applicationId,
    eventTime: '2019-08-14T19:20:10.1707163Z',
    provisioningState: 'Succeeded',
  },
  deleting: {
    eventType: 'DELETE',
    applicationId,
    eventTime: '2019-08-14T19:20:11.1707163Z',
    provisioningState: 'Deleting',
  },
  deleted: {
    eventType: 'DELETE',
    applicationId,
    eventTime: '2019-08-14T19:20:12.1707163Z',
    provisioningState: 'Deleted',
  },
  notDeleted: {
    eventType: 'DELETE',
    applicationId,
    eventTime: '2019-08-14T19:20:12.1707163Z',
    provisioningState: 'Failed',
    error: { code: 'ErrorCode', message: 'error message' },
  },
})

interface SubscriptionWire {
  readonly subscriptionId: string
  readonly state: string
  readonly contractIDs: readonly number[]
  readonly formerSubscriptionId: string
  readonly noOfAlertNotificationsSent: number
  readonly cloudBBillingDetails: Readonly<Record<string, string>>
}
const subscriptionOf = async (applicationId: string): Promise<SubscriptionWire | undefined> => {
  const { json } = await admin('GET', '/dashboard/marketplaces/subscriptions')
  return (json as SubscriptionWire[]).find(
    ({ cloudBBillingDetails }) => cloudBBillingDetails['resourceUri'] === applicationId,
  )
}
const stateOf = async (applicationId: string): Promise<string | undefined> =>
  (await subscriptionOf(applicationId))?.state

interface HistoryEvent {
  readonly operationType: string
  readonly status: string
}
const historyOf = async (id: string): Promise<readonly HistoryEvent[]> => {
  const { json } = await admin('GET', `/dashboard/marketplaces/CloudB/${id}/audit-logs`)
  return Object.values(json['auditReports'] as Readonly<Record<string, readonly HistoryEvent[]>>).flat()
}

const bind = (applicationId: string, installer: Parameters<typeof bindOf>[0], changes: object = {}) => ({
  eventType: 'BIND',
  applicationId,
  eventTime: new Date().toISOString(),
  bindingInfo: bindOf(installer, { ...changes }),
})

test('an application that is bought again after its deletion begins a new subscription', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  const product = { product: 'database', features: ['db-basic'] }
  const [old, installer] = [
    await service.createInstaller(),
    await service.createInstaller({ account: org, products: [product] }),
  ]
  t.is((await notify(sent.succeeded)).status, 200)
  t.is((await notify(bind(application, old))).status, 200)
  t.is((await notify(sent.deleted)).status, 200)
  const former = await subscriptionOf(application)
  t.is(former?.state, 'Deleted')
  // A repetition of what was before the deletion changes nothing.
  t.is((await notify({ ...sent.accepted, eventTime: '2019-08-14T19:20:12Z' })).status, 200)
  t.is((await subscriptionOf(application))?.subscriptionId, former?.subscriptionId)
  const again = { ...sent.succeeded, eventTime: '2019-08-15T08:00:00Z' }
  for (const { status } of await Promise.all([notify(again), notify(again)])) t.is(status, 200)
  const next = await subscriptionOf(application)
  t.like(next, { state: 'Pending', formerSubscriptionId: former?.subscriptionId })
  t.not(next?.subscriptionId, former?.subscriptionId)
  // A deletion that was dated before the purchase is about the former.
  t.is((await notify({ ...sent.deleted, eventTime: '2019-08-14T19:20:11.9Z' })).status, 200)
  t.is((await notify(bind(application, installer))).status, 200)
  t.is(await stateOf(application), 'Running')
  t.is((await subscriptionOf(application))?.contractIDs.length, 1)
  const operations = (await historyOf(next!.subscriptionId)).map(
    ({ operationType, status }) => `${operationType} ${status}`,
  )
  for (const event of ['DELETE Deleted Succeeded', 'repurchase Succeeded', 'DELETE Deleted Ignored'])
    t.true(operations.includes(event), operations.join())
  t.is((await notify({ ...sent.deleted, eventTime: '2019-08-16T08:00:00Z' })).status, 200)
  t.is(await stateOf(application), 'Deleted')
})

test('a bind after the deletion begins a new subscription, which the purchase joins', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  t.is((await notify(sent.succeeded)).status, 200)
  t.is((await notify(sent.deleted)).status, 200)
  const installer = await service.createInstaller()
  t.is((await notify({ ...bind(application, installer), eventTime: '2019-08-14T19:20:12Z' })).status, 400)
  t.is((await notify(bind(application, installer))).status, 200)
  t.is(await stateOf(application), 'Bounded')
  t.is((await notify({ ...sent.succeeded, eventTime: '2019-08-15T08:00:00Z' })).status, 200)
  t.is(await stateOf(application), 'Running')
})

test('an undatable purchase is ignored and notified to an operator once', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  t.is((await notify(sent.succeeded)).status, 200)
  t.is((await notify(sent.deleting)).status, 200)
  for (const eventTime of ['2019-08-15T08:00:00Z', '2019-08-15T09:00:00Z'])
    t.is((await notify({ ...sent.accepted, eventTime })).status, 200)
  t.like(await subscriptionOf(application), { state: 'Deleting', noOfAlertNotificationsSent: 1 })
  // The completed deletion may arrive after the purchase: the next event of the purchase begins.
  t.is((await notify(sent.deleted)).status, 200)
  t.is((await notify({ ...sent.succeeded, eventTime: '2019-08-15T10:00:00Z' })).status, 200)
  t.is(await stateOf(application), 'Pending')
})

test('a PATCH is answered with 200 and recorded as ignored', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  t.is((await notify(sent.patched)).status, 200)
  t.is(await stateOf(application), undefined)
  t.is((await notify(sent.succeeded)).status, 200)
  t.is((await notify({ ...sent.patched, eventTime: '2019-08-15T08:00:00Z' })).status, 200)
  const id = (await subscriptionOf(application))?.subscriptionId ?? ''
  t.like(
    (await historyOf(id)).find(({ operationType }) => operationType.startsWith('PATCH')),
    { status: 'Ignored' },
  )
})

test('an application is bought, provisioned, bound and deleted', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  const product = { product: 'database', features: ['db-basic'] }
  const installer = await service.createInstaller({ account: org, products: [product], contact: 'buyer@example.com' })
  for (const body of [sent.accepted, sent.succeeded]) {
    const { status, text } = await notify(body)
    t.deepEqual([status, text], [200, ''])
  }
  t.is(await stateOf(application), 'Pending')
  const bound = await notify(bind(application, installer))
  t.is(bound.status, 200, bound.text)
  t.deepEqual(Object.keys(bound.json), ['link'])
  const subscription = await subscriptionOf(application)
  t.is(subscription?.state, 'Running')
  t.is(subscription?.cloudBBillingDetails['resourceUsageId'], sent.succeeded.billingDetails.resourceUsageId)

  const [contractId] = (subscription?.contractIDs ?? []) as readonly ContractId[]
  if (contractId === undefined) return t.fail('no contract began')
  t.is((await contractOf(service, contractId))?.revokedAt, undefined)
  t.is((await contractOf(service, contractId))?.ownerName, org)
  t.is((await notify(sent.deleting)).status, 200)
  t.not((await contractOf(service, contractId))?.revokedAt, undefined, 'revoked before the application is gone')
  t.is((await notify(sent.deleted)).status, 200)
  t.is(await stateOf(application), 'Deleted')

  const { json } = await admin('GET', `/dashboard/marketplaces/CloudB/${subscription?.subscriptionId}/audit-logs`)
  const events = Object.values(json.auditReports as Record<string, { operationType: string; status: string }[]>).flat()
  t.deepEqual(
    events.map(({ operationType, status }) => `${operationType} ${status}`),
    ['PUT Accepted', 'PUT Succeeded', 'BIND', 'DELETE Deleting', 'DELETE Deleted'].map((each) => `${each} Succeeded`),
  )
  const mails = service.mailFolder
  await until(
    'the contact has a mail about the bind',
    () =>
      readdirSync(mails).some((name) => readFileSync(join(mails, name), 'utf8').includes('buyer@example.com')) ||
      undefined,
  )
})

test('late events change nothing, and are answered in the same way', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  for (const body of [sent.succeeded, sent.accepted]) t.is((await notify(body)).status, 200)
  t.is(await stateOf(application), 'Pending')
  t.is((await notify(sent.deleted)).status, 200)
  for (const body of [sent.failed, sent.succeeded, { ...sent.accepted, eventTime: sent.deleted.eventTime }])
    t.deepEqual([(await notify(body)).status, await stateOf(application)], [200, 'Deleted'])
})

test('deleting an unknown application is 403 and blocks an earlier creation', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  t.is((await notify(sent.deleted)).status, 403)
  t.is((await notify(sent.deleted)).status, 403)
  t.is((await notify(sent.succeeded)).status, 200)
  t.is(await stateOf(application), undefined)
  const installer = await service.createInstaller()
  t.is((await notify({ ...bind(application, installer), eventTime: '2019-08-14T19:20:12Z' })).status, 400)
  t.is((await notify({ ...sent.succeeded, eventTime: '2019-08-15T08:00:00Z' })).status, 200)
  t.is(await stateOf(application), 'Pending', 'it was bought after the deletion')
})

test('a fault is kept, and so is a deletion that failed, about which a mail is sent', async (t) => {
  const [failed, kept] = [newApplication(), newApplication()]
  t.is((await notify(samples(failed).failed)).status, 200)
  t.is(await stateOf(failed), 'Failed')
  for (const body of [samples(kept).succeeded, samples(kept).deleting, samples(kept).notDeleted])
    t.is((await notify(body)).status, 200)
  t.is(await stateOf(kept), 'DeletionFailed')
  t.is(
    ((await subscriptionOf(kept)) as unknown as { noOfAlertNotificationsSent: number }).noOfAlertNotificationsSent,
    1,
  )
})

test('an application is the same in any case, with or without its first slash', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  t.is((await notify(sent.accepted)).status, 200)
  t.is((await notify({ ...sent.succeeded, applicationId: application.slice(1).toUpperCase() })).status, 200)
  t.is((await notify({ ...sent.deleted, applicationId: application.toUpperCase() })).status, 200)
  t.is(await stateOf(application), 'Deleted')
})

test('unknown input is 400 and changes nothing', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  const installer = await service.createInstaller()
  const wrong: readonly unknown[] = [
    { ...sent.accepted, eventType: 'put' },
    { ...sent.accepted, eventType: undefined },
    { ...sent.accepted, provisioningState: 'Deleted' },
    { ...sent.accepted, provisioningState: undefined },
    { ...sent.deleted, provisioningState: 'Succeeded' },
    { ...sent.accepted, applicationId: 'app' },
    { ...sent.accepted, applicationId: undefined },
    { ...sent.accepted, applicationId: 7 },
    { ...sent.accepted, eventTime: '14 August' },
    { ...sent.accepted, plan: [] },
    bind(application, { marketplace: 'CloudB', ref: 'c'.repeat(32) }),
    { ...bind(application, installer), bindingInfo: undefined },
    bind(application, { ...installer, marketplace: 'CloudA' }),
    bind(application, installer, { clusterId: ' ' }),
    [],
    'null',
    '{"eventType":"PUT","eventType":"DELETE"}',
  ]
  for (const body of wrong) {
    const { status, json } = await notify(body)
    t.is(status, 400, JSON.stringify(body))
    t.deepEqual(Object.keys(json), ['message'])
  }
  t.is(await stateOf(application), undefined)
})

test('the exact secret is required, and the previous one while configured', async (t) => {
  const { accepted } = samples(newApplication())
  const refused = [
    '',
    'secret=',
    'secret=wrong',
    `secret=${secretOf}x`,
    `secret=${secretOf.toUpperCase()}`,
    `secret=${secretOf}&secret=${secretOf}`,
    `secret=wrong&secret=${secretOf}`,
    `sig=${secretOf}`,
    `token=${secretOf}`,
  ]
  const answers = []
  for (const query of refused) answers.push(await notify(accepted, query), await notify('{', query))
  t.is(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1)
  t.is(answers[0]?.status, 403)
  t.is((await notify(accepted, `secret=${previousSecret}`)).status, 200)
  t.is((await notify(accepted, `api-version=1&secret=${secretOf}`)).status, 200)
  t.false(service.logText().includes(secretOf))
  t.false(service.logText().includes(previousSecret))
})

test('an installer is bound to one application, and an application to one installer', async (t) => {
  const [first, second] = [newApplication(), newApplication()]
  const [one, other] = [await service.createInstaller(), await service.createInstaller()]
  const body = bind(first, one)
  const link = await notify(body)
  t.is(link.status, 200)
  t.is((await notify({ ...body, eventTime: '2026-11-20T12:00:00Z' })).text, link.text)
  t.is((await notify(bind(first, other))).status, 400)
  t.is((await notify(bind(second, one, { clusterId: body.bindingInfo.clusterId }))).status, 400)
  t.is((await notify(bind(first, one))).status, 400, 'another cluster')
  t.is(await stateOf(first), 'Bounded')
  t.is(await stateOf(second), undefined)
  t.is((await notify(samples(first).succeeded)).status, 200)
  t.is(await stateOf(first), 'Running')
})

test('the same notification many times at once is applied once', async (t) => {
  const application = newApplication()
  const sent = samples(application)
  const answers = await Promise.all(Array.from({ length: 20 }, () => notify(sent.accepted)))
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const different = await Promise.all([sent.succeeded, sent.deleting, sent.deleted].map((body) => notify(body)))
  t.deepEqual([...new Set(different.map(({ status }) => status))], [200])
  t.is(await stateOf(application), 'Deleted')
  const subscription = await subscriptionOf(application)
  const { json } = await admin('GET', `/dashboard/marketplaces/CloudB/${subscription?.subscriptionId}/audit-logs`)
  const events = Object.values(json.auditReports as Record<string, { operationType: string }[]>).flat()
  t.is(events.filter(({ operationType }) => operationType === 'PUT Accepted').length, 1)
})

test('a site admin revokes a subscription, and other ids are 400 or 404', async (t) => {
  const application = newApplication()
  await notify(samples(application).succeeded)
  const subscription = await subscriptionOf(application)
  const own = `/dashboard/marketplaces/CloudB/${subscription?.subscriptionId}`
  t.is((await admin('GET', own)).json.isRevocable, true)
  t.is((await admin('DELETE', own)).status, 200)
  t.is((await admin('DELETE', own)).status, 200)
  t.is(await stateOf(application), 'Revoked')
  t.is((await notify({ ...samples(application).accepted, eventTime: '2030-01-01T00:00:00Z' })).status, 200)
  t.is(await stateOf(application), 'Revoked')
  t.is((await admin('GET', `/dashboard/marketplaces/CloudB/${randomUUID()}`)).status, 404)
  t.is((await admin('GET', `/dashboard/marketplaces/CloudA/${subscription?.subscriptionId}`)).status, 404)
  t.is((await admin('GET', `/dashboard/marketplaces/CloudX/${subscription?.subscriptionId}`)).status, 400)
  t.is((await admin('GET', '/dashboard/marketplaces/CloudB/7')).status, 400)
})

test('the warnings name the settings that must be corrected', async (t) => {
  const { json } = await admin('GET', '/dashboard/marketplaces/settings/warnings')
  t.deepEqual(
    json.warnings.marketplace.map((warning: string) => warning.split(' ')[0]),
    ['MOORAGE_MARKETPLACE_PREVIOUS_SECRET'],
  )
})

test('only site admins with the scope reach the routes of administration', async (t) => {
  const people = makePeople(service)
  const stranger = await people.person('stranger')
  const limited = await service.tokenFor('admin', ['read:cluster'])
  const routes: readonly [string, string][] = [
    ['GET', '/dashboard/marketplaces/subscriptions'],
    ['GET', '/dashboard/marketplaces/settings/warnings'],
    ['GET', `/dashboard/marketplaces/CloudB/${randomUUID()}`],
    ['DELETE', `/dashboard/marketplaces/CloudB/${randomUUID()}`],
    ['GET', `/dashboard/marketplaces/CloudB/${randomUUID()}/audit-logs`],
    ['PUT', `/dashboard/marketplaces/CloudB/${randomUUID()}/console`],
    ['GET', `/dashboard/marketplaces/CloudB/${randomUUID()}/ping`],
    ['GET', '/orgs/claim'],
    ['PATCH', `/orgs/claim/${'a'.repeat(32)}`],
    ['GET', `/platform-installer/deployment/marketplace/installers/${'a'.repeat(32)}/status`],
  ]
  for (const [method, to] of routes) {
    t.is((await service.send(method, `/api/v1${to}`)).status, 401, to)
    t.is((await service.send(method, `/api/v1${to}`, { token: stranger.token })).status, 403, to)
    t.is((await service.send(method, `/api/v1${to}`, { token: limited })).status, 403, to)
  }
  const declared = service.running.assembly.routes.filter(({ pluginId }) => pluginId === 'marketplace')
  t.is(declared.filter(({ bound }) => bound.route.access.kind === 'site-admin').length, routes.length)
})

test('each listener has its own routes', async (t) => {
  t.is((await service.sendTo('GET', '/version')).status, 200)
  const { marketplaceUrl = '', baseUrl } = service.running
  t.not(new URL(marketplaceUrl).port, new URL(baseUrl).port)
  const elsewhere = await fetch(`${marketplaceUrl}/api/v1/version`)
  t.is(elsewhere.status, 404)
  t.deepEqual(Object.keys((await elsewhere.json()) as object), ['message'])
  t.is((await fetch(`${marketplaceUrl}/`)).status, 404)
  const page = await service.send('GET', '/marketplace/api/v1/version')
  t.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
})
