import type { ExecutionContext } from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeClusterTokens } from '../../core/identity/tokens/delegated-tokens.ts'
import { makeChangeOwnPassword } from '../../core/identity/authentication/password-changes.ts'
import { makeCreateToken } from '../../core/identity/tokens/access-tokens.ts'
import type { AccountId, ClusterId, UserId } from '../../core/kernel/ids.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityWorld } from './identity-world.ts'
import { callBy, password } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

const newPassword = 'another long phrase'

const proofs = async (world: IdentityWorld): Promise<{ byPassword: SignedInCall; byToken: SignedInCall }> => {
  const proven = async (credential: Parameters<typeof world.authenticator.authenticate>[0]): Promise<SignedInCall> => {
    const principal: Principal = unwrap(await world.authenticator.authenticate(credential, undefined, '198.51.100.7'))
    return { ...callOf(), principal }
  }
  const byPassword = await proven({ kind: 'password', login: 'ada', password: secret(password), oneTimeCode: undefined })
  const made = unwrap(await makeCreateToken(world.deps)(byPassword, { owner: byPassword.principal, name: 'first', scopes: undefined, expiresAt: undefined }))
  return { byPassword, byToken: await proven({ kind: 'token', token: made.value }) }
}

const change = (world: IdentityWorld, call: SignedInCall) =>
  makeChangeOwnPassword(world.deps)(call, { oldPassword: secret(password), password: secret(newPassword), revokesTokens: true })
const create = (world: IdentityWorld, call: SignedInCall, name: string) =>
  makeCreateToken(world.deps)(call, { owner: call.principal, name, scopes: undefined, expiresAt: undefined })
const tokenNames = async (db: SqlDatabase): Promise<readonly string[]> =>
  (await db.query<{ name: string }>((k) => k('access_tokens').select('name').orderBy('name'))).map(({ name }) => name)

onEachDatabase('a token is not made by a password or a token that was replaced or revoked since it was proven', async (t: ExecutionContext, world, db) => {
  await world.user('ada')
  const { byPassword, byToken } = await proofs(world)
  t.is(tagOf(await change(world, byPassword)), 'done')
  for (const call of [byPassword, byToken]) t.is(tagOf(await create(world, call, 'late')), 'NotAuthenticated')
  t.deepEqual(await tokenNames(db), [])
})

onEachDatabase('a token that is made while the password changes and all tokens go is gone with them, or never was', async (t, world, db) => {
  for (let round = 0; round < 8; round++) {
    await db.query((k) => k('accounts').where('lower_name', 'ada').delete())
    await world.user('ada')
    const { byPassword, byToken } = await proofs(world)
    const [changed] = await Promise.all([change(world, byPassword), create(world, byPassword, 'a'), create(world, byToken, 'b')])
    t.true(isRight(changed))
    t.deepEqual(await tokenNames(db), [], `round ${round}`)
  }
})

const cluster = { id: 7 as ClusterId, name: 'prod', ownerId: 3 as AccountId, ownerName: 'acme', maxTokenLifeDays: 0 }
const day = 86_400
const issue = (world: IdentityWorld, call: SignedInCall, changes: Partial<typeof cluster> = {}, lifeSeconds?: number) =>
  makeClusterTokens({ ...world.deps, lifeSeconds: 7 * day }).issue(call, { ...cluster, ...changes }, lifeSeconds)
const clusterTokensOf = async (world: IdentityWorld, userId: UserId) => (await world.deps.stores.tokens.list(userId, { page: 1, limit: 50 })).items.filter(({ onlyClusterId }) => onlyClusterId !== undefined)

onEachDatabase('a token for a cluster is not made by what was replaced or revoked since it was proven, nor for whom a site admin acts as', async (t, world) => {
  const ada = await world.user('ada')
  const { byPassword, byToken } = await proofs(world)
  const impersonated = callBy(ada, { impersonator: { userId: 1 as UserId, login: 'root' } })
  t.is(tagOf(await issue(world, impersonated)), 'NotPermitted')
  t.is(tagOf(await issue(world, byToken)), 'done')
  t.is(tagOf(await change(world, byPassword)), 'done')
  for (const call of [byPassword, byToken]) t.is(tagOf(await issue(world, call)), 'NotAuthenticated')
  t.deepEqual(await clusterTokensOf(world, ada.id), [])
})

onEachDatabase('a token for a cluster lives as long as is set, as is asked, as the owner of the cluster allows and as the requesting token, whichever is least', async (t, world) => {
  const ada = await world.user('ada')
  const { byToken } = await proofs(world)
  const inSeconds = (seconds: number): Date => new Date(world.deps.clock.now().getTime() + seconds * 1000)
  const expiry = async (...rest: [Partial<typeof cluster>?, number?]) => unwrap(await issue(world, callBy(ada), ...rest)).expiresAt
  t.deepEqual(await expiry(), inSeconds(7 * day))
  t.deepEqual(await expiry({}, 600), inSeconds(600))
  t.deepEqual(await expiry({}, 30 * day), inSeconds(7 * day))
  t.deepEqual(await expiry({ maxTokenLifeDays: 1 }), inSeconds(day))
  const made = unwrap(await makeCreateToken(world.deps)(byToken, { owner: byToken.principal, name: 'short', scopes: ['read:cluster'], expiresAt: inSeconds(90) }))
  const principal: Principal = unwrap(await world.authenticator.authenticate({ kind: 'token', token: made.value }, undefined, '198.51.100.7'))
  const { value, expiresAt } = unwrap(await issue(world, { ...callOf(), principal }))
  t.deepEqual(expiresAt, inSeconds(90))
  t.like(await world.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7'), {
    right: { onlyClusterId: 7, scopes: { all: false, sudo: false, levels: { cluster: 'read' } } },
  })
  t.is(tagOf(await world.authenticator.authenticate({ kind: 'token', token: value }, 'ada', '198.51.100.7')), 'NotPermitted')
  world.passSeconds(91)
  t.is(tagOf(await world.authenticator.authenticate({ kind: 'token', token: value }, undefined, '198.51.100.7')), 'NotAuthenticated')
  world.passSeconds(6 * day)
  t.deepEqual((await world.deps.stores.tokenExpiry.dueWarnings(1, world.deps.clock.now(), 50)).map(({ name }) => name), [], 'no warning is sent of their end')
})

onEachDatabase('of one person and cluster ten live at a time, however many are asked for at once; what has expired goes first', async (t, world) => {
  const ada = await world.user('ada')
  const brief = unwrap(await issue(world, callBy(ada), {}, 60))
  const lasting = unwrap(await issue(world, callBy(ada)))
  await Promise.all(Array.from({ length: 8 }, () => issue(world, callBy(ada)).then(unwrap)))
  world.passSeconds(61)
  unwrap(await issue(world, callBy(ada)))
  const names = async () => (await clusterTokensOf(world, ada.id)).map(({ lastEight }) => lastEight)
  t.false((await names()).includes(brief.value.reveal().slice(-8)))
  t.true((await names()).includes(lasting.value.reveal().slice(-8)))
  unwrap(await issue(world, callBy(ada), { id: 8 as ClusterId }))
  t.is((await names()).length, 11)
  await Promise.all(Array.from({ length: 9 }, () => issue(world, callBy(ada)).then(unwrap)))
  t.is((await names()).length, 11)
  t.false((await names()).includes(lasting.value.reveal().slice(-8)))
  const rows = await world.auditRows()
  t.true(rows.some(({ action, tenant_id: tenant, changes }) => action === 'cluster.token_created' && Number(tenant) === 3 && changes.includes('kubeconfig-acme-prod-')))
})
