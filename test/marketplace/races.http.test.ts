import { randomUUID } from 'node:crypto'
import test from 'ava'
import { SubscriptionStoreToken } from '../../core/marketplace/ports.ts'
import { makePeople } from '../clusters/cluster-world.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, secretOf, startMarket } from './market-service.ts'

/** On a server, transactions run at the same time. */
if (!isSwitchedOff('mariadb')) {
  let service: MarketService
  let org: string
  test.before(async () => {
    service = await startMarket('B', { database: 'mysql' })
    const people = makePeople(service)
    org = await people.organization(await people.person('buyer'))
  })
  test.after.always(() => service?.stop())

  const notify = (body: unknown) =>
    service.sendTo('POST', `/marketplaces/cloudB/notification/resource?secret=${secretOf}`, { body })

  test('binds, creations and repetitions of one application at once leave one subscription, which runs', async (t) => {
    const applicationId = `/subscriptions/${randomUUID()}/resourceGroups/g/providers/Microsoft.Solutions/applications/app`
    const installer = await service.createInstaller({
      account: org,
      products: [{ product: 'database', features: ['db-basic'] }],
    })
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
    const { items } = await service.running.container.resolve(SubscriptionStoreToken).list({ page: 1, limit: 9 })
    t.deepEqual(
      items.map(({ state, contractIds }) => [state, contractIds.length]),
      [['Running', 1]],
    )
  })
}
