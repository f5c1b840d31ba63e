import { makeEditUser } from '../../core/identity/accounts/user-changes.ts'
import { makeSetPassword } from '../../core/identity/authentication/passwords.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, password } from './identity-world.ts'
import { onEachDatabase } from './on-each-database.ts'

onEachDatabase('a request that continues is proven again without a hash, for as long as password, account and rights are the same', async (t, world) => {
  const root = await world.user('root', { isAdmin: true })
  const second = await world.user('second', { isAdmin: true })
  await world.user('ada')
  const edit = makeEditUser(world.deps)
  const proven = async (login: string, sudo?: string) =>
    unwrap(await world.authenticator.authenticate({ kind: 'password', login, password: secret(password), oneTimeCode: undefined }, sudo, '198.51.100.7'))
  const again = world.authenticator.proveAgain
  const [ada, acting] = [await proven('ADA'), await proven('second', 'ada')]
  const before = world.verified()
  t.like(await again(ada), { right: { login: 'ada', method: 'password', isSiteAdmin: false } })
  t.like(await again(acting), { right: { login: 'ada', impersonator: { login: 'second' } } })
  unwrap(await edit(callBy(root), { login: 'ada', isAdmin: true }))
  t.like(await again(ada), { right: { isSiteAdmin: true } }, 'with the rights of now')
  unwrap(await edit(callBy(root), { login: 'second', isAdmin: false }))
  t.is(tagOf(await again(acting)), 'NotPermitted')
  t.is(world.verified(), before)
  unwrap(await makeSetPassword(world.deps)(callOf(), { login: 'ada', password: secret('another long phrase') }))
  t.is(tagOf(await again(ada)), 'NotAuthenticated')
  const other = await proven('second')
  unwrap(await edit(callBy(root), { login: second.login, prohibitLogin: true }))
  t.is(tagOf(await again(other)), 'NotAuthenticated')
})
