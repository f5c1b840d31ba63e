import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { accountNamePattern, maxAccountNameLength, parseAccountName } from '../../core/kernel/ids.ts'
import type { Level } from '../../core/kernel/access.ts'
import { levels, reaches, permissionKey } from '../../core/kernel/access.ts'
import { parseTeamName } from '../../core/organizations/organizations/names.ts'
import type { ProfileInput } from '../../core/organizations/organizations/profile.ts'
import { ordinaryOrgType, parseProfile, profileLimits } from '../../core/organizations/organizations/profile.ts'
import { rightsOf } from '../../core/kernel/rights.ts'
import { mayChange, mayGive } from '../../core/organizations/members/rights.ts'
import { canSee, viewerIn, visibleWithoutMembership } from '../../core/organizations/organizations/visibility.ts'
import type { Viewer } from '../../core/organizations/organizations/visibility.ts'
import { visibilities } from '../../core/organizations/types.ts'
import { catalogue } from './bench.ts'

const parseOrdinary = (input: ProfileInput) => parseProfile(input, ordinaryOrgType)

test('names: the forms of the interface are read, what a path or a client could trip over is not', (t) => {
  for (const name of ['a', '1', 'tu1', 'A-b_c.d', 'x'.repeat(40)]) t.true(isRight(parseAccountName(name)), name)
  const invalid = ['', '-a', 'a-', '.a', 'a.', 'a..b', 'a-_b', 'a b', 'a/b', 'ä', 'a@b', 'a\n', '\u0430bc', 'x'.repeat(41), 'a%2f', '..', '.']
  for (const name of invalid) t.like(parseAccountName(name), { left: { reason: 'INVALID' } }, JSON.stringify(name))
  const reserved = ['api', 'API', 'Orgs', 'user', 'swagger.v1.json', 'me.keys', 'x.PNG', 'healthz', 'clusters', 'repo-avatars', 'claim', 'search']
  for (const name of reserved) t.like(parseAccountName(name), { left: { reason: 'RESERVED' } }, name)
})

test('names: an accepted name needs no escaping in a path and is short', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[-._A-Za-z0-9]{0,45}$/)), (text) => {
      const parsed = parseAccountName(text)
      if (isLeft(parsed)) return
      t.is(encodeURIComponent(text), text)
      t.true(text.length <= maxAccountNameLength && accountNamePattern.test(text))
      t.false(/[-._]{2}|^[-._]|[-._]$/.test(text))
    }),
  )
})

test('names: a long hostile text is refused before this test is given up', (t) => {
  t.true(isLeft(parseAccountName('a-'.repeat(500_000))))
  t.false(accountNamePattern.test(`${'a'.repeat(200_000)}!`))
  t.false(accountNamePattern.test(`${'a-'.repeat(200_000)}!`))
})

test('team names: dots, dashes and underscores, no spaces, not the word of the console', (t) => {
  for (const name of ['Ops', 'a..b', 'T_1.x-', '9']) t.true(isRight(parseTeamName(name)), name)
  for (const name of ['', 'new', 'NEW', 'a b', '-a', 'a/b', 'ä', 'x'.repeat(256)]) t.true(isLeft(parseTeamName(name)), name)
})

test('profile: exactly what was sent comes back', (t) => {
  t.deepEqual(parseOrdinary({}), { _tag: 'Right', right: {} })
  t.deepEqual(parseOrdinary({ website: '', visibility: '' }), { _tag: 'Right', right: { website: '' } })
  const text = (max: number) => fc.string({ maxLength: max })
  const given = fc.record(
    { fullName: text(profileLimits.fullName), description: text(profileLimits.description), location: text(profileLimits.location) },
    { requiredKeys: [] },
  )
  fc.assert(fc.property(given, (input) => void t.deepEqual(parseOrdinary(input), { _tag: 'Right', right: input } as never)))
})

