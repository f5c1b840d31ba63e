// process: own - breaks what a service needs
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { localClock } from '../../adapters/system/system-clock.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl } from '../support/databases.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, secretOf, startMarket } from './market-service.ts'

/** On a server, transactions run at the same time. */
if (!isSwitchedOff('mariadb')) {
  let service: MarketService
  let org: string
  let link: FaultProxy
  let shared: Readonly<Record<string, string>>
  const folder = mkdtempSync(join(tmpdir(), 'moorage-market-races-'))
  test.before(async () => {
    const url = new URL(await migratedMysqlUrl())
    shared = { MOORAGE_DATABASE_URL: url.href, MOORAGE_KEYRING: join(folder, 'keyring.json') }
    link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(link.port)
    service = await startMarket('B', { settings: { ...shared, MOORAGE_DATABASE_URL: url.href } })
    const people = makePeople(service)
    org = await people.organization(await people.person('buyer'))
  })
  test.after.always(async () => {
    await service?.stop()
    await link?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const notify = (body: unknown, at: MarketService = service) =>
    at.sendTo('POST', `/marketplaces/cloudB/notification/resource?secret=${secretOf}`, { body })

  const newApplication = (): string =>
    `/subscriptions/${randomUUID()}/resourceGroups/g/providers/Microsoft.Solutions/applications/app`
  const newInstaller = () =>
    service.createInstaller({ account: org, products: [{ product: 'database', features: ['db-basic'] }] })
  const ofApplication = async (applicationId: string) => {
    const { items } = await service.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 100 })
    return items.filter((each) => each.applicationId === applicationId)
  }

  test.serial('concurrent events of one application leave one running subscription', async (t) => {
    const applicationId = newApplication()
    const installer = await newInstaller()
    const put = (provisioningState: string, eventTime: string) => ({
      eventType: 'PUT',
      applicationId,
      eventTime,
      provisioningState,
    })
    const bind = {
      eventType: 'BIND',
      applicationId,
      eventTime: '2026-11-20T12:00:00Z',
      bindingInfo: bindOf(installer),
    }
    const bodies = [
      put('Accepted', '2026-11-20T11:00:00.0000001Z'),
      put('Succeeded', '2026-11-20T11:00:00.0000002Z'),
      bind,
    ]
    const answers = await Promise.all(bodies.flatMap((body) => Array.from({ length: 10 }, () => notify(body))))
    t.deepEqual(
      [...new Set(answers.map(({ status }) => status))],
      [200],
      answers.find(({ status }) => status !== 200)?.text ?? '',
    )
    t.is(new Set(answers.slice(20).map(({ text }) => text)).size, 1)
    t.deepEqual(
      (await ofApplication(applicationId)).map(({ state, contractIds }) => [state, contractIds.length]),
      [['Running', 1]],
    )
  })

  test.serial('notifications during a database outage are 503 and succeed repeated', async (t) => {
    const applicationId = newApplication()
    const bindingInfo = bindOf(await newInstaller())
    const body = { eventType: 'BIND', applicationId, eventTime: '2026-11-20T12:00:00.1707163Z', bindingInfo }
    const cut = link.cutAfterClientBytesMatching('commit')
    const lost = await notify(body)
    await cut
    t.is(lost.status, 503, lost.text)
    t.deepEqual([Object.keys(lost.json), lost.headers['retry-after'] === undefined], [['message'], false])
    const answers = [await notify(body), await notify(body)]
    t.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      answers[0]?.text ?? '',
    )
    t.is(answers[0]?.text, answers[1]?.text)
    t.deepEqual(
      (await ofApplication(applicationId)).map(({ state, contractIds }) => [state, contractIds.length]),
      [['Bounded', 1]],
    )
  })

  test.serial('an instance two hours off binds and issues valid links', async (t) => {
    const hours = 2 * 3_600_000
    const shifted = await startMarket('B', {
      settings: { ...shared, MOORAGE_BASE_URL: service.baseUrl },
      localClock: { ...localClock, wallMs: () => localClock.wallMs() + hours },
    })
    t.teardown(() => shifted.stop())
    const applicationId = newApplication()
    const bindingInfo = bindOf(await newInstaller())
    const body = { eventType: 'BIND', applicationId, eventTime: '2026-11-20T12:00:00.1707163Z', bindingInfo }
    const first = await notify(body, shifted)
    t.is(first.status, 200, first.text)
    t.deepEqual((await notify(body)).json, first.json)
    const { pathname, search, searchParams } = new URL(first.json.link as string)
    const left = Number(searchParams.get('expires')) - Date.now()
    t.true(Math.abs(left - 12 * hours) < hours / 4, `${left}`)
    for (const each of [service, shifted]) t.is((await each.send('GET', pathname + search)).status, 200)
    // The times of events count among themselves: the clock of the provider may be off as well.
    const put = (provisioningState: string, at: number) =>
      notify({ eventType: 'PUT', applicationId, eventTime: new Date(at).toISOString(), provisioningState })
    t.is((await put('Succeeded', Date.now() + hours)).status, 200)
    t.is((await ofApplication(applicationId))[0]?.state, 'Running')
    t.is((await put('Failed', Date.now() - hours)).status, 200)
    t.is((await ofApplication(applicationId))[0]?.state, 'Running')
  })
}
