import { makeChangePageSizes } from '../../core/identity/accounts/page-sizes.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

onEachDatabase('page sizes are stored for each user, are recorded in the log, and are deleted with the account', async (t, world) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const { pageSizes, users } = world.deps.stores
  const change = makeChangePageSizes(world.deps)
  t.is(await pageSizes.find(ada.id), undefined)
  unwrap(await change(callBy(ada), { platformUi: 25 }))
  unwrap(await change(callBy(ada), { consoleUi: 1_000 }))
  unwrap(await change(callBy(bob), { productUi: 1 }))
  t.is(tagOf(await change(callBy(bob), { productUi: 5, consoleUi: 0 })), 'PageSizeInvalid')
  t.deepEqual(await pageSizes.find(ada.id), { productUi: 10, consoleUi: 1_000, platformUi: 25 })
  t.deepEqual(await pageSizes.find(bob.id), { productUi: 1, consoleUi: 10, platformUi: 10 })
  const told = (await world.auditRows()).filter(({ action }) => action === 'user.page_sizes_changed')
  t.deepEqual(told.map(({ tenant_id, changes }) => [Number(tenant_id), JSON.parse(changes)]), [
    [ada.id, { platformUi: 25 }],
    [ada.id, { consoleUi: 1_000 }],
    [bob.id, { productUi: 1 }],
  ])
  await users.remove(ada.id)
  t.is(await pageSizes.find(ada.id), undefined)
})
