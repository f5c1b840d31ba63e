import type { ExecutionContext } from 'ava'
import { isRight } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { makeChangeOwnPassword } from '../../core/identity/change-own-password.ts'
import { makeCreateToken } from '../../core/identity/create-token.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { IdentityWorld } from './identity-world.ts'
import { password } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

const newPassword = 'another long phrase'

const proofs = async (world: IdentityWorld): Promise<{ byPassword: SignedInCall; byToken: SignedInCall }> => {
  const proven = async (credential: Parameters<typeof world.authenticator.authenticate>[0]): Promise<SignedInCall> => {
    const principal: Principal = unwrap(await world.authenticator.authenticate(credential, undefined, '198.51.100.7'))
    return { ...callOf(), principal }
  }
  const byPassword = await proven({ kind: 'password', login: 'ada', password: secret(password), oneTimeCode: undefined })
  const made = unwrap(await makeCreateToken(world.deps)(byPassword, byPassword.principal, { name: 'first', scopes: undefined, expiresAt: undefined }))
  return { byPassword, byToken: await proven({ kind: 'token', token: made.value }) }
}

const change = (world: IdentityWorld, call: SignedInCall) =>
  makeChangeOwnPassword(world.deps)(call, { oldPassword: secret(password), password: secret(newPassword), revokesTokens: true })
const create = (world: IdentityWorld, call: SignedInCall, name: string) =>
  makeCreateToken(world.deps)(call, call.principal, { name, scopes: undefined, expiresAt: undefined })
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
