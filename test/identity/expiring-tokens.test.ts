import { makeCreateToken } from '../../core/identity/tokens/access-tokens.ts'
import { makeRemoveExpiredTokens, makeWarnOfExpiringTokens } from '../../core/identity/tokens/expiry.ts'
import type { User } from '../../core/identity/types.ts'
import { callOf } from '../sql/call.ts'
import { unwrap } from '../support/outcome.ts'
import type { IdentityWorld } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

const hour = 3600
const day = 24 * hour
const never = new AbortController().signal

const tokenFor = async (world: IdentityWorld, user: User, name: string, lifeSeconds: number | undefined): Promise<void> => {
  const expiresAt = lifeSeconds === undefined ? undefined : new Date(world.deps.clock.now().getTime() + lifeSeconds * 1000)
  unwrap(await makeCreateToken(world.deps)(callOf(), { owner: { userId: user.id, login: user.login }, name, scopes: ['all'], expiresAt }))
}
/** Runs the job hourly for so long; which token was warned of after how many hours, and for how many days. */
const runFor = async (world: IdentityWorld, hours: number): Promise<readonly string[]> => {
  const warn = makeWarnOfExpiringTokens(world.deps)
  const told: string[] = []
  for (let passed = 0; passed <= hours; passed++) {
    const before = world.posted.length
    await warn(never)
    for (const mail of world.posted.slice(before)) told.push(`${passed}: ${/"(.*)"/.exec(mail.paragraphs[0] ?? '')?.[1]} ${/within (.*)$/.exec(mail.subject)?.[1]}`)
    world.passSeconds(hour)
  }
  return told
}

onEachDatabase('a token is warned of seven days and one day before its end, once each; a shorter life skips what does not apply', async (t, world) => {
  const ada = await world.user('ada')
  await tokenFor(world, ada, 'ten days', 10 * day)
  await tokenFor(world, ada, 'five days', 5 * day)
  await tokenFor(world, ada, 'ten hours', 10 * hour)
  await tokenFor(world, ada, 'for ever', undefined)
  t.deepEqual(await runFor(world, 11 * 24), ['72: ten days 7 days', '96: five days a day', '216: ten days a day'])
  t.true(world.posted.every(({ to, action }) => to === 'ada@example.org' && action === undefined))
})

onEachDatabase('after a long stop only the last warning that applies is sent', async (t, world) => {
  await tokenFor(world, await world.user('ada'), 'ten days', 10 * day)
  world.passSeconds(9.5 * day)
  t.deepEqual(await runFor(world, 24), ['0: ten days a day'])
})

onEachDatabase('two instances at once warn once', async (t, world) => {
  const ada = await world.user('ada')
  for (let i = 0; i < 5; i++) await tokenFor(world, ada, `token ${i}`, 10 * day)
  world.passSeconds(4 * day)
  const warn = makeWarnOfExpiringTokens(world.deps)
  const counts = await Promise.all([warn(never), warn(never)])
  t.is(counts[0] + counts[1], 5)
})

onEachDatabase('no warning is sent for an account that is inactive or has no confirmed address', async (t, world, db) => {
  const ada = await world.user('ada')
  const bob = await world.user('bob')
  for (const user of [ada, bob]) await tokenFor(world, user, 'ten days', 10 * day)
  await world.deps.stores.users.update(ada.id, { isActive: false })
  await db.query((k) => k('emails').where('user_id', bob.id).update({ verified: false }))
  world.passSeconds(5 * day)
  t.deepEqual(await runFor(world, 24), [])
})

onEachDatabase('a token goes 30 days after its end, with a line in the log', async (t, world) => {
  const ada = await world.user('ada')
  await tokenFor(world, ada, 'short', day)
  await tokenFor(world, ada, 'long', 90 * day)
  await tokenFor(world, ada, 'for ever', undefined)
  const remove = makeRemoveExpiredTokens(world.deps)
  world.passSeconds(31 * day)
  t.is(await remove(never), 0, 'on the day it is still there')
  world.passSeconds(1)
  t.is(await remove(never), 1)
  const left = await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 10 })
  t.deepEqual(left.items.map(({ name }) => name), ['long', 'for ever'])
  const last = (await world.auditRows()).at(-1)
  t.is(last?.action, 'token.deleted')
  t.deepEqual(JSON.parse(last?.changes ?? '{}'), { by: 'expiry' })
})
