import { isRight } from 'fp-ts/lib/Either.js'
import type { CreateTokenInput } from '../../core/identity/tokens/access-tokens.ts'
import { makeCreateToken, makeRotateToken } from '../../core/identity/tokens/access-tokens.ts'
import type { User } from '../../core/identity/types.ts'
import type { TokenId } from '../../core/kernel/ids.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityWorld } from './identity-world.ts'
import { callBy } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'
import { ownedOrganization } from './owned-organization.ts'

const day = 86_400
const make = (world: IdentityWorld, call: SignedInCall, input: Partial<CreateTokenInput> = {}) =>
  makeCreateToken(world.deps)(call, { owner: call.principal, name: 'first', scopes: undefined, expiresAt: undefined, ...input })
const made = async (world: IdentityWorld, user: User, input: Partial<CreateTokenInput> = {}) => unwrap(await make(world, callBy(user), input))
const prove = (world: IdentityWorld, token: Secret) => world.authenticator.authenticate({ kind: 'token', token }, undefined, '198.51.100.7')
const callWith = async (world: IdentityWorld, token: Secret): Promise<SignedInCall> => {
  const principal: Principal = unwrap(await prove(world, token))
  return { ...callOf(), principal }
}
const rotate = (world: IdentityWorld, call: SignedInCall, id: TokenId) => makeRotateToken(world.deps)(call, id)
const inDays = (world: IdentityWorld, days: number): Date => new Date(world.deps.clock.now().getTime() + days * day * 1000)

onEachDatabase('a rotated token keeps id, name, scopes and organization, lives as long again, and only its new value counts', async (t, world, db) => {
  const ada = await world.user('ada')
  const orgId = await ownedOrganization(db, 'Acme', [ada.id])
  const { record, value } = await made(world, ada, { scopes: ['read:user', 'write:cluster'], expiresAt: inDays(world, 90), org: 'aCME' })
  t.deepEqual([record.onlyOrgId, record.onlyOrgName], [orgId, 'Acme'])
  await world.deps.stores.tokenExpiry.markWarned(record.id, 7)
  world.passSeconds(80 * day)
  const rotated = unwrap(await rotate(world, callBy(ada), record.id))
  t.deepEqual(rotated.record, { ...record, lastEight: rotated.value.reveal().slice(-8), createdAt: world.deps.clock.now(), expiresAt: inDays(world, 90) })
  t.deepEqual((await world.deps.stores.tokens.list(ada.id, { page: 1, limit: 30 })).items, [rotated.record])
  t.like(await prove(world, value), { left: { tag: 'NotAuthenticated' } })
  t.like(await prove(world, rotated.value), { right: { tokenId: record.id, onlyOrgId: orgId, scopes: { all: false, levels: { user: 'read', cluster: 'write' } } } })
  t.true(await world.deps.stores.tokenExpiry.markWarned(record.id, 7), 'the owner is warned of the new end as well')
  const last = (await world.auditRows()).at(-1)
  t.deepEqual([last?.action, Number(last?.tenant_id)], ['token.rotated', ada.id])
  t.deepEqual(JSON.parse(last?.changes ?? ''), { scopes: ['read:user', 'write:cluster'], expires_at: inDays(world, 90).toISOString(), org: 'Acme' })
  for (const each of [value, rotated.value]) t.false(JSON.stringify(await world.auditRows()).includes(each.reveal()))
})

onEachDatabase('only one’s own token is rotated, and one without an end stays without', async (t, world) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const { record, value } = await made(world, ada)
  for (const id of [record.id, 999_999 as TokenId]) t.like(await rotate(world, callBy(bob), id), { left: { tag: 'AccessTokenMissing', message: 'The token does not exist.' } })
  t.true(isRight(await prove(world, value)))
  const first = unwrap(await rotate(world, callBy(ada), record.id))
  t.is(first.record.expiresAt, undefined)
  const second = unwrap(await rotate(world, callBy(ada), record.id))
  t.true(isRight(await prove(world, second.value)))
  t.like(await prove(world, first.value), { left: { tag: 'NotAuthenticated' } })
})