test('profile: addresses that are none, too long texts and kinds that are made elsewhere are refused, all at once', (t) => {
  const bad = ['javascript:alert(1)', 'https://', 'https://user@evil.example', 'ftp://x.example', 'https://a b', 'x']
  for (const website of bad) t.true(isLeft(parseOrdinary({ website })), website)
  for (const website of ['https://a.example', 'http://a.example:80/x?y#z', 'HTTPS://a.example']) t.true(isRight(parseOrdinary({ website })), website)
  const all = parseOrdinary({ website: 'x', email: 'x', fleetEndpoint: 'x', location: 'x'.repeat(51), orgType: 'client' })
  t.is(isLeft(all) ? all.left.errors?.length : 0, 5)
  t.true(isLeft(parseOrdinary({ orgType: 'guild' })))
  t.true(isRight(parseOrdinary({ orgType: 0 })))
  t.true(isLeft(parseOrdinary({ orgType: 1 })), 'the kind stays')
})

const level = fc.constantFrom(...levels)
const permission = fc.constantFrom(
  { namespace: 'org_mgmt', action: 'view teams' },
  { namespace: 'org_mgmt', action: 'create teams' },
  { namespace: 'org_mgmt', action: 'delete' },
  { namespace: 'cluster_mgmt', action: 'view clusters' },
  { namespace: 'nowhere', action: 'unknown' },
)
const rights = (own: Level, permissions: readonly { namespace: string; action: string }[]) =>
  rightsOf(false, { isMember: true, level: own, permissions: new Set(permissions.map(permissionKey)) }, catalogue)

test('rights: a caller gives only rights that the caller has', (t) => {
  fc.assert(
    fc.property(level, fc.array(permission), level, fc.array(permission), (own, held, given, carried) => {
      const mine = rights(own, held)
      if (isLeft(mayGive(mine, given, carried))) return
      t.true(own === 'owner' || reaches(own, given))
      t.true(own === 'owner' || carried.every((one) => mine.holds(one)))
    }),
  )
})

test('rights: a gift never lets the receiver give more than the giver could', (t) => {
  const some = fc.array(permission, { maxLength: 2 })
  let gifts = 0
  fc.assert(
    fc.property(level, some, level, some, level, some, (own, held, given, carried, next, then) => {
      if (own === 'owner' || isLeft(mayGive(rights(own, held), given, carried))) return
      if (isLeft(mayGive(rights(given, carried), next, then))) return
      gifts += 1
      t.true(isRight(mayGive(rights(own, held), next, then)))
    }),
    { numRuns: 5000 },
  )
  t.true(gifts > 20)
})

test('rights: only members of a lower level are changed, by owners all', (t) => {
  fc.assert(
    fc.property(level, level, (own, other) => {
      const expected = own === 'owner' || other === 'none' || levels.indexOf(other) < levels.indexOf(own)
      t.is(isRight(mayChange(rights(own, []), other)), expected)
    }),
  )
  t.true(isRight(mayChange(rightsOf(true, { isMember: false, level: 'none', permissions: new Set() }, catalogue), 'owner')))
})

const viewer = (changes: Partial<Viewer>): Viewer => ({ userId: 7 as never, isSiteAdmin: false, publicOnly: false, onlyOrgId: undefined, ...changes })

test('visibility: strangers see public, the signed-in limited as well, members and site admins all', (t) => {
  const seen = (who: Viewer, isMember: boolean) => visibilities.filter((visibility) => canSee(who, { visibility }, isMember)).join(' ')
  t.is(seen(viewer({ userId: undefined }), false), 'public')
  t.is(seen(viewer({}), false), 'public limited')
  t.is(seen(viewer({}), true), 'public limited private')
  t.is(seen(viewer({ isSiteAdmin: true }), false), 'public limited private')
  t.is(seen(viewer({ publicOnly: true, isSiteAdmin: true }), true), 'public', 'a token for public objects')
})

test('visibility: a token that is confined to one organization is a stranger in all others', (t) => {
  const confined = viewer({ onlyOrgId: 3 as never, isSiteAdmin: true })
  t.is(viewerIn(confined, 4 as never).userId, undefined)
  t.is(viewerIn(confined, 3 as never).userId, 7 as never)
  t.deepEqual(visibleWithoutMembership(confined), ['public'])
  t.deepEqual(visibleWithoutMembership(viewer({ isSiteAdmin: true })), ['public', 'limited', 'private'])
})
