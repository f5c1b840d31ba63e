import { makeDeleteOwnAccount, makeReactivateAccount } from '../../core/identity/accounts/removal.ts'
import { makeEnrollSecondFactor, makeOfferSecondFactor } from '../../core/identity/second-factor/enrollment.ts'
import type { User } from '../../core/identity/types.ts'
import type { SessionId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityWorld } from './identity-world.ts'
import { callBy, password } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'
import { codeAt } from './one-time-code-of.ts'
import { ownedOrganization } from './owned-organization.ts'

const sessionOf = async ({ deps }: IdentityWorld, user: User, fill: number): Promise<SessionId> => {
  const now = deps.clock.now()
  const later = new Date(now.getTime() + 3_600_000)
  const hash = new Uint8Array(32).fill(fill)
  return deps.stores.sessions.insert({ userId: user.id, hash, sourceIp: '', userAgent: '', createdAt: now, idleExpiresAt: later, expiresAt: later })
}
const isActive = async ({ deps }: IdentityWorld, user: User) => (await deps.stores.users.byId(user.id))?.isActive
const given = (text: string, passCode?: string) => ({ password: secret(text), passCode })

onEachDatabase('an account is deleted by its owner with the password, however the owner was proven', async (t, world) => {
  const remove = makeDeleteOwnAccount(world.deps)
  for (const method of ['password', 'session'] as const) {
    const user = await world.user(`by-${method}`)
    const sessionId = await sessionOf(world, user, user.id)
    const call = callBy(user, method === 'session' ? { method, sessionId } : { method })
    t.true(['OwnPasswordWrong', 'ProofRequired'].includes(tagOf(await remove(call, given('a wrong passphrase')))), method)
    t.true(await isActive(world, user))
    unwrap(await remove(call, given(password)))
    t.false(await isActive(world, user))
    t.deepEqual(await world.deps.stores.sessions.list(user.id, world.deps.clock.now()), [])
    const mail = world.posted.filter(({ to }) => to === user.primaryEmail)
    t.deepEqual(mail.map(({ subject, accountId }) => [subject, accountId]), [['Your account was deleted', user.id]])
    t.is((await world.auditRows()).filter(({ action, tenant_id }) => action === 'user.deactivated' && Number(tenant_id) === user.id).length, 1)
  }
})

onEachDatabase('a session needs the one-time code as well where a second factor is enrolled', async (t, world) => {
  const [ada, root] = [await world.user('ada'), await world.user('root', { isAdmin: true })]
  const seed = unwrap(await makeOfferSecondFactor(world.deps)(callBy(ada))).seed.reveal()
  unwrap(await makeEnrollSecondFactor(world.deps)(callBy(ada), codeAt(seed, world.deps.clock.now())))
  world.passSeconds(30)
  const call = callBy(ada, { method: 'session', sessionId: await sessionOf(world, ada, 1) })
  const remove = makeDeleteOwnAccount(world.deps)
  t.is(tagOf(await remove(call, given(password))), 'ProofRequired')
  t.is(tagOf(await remove(call, given(password, '000000'))), 'ProofRequired')
  t.true(await isActive(world, ada))
  unwrap(await remove(call, given(password, codeAt(seed, world.deps.clock.now()))))
  t.false(await isActive(world, ada))
  unwrap(await makeReactivateAccount(world.deps)(callBy(root), ada.id))
  t.true(await isActive(world, ada), 'an administrator brings it back')
})

onEachDatabase('the reasons are returned, and nothing is done', async (t, world, db) => {
  const [root, ada] = [await world.user('root', { isAdmin: true }), await world.user('ada')]
  const remove = makeDeleteOwnAccount(world.deps)
  t.like(await remove(callBy(root), given(password)), { left: { tag: 'AccountInUse', errors: ['last active site administrator'] } })
  await ownedOrganization(db, 'alone', [ada.id])
  t.like(await remove(callBy(ada), given(password)), { left: { tag: 'AccountInUse', kind: 'Unprocessable', errors: ['organization alone'] } })
  t.deepEqual([await isActive(world, root), await isActive(world, ada)], [true, true])
  t.deepEqual(world.posted, [])
})

onEachDatabase('a session that ended during the request deletes nothing', async (t, world) => {
  const ada = await world.user('ada')
  const sessionId = await sessionOf(world, ada, 1)
  await world.deps.stores.sessions.removeAll(ada.id, undefined)
  t.is(tagOf(await makeDeleteOwnAccount(world.deps)(callBy(ada, { method: 'session', sessionId }), given(password))), 'NotAuthenticated')
  t.true(await isActive(world, ada))
})
