import test from 'ava'
import type { ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Actor, Principal } from '../../core/kernel/principal.ts'
import { ActorCallsToken, actorOf } from '../../core/kernel/principal.ts'
import { AuthenticatorToken, IdentityStoresToken } from '../../core/identity/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makePeople } from '../clusters/cluster-world.ts'
import { unwrap } from '../support/outcome.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

const about = { operation: 'tiny.work', requestId: 'r-1', sourceIp: '10.0.0.1' }

const principalOf = async (service: TestService, token: string, sudo?: string): Promise<Principal> =>
  unwrap(await service.running.container.resolve(AuthenticatorToken).authenticate({ kind: 'token', token: secret(token) }, sudo, '127.0.0.1', undefined))

const onEach = (title: string, body: (t: ExecutionContext, service: TestService, callOf: (actor: Actor) => Promise<Principal | string>) => Promise<void>): void => {
  for (const database of ['sqlite', 'mysql'] as const)
    test(`${database}: ${title}`, async (t) => {
      const service = await startService({ database })
      const calls = service.running.container.resolve(ActorCallsToken)
      try {
        await body(t, service, async (actor) => {
          const call = await calls.callOf(actor, about, new AbortController().signal)
          return isLeft(call) ? call.left.tag : call.right.principal
        })
      } finally {
        await service.stop()
      }
    })
}

onEach('a call is made with the rights of this moment and the limits of the token that asked', async (t, service, callOf) => {
  const ada = await makePeople(service).person('ada')
  const narrow = await service.tokenFor(ada.login, ['read:cluster'])
  const actor = actorOf(await principalOf(service, narrow))
  const before = (await callOf(actor)) as Principal
  t.like(before, { login: ada.login, isSiteAdmin: false, method: 'token', tokenId: actor.tokenId })
  t.deepEqual(before.scopes, actor.scopes)
  t.truthy(before.tokenCreatedAt)
  const promoted = await service.send('PATCH', `/api/v1/admin/users/${ada.login}`, { token: service.adminToken, body: { login_name: ada.login, source_id: 0, admin: true } })
  t.is(promoted.status, 200, promoted.text)
  t.true(((await callOf(actor)) as Principal).isSiteAdmin)
})

onEach('once the token that asked is gone or has run out, so is the actor; another token of theirs is none of it', async (t, service, callOf) => {
  const ada = await makePeople(service).person('ada')
  const actor = actorOf(await principalOf(service, await service.tokenFor(ada.login)))
  const other = actorOf(await principalOf(service, ada.token))
  t.is(typeof actor.tokenId, 'number')
  await service.running.container.resolve(IdentityStoresToken).tokens.remove(actor.userId, actor.tokenId!)
  t.is(await callOf(actor), 'ActorGone')
  t.not(await callOf(other), 'ActorGone')
  t.is(await callOf({ ...other, userId: 99_999_999 as never }), 'ActorGone')
  const { tokenId: _none, ...withoutToken } = actor
  t.not(await callOf({ ...withoutToken, method: 'session' }), 'ActorGone', 'a session proves a moment')
})

onEach('a disabled account is gone, and an impersonator who is no site admin any more', async (t, service, callOf) => {
  const people = makePeople(service)
  const [ada, boss] = [await people.person('ada'), await people.person('boss')]
  const edit = async (login: string, body: object) => {
    const answer = await service.send('PATCH', `/api/v1/admin/users/${login}`, { token: service.adminToken, body: { login_name: login, source_id: 0, ...body } })
    t.is(answer.status, 200, answer.text)
  }
  await edit(boss.login, { admin: true })
  const acting = actorOf(await principalOf(service, boss.token, ada.login))
  t.like(await callOf(acting), { login: ada.login, impersonator: { login: boss.login }, isSiteAdmin: false })
  await edit(boss.login, { admin: false })
  t.is(await callOf(acting), 'ActorGone')
  await edit(boss.login, { admin: true })
  t.not(await callOf(acting), 'ActorGone')
  const own = actorOf(await principalOf(service, ada.token))
  await edit(ada.login, { prohibit_login: true })
  t.is(await callOf(own), 'ActorGone')
  t.is(await callOf(acting), 'ActorGone')
})
