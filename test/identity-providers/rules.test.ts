import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { LocalSignInFacts } from '../../core/identity-providers/ports.ts'
import { isLocalSignInOff } from '../../core/identity-providers/local-sign-in.ts'
import { readProvider, teamsFor } from '../../core/identity-providers/providers/provider-form.ts'
import { loginFor } from '../../core/identity-providers/sign-in/admission.ts'
import { isSameBytes } from '../../core/kernel/secret.ts'
import { accountNamePattern } from '../../core/kernel/ids.ts'
import type { TeamId } from '../../core/kernel/ids.ts'
import { filterProblem } from '../../adapters/identity-providers/ldap/filters.ts'
import { makeDomainProofs } from '../../adapters/identity-providers/domain-proofs.ts'
import { FetchFailed } from '../../adapters/outbound/guarded-fetch.ts'
import { anyText } from '../support/any-text.ts'

const facts: fc.Arbitrary<LocalSignInFacts> = fc.record({
  isSiteOff: fc.boolean(),
  isOrganizationOff: fc.boolean(),
  isEnded: fc.boolean(),
  isSiteAdmin: fc.boolean(),
  hasSiteLink: fc.boolean(),
  hasOtherAdmin: fc.boolean(),
})

test('the last site admin always signs in with the password', (t) => {
  fc.assert(fc.property(facts, (given) => !isLocalSignInOff({ ...given, isSiteAdmin: true, hasOtherAdmin: false })))
  t.pass()
})

test('organizations decide nothing about site admins', (t) => {
  fc.assert(
    fc.property(facts, (given) => {
      const admin = { ...given, isSiteAdmin: true }
      return (
        isLocalSignInOff({ ...admin, isOrganizationOff: true }) ===
        isLocalSignInOff({ ...admin, isOrganizationOff: false })
      )
    }),
  )
  t.pass()
})

test('a site admin without a link keeps the password while local sign-in is off', (t) => {
  const given = { isSiteOff: true, isOrganizationOff: true, isEnded: false, isSiteAdmin: true, hasOtherAdmin: true }
  t.false(isLocalSignInOff({ ...given, hasSiteLink: false }))
  t.true(isLocalSignInOff({ ...given, hasSiteLink: true }))
})

test('others sign in with passwords unless a rule is on', (t) => {
  fc.assert(
    fc.property(facts, (given) => {
      const user = { ...given, isSiteAdmin: false }
      return isLocalSignInOff(user) === (user.isSiteOff || user.isOrganizationOff || user.isEnded)
    }),
  )
  t.pass()
})

test('the name of a new account is well formed or empty', (t) => {
  fc.assert(
    fc.property(anyText(), anyText(), (preferredName, email) => {
      const login = loginFor({ preferredName, email })
      return login === '' || accountNamePattern.test(login)
    }),
  )
  t.is(loginFor({ preferredName: 'Zoë Åström', email: '' }), 'Zoe-Astrom')
  t.is(loginFor({ preferredName: 'ann@corp.test', email: '' }), 'ann')
  t.is(loginFor({ preferredName: '', email: 'ben.ford@corp.test' }), 'ben.ford')
})

const form = { name: 'corporate', issuer: 'https://login.test/realms/one', clientId: 'moorage' }

test('the issuer is an address of the web without query, fragment and password', (t) => {
  for (const issuer of ['https://a.test?x=1', 'https://a.test#x', 'https://u:p@a.test', 'javascript:1', 'a', ''])
    t.true(isLeft(readProvider({ ...form, issuer }, undefined, filterProblem)), issuer)
  t.true(isRight(readProvider(form, undefined, filterProblem)))
})

test('a refusal names the field and repeats nothing that was sent', (t) => {
  const read = readProvider({ name: 'Top Secret', issuer: 'x-secret', clientId: 'ä-secret' }, undefined, filterProblem)
  t.true(isLeft(read))
  if (isLeft(read)) {
    t.regex(read.left.message, /name:.*issuer:.*client_id:/)
    t.notRegex(read.left.message, /secret|Secret/)
  }
})

test('a person is in the teams of the own groups and in that of everyone', (t) => {
  const [one, two, all] = [1, 2, 3] as TeamId[]
  const rules = [
    { group: '/a', teamId: one as TeamId },
    { group: '/b', teamId: two as TeamId },
  ]
  const options = {
    scopes: [],
    allowsCreation: false,
    linksVerifiedDomains: false,
    groupsClaim: 'groups',
    groupRules: rules,
    defaultTeamId: all,
  }
  t.deepEqual(teamsFor({ options, kind: 'oidc' }, ['/a', '/A', '/c']), [1, 3])
  t.deepEqual(teamsFor({ options: { ...options, defaultTeamId: undefined }, kind: 'oidc' }, []), [])
})

test('digests are compared whole', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (a, b) => {
      return isSameBytes(a, b) === Buffer.from(a).equals(Buffer.from(b))
    }),
  )
  t.pass()
})

const signal = new AbortController().signal
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))
const answering =
  (body: string, status = 200, url?: string) =>
  (what: { readonly url: URL }) =>
    Promise.resolve({
      status,
      headers: {},
      bytes: new Uint8Array(Buffer.from(body)),
      url: new URL(url ?? what.url.href),
    })
const away = () => Promise.reject(new FetchFailed('away'))

test('a domain is proven by a record or by a file', async (t) => {
  const byRecord = makeDomainProofs(away, async () => [['other'], ['moorage-', 'domain=t1']])
  t.is(await byRecord.find('a.test', 't1', signal), 'present')
  t.is(await byRecord.find('a.test', 't2', signal), 'absent')
  const byFile = makeDomainProofs(answering('moorage-domain=t1\n'), failing('ENOTFOUND'))
  t.is(await byFile.find('a.test', 't1', signal), 'present')
  t.is(await byFile.find('a.test', 't2', signal), 'absent')
})

test('a file that another host answers proves nothing', async (t) => {
  const proofs = makeDomainProofs(answering('moorage-domain=t1', 200, 'https://evil.test/f'), failing('ETIMEOUT'))
  t.is(await proofs.find('a.test', 't1', signal), 'unknown')
})

test('a domain that does not answer is not known to be lost', async (t) => {
  t.is(await makeDomainProofs(away, failing('ESERVFAIL')).find('a.test', 't1', signal), 'unknown')
  t.is(await makeDomainProofs(answering('', 503), failing('ESERVFAIL')).find('a.test', 't1', signal), 'unknown')
})
