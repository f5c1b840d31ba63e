import test from 'ava'
import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { withPrompt } from '../../adapters/oidc-provider/protocol.ts'
import { needsConsent } from '../../core/authorization-server/authorizations.ts'
import type { TeamNames } from '../../core/authorization-server/claims.ts'
import { claimsOf, groupsOf, mostGroups } from '../../core/authorization-server/claims.ts'
import { rotationOf } from '../../core/authorization-server/keys.ts'
import { checkRedirectUri } from '../../core/authorization-server/redirect-uris.ts'
import {
  accessScopes,
  accessWords,
  identityScopes,
  knownScopes,
  sentenceOf,
} from '../../core/authorization-server/scopes.ts'
import { parseScopeWords } from '../../core/identity/tokens/scopes.ts'
import { laterByDays } from '../../core/kernel/clock.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'

test('an address that is accepted is the one that browsers go to', (t) => {
  const text = fc.oneof(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string())
  fc.assert(
    fc.property(text, fc.boolean(), (uri, isPublic) => {
      if (!isRight(checkRedirectUri(uri, isPublic))) return
      const url = new URL(uri)
      t.true([uri, `${uri}/`].includes(url.href))
      t.is(url.hash + url.username + url.password, '')
      t.true(url.protocol !== 'http:' || ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname))
    }),
  )
})

const accepted: readonly (readonly [string, boolean])[] = [
  ['https://app.example.com/callback?tenant=1', false],
  ['http://127.0.0.1:8080/callback', false],
  ['http://[::1]/callback', true],
  ['com.example.app:/callback', true],
]
const refused: readonly (readonly [string, boolean])[] = [
  ['http://app.example.com/callback', false],
  ['https://app.example.com/callback#x', false],
  ['https://user:pass@app.example.com/', false],
  ['https://*.example.com/', false],
  ['https://APP.example.com/', false],
  ['https://app.example.com/a/../b', false],
  ['com.example.app:/callback', false],
  ['javascript:alert(1)', true],
  ['data:text/html,x', true],
  ['/callback', true],
  ['https://localhost/callback', true],
]
test('addresses are judged as documented', (t) => {
  for (const [uri, isPublic] of accepted) t.true(isRight(checkRedirectUri(uri, isPublic)), uri)
  for (const [uri, isPublic] of refused) t.false(isRight(checkRedirectUri(uri, isPublic)), uri)
})

const name = fc.stringMatching(/^[a-z]{1,6}$/)
const teams = fc.array(
  fc.record({ orgId: fc.integer({ min: 1, max: 4 }).map((id) => id as OrgId), organization: name, team: name }),
  { maxLength: 300 },
)

test('groups name the reached organizations and their teams within the bound', (t) => {
  fc.assert(
    fc.property(teams, fc.option(fc.constant(1 as OrgId), { nil: undefined }), (all: readonly TeamNames[], only) => {
      const groups = groupsOf(all, only)
      const reached = all.filter(({ orgId }) => only === undefined || orgId === only)
      const expected = new Set(reached.flatMap(({ organization, team }) => [organization, `${organization}:${team}`]))
      t.is(new Set(groups).size, groups.length)
      t.true(groups.every((group) => expected.has(group)))
      t.is(groups.length, Math.min(mostGroups, expected.size))
    }),
  )
})

test('a claim is absent without its scope', (t) => {
  const user = { id: 7 as UserId, login: 'ada', fullName: 'Ada' }
  const source = { user, email: { address: 'ada@example.org', isVerified: false }, groups: ['acme'] }
  t.deepEqual(claimsOf(source, ['openid']), { sub: '7' })
  t.deepEqual(claimsOf(source, ['email']), { sub: '7', email: 'ada@example.org', email_verified: false })
  t.deepEqual(claimsOf({ ...source, email: undefined }, ['email']), { sub: '7' })
  t.deepEqual(claimsOf(source, ['groups']), { sub: '7', groups: ['acme'] })
})

test('every scope has a sentence, and those of access are scopes of tokens', (t) => {
  for (const scope of [...identityScopes, ...accessScopes]) t.truthy(sentenceOf(scope))
  t.true(isRight(parseScopeWords(accessScopes)))
  t.deepEqual(accessWords(['openid', 'all', 'sudo', 'read:user']), ['read:user'])
  t.deepEqual(knownScopes(['x', 'read:user', 'openid', 'openid']), ['openid', 'read:user'])
})

test('consent is needed for new scopes and for public applications', (t) => {
  const plain = { isPublic: false, isTrusted: false }
  t.true(needsConsent(plain, ['openid'], undefined, false))
  t.false(needsConsent(plain, ['openid'], { scopes: ['openid', 'email'] }, false))
  t.true(needsConsent(plain, ['openid'], { scopes: ['openid'] }, true))
  t.true(needsConsent({ ...plain, isPublic: true }, ['openid'], { scopes: ['openid'] }, false))
  t.false(needsConsent({ isPublic: true, isTrusted: true }, ['openid'], undefined, true))
})

test('a new key is published before it signs, and the former one stays published', (t) => {
  const start = new Date(0)
  const at = (days: number) => laterByDays(start, days)
  const [first, second] = [
    { generation: 1, createdAt: start },
    { generation: 2, createdAt: at(89) },
  ]
  t.deepEqual(rotationOf([], start), { signing: undefined, needsNew: true, retired: [] })
  t.is(rotationOf([first], start).signing, first)
  t.false(rotationOf([first], at(88)).needsNew)
  t.true(rotationOf([first], at(89)).needsNew)
  t.is(rotationOf([second, first], at(89.5)).signing, first)
  t.is(rotationOf([second, first], at(90)).signing, second)
  t.deepEqual(rotationOf([second, first], at(96)).retired, [])
  t.deepEqual(rotationOf([second, first], at(97)).retired, [first])
})

test('offline access is asked for with a prompt, and other requests stay as they are', (t) => {
  t.is(new URLSearchParams(withPrompt('?scope=openid+offline_access')).get('prompt'), 'consent')
  for (const query of ['?scope=openid', '?scope=openid+offline_access&prompt=none', '']) t.is(withPrompt(query), query)
})
