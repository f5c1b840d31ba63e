// process: waiting - waits for a domain controller
import { isRight } from 'fp-ts/lib/Either.js'
import { makeLdapDirectorySearch } from '../../adapters/identity-providers/ldap/ldap-directory-search.ts'
import { makeEgressAllowance, makeUserUrlPolicy, readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { directoryOf } from '../../core/identity-providers/providers/directory-form.ts'
import type { DirectoryClient, DirectoryOptions, DirectoryPerson } from '../../core/identity-providers/types.ts'
import { secret } from '../../core/kernel/secret.ts'
import { needing } from '../support/components/needing.ts'
import type { DomainController } from '../support/components/samba.ts'
import { startDomainController, suffix } from '../support/components/samba.ts'

const test = needing('samba')
const users = `CN=Users,${suffix}`
const passwordOf = (name: string): string => `Pa.ssw0rd-of-${name}`

let domain: DomainController
let directories: ReturnType<typeof makeLdapDirectorySearch>
test.before(async () => {
  domain = await startDomainController()
  for (const name of ['reader', 'ann', 'ben'])
    await domain.tool(
      'user',
      'create',
      name,
      passwordOf(name),
      `--mail-address=${name}@corp.test`,
      `--given-name=${name}`,
    )
  for (const group of ['inner', 'outer']) await domain.tool('group', 'add', group)
  await domain.tool('group', 'addmembers', 'inner', 'ann')
  await domain.tool('group', 'addmembers', 'outer', 'inner')
  const target = readEgressTarget(domain.address)
  const allowance = makeEgressAllowance(target === undefined ? [] : [target])
  const limiter = { run: <A>(_: unknown, work: () => Promise<A>) => work() }
  directories = makeLdapDirectorySearch({
    policy: makeUserUrlPolicy(allowance),
    allowance,
    limiter,
    clock: { now: () => new Date() },
  })
})
test.after.always(() => domain?.stop())

const clientOf = (
  options: Partial<DirectoryOptions> = {},
  groupsAttribute = '',
  scheme = 'ldaps',
): DirectoryClient => ({
  address: `${scheme}://${domain.address}`,
  bindDn: `CN=reader,${users}`,
  secret: secret(passwordOf('reader')),
  groupsAttribute,
  options: directoryOf(
    {
      authorities: domain.authority,
      userBase: suffix,
      userFilter: '(&(objectCategory=person)(objectClass=user))',
      idAttribute: 'objectGUID',
      loginAttribute: 'sAMAccountName',
      ...options,
    },
    undefined,
  ),
})

const call = () => ({ sourceIp: '192.0.2.1', signal: new AbortController().signal })

const signIn = async (of: DirectoryClient, login: string, password: string): Promise<DirectoryPerson | undefined> => {
  const found = await directories.find(of, login, call())
  if (!isRight(found) || found.right === undefined) return undefined
  const proven = await directories.authenticate(of, { entry: found.right, password: secret(password) }, call())
  return isRight(proven) ? proven.right : undefined
}

test.serial('a person of Active Directory signs in by LDAPS and by StartTLS', async (t) => {
  for (const scheme of ['ldaps', 'ldap']) {
    const person = await signIn(clientOf({}, '', scheme), 'ANN', passwordOf('ann'))
    t.like(person, { login: 'ann', email: 'ann@corp.test', isDisabled: false })
    t.regex(person?.subject ?? '', /^[0-9a-f-]{36}$/)
  }
  t.is(await signIn(clientOf(), 'ann', 'wrong'), undefined)
})

test.serial('groups of groups are found by searches and by the rule of Active Directory', async (t) => {
  const [inner, outer] = [`CN=inner,${users}`, `CN=outer,${users}`]
  for (const [options, attribute, expected] of [
    [{ groupBase: users }, '', [inner]],
    [{ groupBase: users, nestedGroups: 'search' }, '', [inner, outer]],
    [{ groupBase: users, nestedGroups: 'in-chain' }, '', [inner, outer]],
    [{}, 'memberOf', [inner]],
    [{ groupBase: users, nestedGroups: 'search' }, 'memberOf', [inner, outer]],
  ] as const)
    t.deepEqual((await signIn(clientOf(options, attribute), 'ann', passwordOf('ann')))?.groups?.toSorted(), expected)
})

test.serial('a renamed person is the same, and a disabled one is seen as disabled', async (t) => {
  const before = await signIn(clientOf(), 'ben', passwordOf('ben'))
  await domain.tool('user', 'rename', 'ben', '--samaccountname=benno', '--force-new-cn=Benno')
  const after = await signIn(clientOf(), 'benno', passwordOf('ben'))
  t.is(after?.subject, before?.subject)
  t.not(after?.dn, before?.dn)
  await domain.tool('user', 'disable', 'benno')
  t.is(await signIn(clientOf(), 'benno', passwordOf('ben')), undefined)
  const read = await directories.read(clientOf(), [before?.subject ?? ''], call())
  t.deepEqual(isRight(read) ? read.right.map(({ isDisabled }) => isDisabled) : read, [true])
})