onEachDatabase('a token rotates itself and what it could have made, and gives no life beyond its own', async (t, world) => {
  const ada = await world.user('ada')
  const all = (await made(world, ada, { name: 'all' })).record.id
  const wide = (await made(world, ada, { name: 'wide', scopes: ['write:user', 'write:cluster'] })).record.id
  const endless = (await made(world, ada, { name: 'endless', scopes: ['read:user'] })).record.id
  const long = (await made(world, ada, { name: 'long', scopes: ['read:user'], expiresAt: inDays(world, 90) })).record.id
  const short = (await made(world, ada, { name: 'short', scopes: ['read:user'], expiresAt: inDays(world, 2) })).record.id
  const own = await made(world, ada, { name: 'own', scopes: ['write:user'], expiresAt: inDays(world, 10) })
  const call = await callWith(world, own.value)
  world.passSeconds(day)
  for (const id of [all, wide]) t.like(await rotate(world, call, id), { left: { tag: 'ScopeExceeded', kind: 'Forbidden' } })
  for (const id of [endless, long]) t.deepEqual(unwrap(await rotate(world, call, id)).record.expiresAt, inDays(world, 9))
  t.deepEqual(unwrap(await rotate(world, call, short)).record.expiresAt, inDays(world, 2))
  const renewed = unwrap(await rotate(world, call, own.record.id))
  t.deepEqual(renewed.record.expiresAt, inDays(world, 9))
  t.like(await prove(world, own.value), { left: { tag: 'NotAuthenticated' } })
  t.true(isRight(await rotate(world, await callWith(world, renewed.value), short)))
})

onEachDatabase('what an outrun value proved is over: it neither makes nor rotates a token', async (t, world) => {
  const ada = await world.user('ada')
  const { record, value } = await made(world, ada)
  const call = await callWith(world, value)
  unwrap(await rotate(world, callBy(ada), record.id))
  t.is(tagOf(await make(world, call, { name: 'late' })), 'NotAuthenticated')
  t.is(tagOf(await rotate(world, call, record.id)), 'NotAuthenticated')
})

onEachDatabase('a token that rotates itself twice at once does so once', async (t, world) => {
  const ada = await world.user('ada')
  const { record, value } = await made(world, ada)
  const call = await callWith(world, value)
  const outcomes = await Promise.all([1, 2, 3].map(() => rotate(world, call, record.id)))
  t.deepEqual(outcomes.map(tagOf).sort(), ['NotAuthenticated', 'NotAuthenticated', 'done'])
  for (const outcome of outcomes) if (isRight(outcome)) t.true(isRight(await prove(world, outcome.right.value)))
})

onEachDatabase('a token is confined only to an organization of its owner, and shows nothing of others', async (t, world, db) => {
  const [ada, bob] = [await world.user('ada'), await world.user('bob')]
  const root = await world.user('root', { isAdmin: true })
  const acme = await ownedOrganization(db, 'acme', [bob.id], [ada.id])
  await ownedOrganization(db, 'globex', [bob.id])
  await ownedOrganization(db, 'mine', [ada.id])
  const refused = await Promise.all(['globex', 'nowhere', 'bob', 'ada', '', 'acme '].map((org) => make(world, callBy(ada), { org })))
  refused.push(await make(world, callBy(root), { org: 'acme' }))
  for (const outcome of refused) t.like(outcome, { left: { tag: 'TokenOrgInvalid', kind: 'Unprocessable' } })
  t.is(new Set(refused.map((outcome) => (isRight(outcome) ? '' : outcome.left.message))).size, 1)
  const confined = await made(world, ada, { org: 'acme' })
  t.is(confined.record.onlyOrgId, acme)
  const created = (await world.auditRows()).at(-1)
  t.is((JSON.parse(created?.changes ?? '') as { org: string }).org, 'acme')
  const call = await callWith(world, confined.value)
  for (const [name, org] of [['silent', undefined], ['said', 'acme']] as const) t.is(unwrap(await make(world, call, { name, org })).record.onlyOrgId, acme)
  t.like(await make(world, call, { name: 'other', org: 'mine' }), { left: { tag: 'TokenOrgInvalid' } })
  const free = await made(world, ada, { name: 'free' })
  const elsewhere = await made(world, ada, { name: 'elsewhere', org: 'mine' })
  for (const { record } of [free, elsewhere]) t.like(await rotate(world, call, record.id), { left: { tag: 'ScopeExceeded' } })
  t.true(isRight(await rotate(world, call, confined.record.id)))
})
