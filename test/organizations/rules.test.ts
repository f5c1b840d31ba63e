import { createHash } from 'node:crypto'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { Level } from '../../core/kernel/access.ts'
import { entryRefusal, levels, permissionKey, reaches } from '../../core/kernel/access.ts'
import type { TokenId, UserId } from '../../core/kernel/ids.ts'
import { accountNamePattern, maxAccountNameLength, parseAccountName } from '../../core/kernel/ids.ts'
import { rightsOf } from '../../core/kernel/rights.ts'
import { makeRemoveMember } from '../../core/organizations/members/members.ts'
import { mayChange, mayGive } from '../../core/organizations/member-rules.ts'
import type { ProfileInput, Viewer } from '../../core/organizations/organization-rules.ts'
import {
  parseTeamName,
  ordinaryOrgType,
  parseProfile,
  profileLimits,
  canSee,
  viewerIn,
  visibleWithoutMembership,
} from '../../core/organizations/organization-rules.ts'
import { makeCreateOrganization, makeDeleteOrganization } from '../../core/organizations/organizations/organizations.ts'
import { makeAddTeamMember, makeRemoveTeamMember } from '../../core/organizations/teams/team-members.ts'
import { visibilities } from '../../core/organizations/types.ts'
import { eachDatabase } from '../support/databases.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, catalogue, firstPage, makeOrganizationsFixture, onEachDatabase } from './use-cases.fixture.ts'
import { invitationStoreSuite } from './invitation-store.suite.ts'
import { membershipStoreSuite } from './membership-store.suite.ts'
import { organizationStoreSuite } from './organization-store.suite.ts'
import { policyStoreSuite } from './policy-store.suite.ts'
import { robotStoreSuite } from './robot-store.suite.ts'
import type { StoresFixture } from './stores.fixture.ts'
import { teamStoreSuite } from './team-store.suite.ts'
import { anyText } from '../support/any-text.ts'
import { declareSuite } from '../support/declare-suite.ts'

const parseOrdinary = (input: ProfileInput) => parseProfile(input, ordinaryOrgType)

test('a passkey is required of sessions, and of the owner of a token', (t) => {
  const rules = { secondFactorFrom: undefined, hasSecondFactor: true, requiresPasskey: true, maxTokenLifeDays: 0 }
  const caller = callBy(1 as UserId).principal
  const refusal = (of: object, hasPasskey: boolean) =>
    entryRefusal({ ...caller, ...of }, { ...rules, hasPasskey }, new Date())?.tag ?? 'admitted'
  for (const sessionProof of [undefined, 'password', 'code', 'provider'] as const) {
    const session = { method: 'session', ...(sessionProof === undefined ? {} : { sessionProof }) }
    t.is(refusal(session, true), 'PasskeyDemanded', sessionProof ?? 'a session of an earlier release')
  }
  t.is(refusal({ method: 'session', sessionProof: 'passkey' }, true), 'admitted')
  t.is(refusal({ method: 'password' }, true), 'PasskeyDemanded')
  t.deepEqual(
    [refusal({ method: 'token' }, true), refusal({ method: 'token' }, false)],
    ['admitted', 'PasskeyDemanded'],
  )
  t.is(
    entryRefusal(
      { ...caller, method: 'password' },
      { ...rules, hasPasskey: false, requiresPasskey: false },
      new Date(),
    ),
    undefined,
  )
})

test('names follow the interface and exclude unsafe characters', (t) => {
  for (const name of ['a', '1', 'tu1', 'A-b_c.d', 'x'.repeat(40)]) t.true(isRight(parseAccountName(name)), name)
  const invalid = [
    '',
    '-a',
    'a-',
    '.a',
    'a.',
    'a..b',
    'a-_b',
    'a b',
    'a/b',
    'ä',
    'a@b',
    'a\n',
    '\u0430bc',
    'x'.repeat(41),
    'a%2f',
    '..',
    '.',
  ]
  for (const name of invalid) t.like(parseAccountName(name), { left: { reason: 'INVALID' } }, JSON.stringify(name))
  const reserved = [
    'api',
    'API',
    'Orgs',
    'user',
    'swagger.v1.json',
    'me.keys',
    'x.PNG',
    'healthz',
    'clusters',
    'repo-avatars',
    'claim',
    'search',
  ]
  for (const name of reserved) t.like(parseAccountName(name), { left: { reason: 'RESERVED' } }, name)
})

test('names: an accepted name needs no escaping in a path and is short', (t) => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.stringMatching(/^[-._A-Za-z0-9]{0,45}$/)), (text) => {
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
  for (const name of ['', 'new', 'NEW', 'a b', '-a', 'a/b', 'ä', 'x'.repeat(256)])
    t.true(isLeft(parseTeamName(name)), name)
})

test('a profile returns the sent values', (t) => {
  t.deepEqual(parseOrdinary({}), { _tag: 'Right', right: {} })
  t.deepEqual(parseOrdinary({ website: '', visibility: '' }), { _tag: 'Right', right: { website: '' } })
  const text = (max: number) => fc.string({ maxLength: max })
  const given = fc.record(
    {
      fullName: text(profileLimits.fullName),
      description: text(profileLimits.description),
      location: text(profileLimits.location),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(given, (input) => void t.deepEqual(parseOrdinary(input), { _tag: 'Right', right: input } as never)),
  )
})

test('profile errors are all reported at once', (t) => {
  const bad = ['javascript:alert(1)', 'https://', 'https://user@evil.example', 'ftp://x.example', 'https://a b', 'x']
  for (const website of bad) t.true(isLeft(parseOrdinary({ website })), website)
  for (const website of ['https://a.example', 'http://a.example:80/x?y#z', 'HTTPS://a.example'])
    t.true(isRight(parseOrdinary({ website })), website)
  const all = parseOrdinary({
    website: 'x',
    email: 'x',
    fleetEndpoint: 'x',
    location: 'x'.repeat(51),
    orgType: 'client',
  })
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
  t.true(
    isRight(mayChange(rightsOf(true, { isMember: false, level: 'none', permissions: new Set() }, catalogue), 'owner')),
  )
})

const viewer = (changes: Partial<Viewer>): Viewer => ({
  userId: 7 as never,
  isSiteAdmin: false,
  publicOnly: false,
  onlyOrgId: undefined,
  ...changes,
})

test('visibility: anonymous callers see public, users limited, members all', (t) => {
  const seen = (who: Viewer, isMember: boolean) =>
    visibilities.filter((visibility) => canSee(who, { visibility }, isMember)).join(' ')
  t.is(seen(viewer({ userId: undefined }), false), 'public')
  t.is(seen(viewer({}), false), 'public limited')
  t.is(seen(viewer({}), true), 'public limited private')
  t.is(seen(viewer({ isSiteAdmin: true }), false), 'public limited private')
  t.is(seen(viewer({ publicOnly: true, isSiteAdmin: true }), true), 'public', 'a token for public objects')
})

test('visibility: a confined token is anonymous in other organizations', (t) => {
  const confined = viewer({ onlyOrgId: 3 as never, isSiteAdmin: true })
  t.is(viewerIn(confined, 4 as never).userId, undefined)
  t.is(viewerIn(confined, 3 as never).userId, 7 as never)
  t.deepEqual(visibleWithoutMembership(confined), ['public'])
  t.deepEqual(visibleWithoutMembership(viewer({ isSiteAdmin: true })), ['public', 'limited', 'private'])
})

const rounds = 8
const people = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `user${n}`)

onEachDatabase('of owners who all leave at once, one stays', async (t, fixture) => {
  const owners: UserId[] = []
  for (const name of people(4)) owners.push(await fixture.user(name))
  for (let round = 0; round < rounds; round++) {
    const id = await fixture.organization(`org${round}`, owners[0] as UserId)
    const team = await fixture.team(id, 'Owners')
    for (const name of people(4))
      unwrap(
        await makeAddTeamMember(fixture)(callBy(owners[0] as UserId), {
          teamId: team.id,
          user: { name },
          whenMember: 'done',
        }),
      )
    const outcomes = await Promise.all(
      owners.map((owner, n) =>
        n % 2 === 0
          ? makeRemoveTeamMember(fixture)(callBy(owner), { teamId: team.id, user: { id: owner } })
          : makeRemoveMember(fixture)(callBy(owner), { orgId: id, member: { id: owner } }),
      ),
    )
    t.deepEqual(outcomes.map(tagOf).sort(), ['LastOwner', 'done', 'done', 'done'])
    t.is((await fixture.teams.listMembers(team.id, firstPage)).total, 1)
  }
})

onEachDatabase('of two owners who remove each other at once, one stays', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await fixture.organization(`org${round}`, ada)
    const team = await fixture.team(id, 'Owners')
    unwrap(
      await makeAddTeamMember(fixture)(callBy(ada), { teamId: team.id, user: { name: 'bob' }, whenMember: 'done' }),
    )
    const remove = makeRemoveMember(fixture)
    const outcomes = await Promise.all([
      remove(callBy(ada), { orgId: id, member: { name: 'bob' } }),
      remove(callBy(bob), { orgId: id, member: { name: 'ada' } }),
    ])
    t.is(outcomes.filter((outcome) => tagOf(outcome) === 'done').length, 1)
    t.is((await fixture.memberships.list(id, 'all', firstPage)).total, 1)
  }
})

onEachDatabase('a user who leaves the last two teams at once is no longer a member', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await fixture.organization(`org${round}`, ada)
    const teams = [await fixture.newTeam(id, 'A', 'read', [bob]), await fixture.newTeam(id, 'B', 'read', [bob])]
    const outcomes = await Promise.all(
      teams.map((team) => makeRemoveTeamMember(fixture)(callBy(bob), { teamId: team.id, user: { name: 'bob' } })),
    )
    t.deepEqual(outcomes.map(tagOf), ['done', 'done'])
    t.is(await fixture.memberships.find(id, bob), undefined)
  }
})

onEachDatabase('adding to a team while the organization is deleted leaves no half', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await fixture.organization(`org${round}`, ada)
    const viewers = await fixture.team(id, 'Viewers')
    const [added, deleted] = await Promise.all([
      makeAddTeamMember(fixture)(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' }),
      makeDeleteOrganization(fixture)(callBy(ada), id),
    ])
    t.is(tagOf(deleted), 'done')
    t.true(['done', 'TeamMissing'].includes(tagOf(added)), tagOf(added))
    t.is(await fixture.memberships.find(id, bob), undefined)
    t.is(await fixture.teams.findById(viewers.id), undefined)
  }
})

onEachDatabase('a cluster that comes while its organization goes keeps it, or is refused', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const cluster = {
    provider: 'Generic',
    uid: 'u',
    endpoint: 'e',
    phase: 'Active',
    ref: 'r',
    display_name: 'c',
    created_at: 1,
  }
  for (let round = 0; round < rounds; round++) {
    const id = await fixture.organization(`org${round}`, ada)
    const coming = fixture.database
      .query((k) => k('clusters').insert({ ...cluster, owner_id: id, name: 'prod' }))
      .then(
        () => 'kept',
        () => 'refused',
      )
    const [came, gone] = await Promise.all([coming, makeDeleteOrganization(fixture)(callBy(ada), id)])
    t.is(tagOf(gone), came === 'kept' ? 'OrganizationInUse' : 'done')
    t.is((await fixture.organizations.findById(id)) !== undefined, came === 'kept')
  }
})

onEachDatabase('of many who take one name at once, one gets it', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const create = makeCreateOrganization(fixture)
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => create(callBy(ada), { name: 'acme' })))
  t.deepEqual(outcomes.map(tagOf).sort(), [...Array.from({ length: 5 }, () => 'OrganizationNameTaken'), 'done'])
  t.is((await fixture.organizations.listOfUser(ada, firstPage)).total, 1)
})

onEachDatabase('adding one user to one team many times at once adds once', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const id = await fixture.organization('acme', ada)
  const viewers = await fixture.team(id, 'Viewers')
  const add = makeAddTeamMember(fixture)
  const outcomes = await Promise.all(
    Array.from({ length: 6 }, () =>
      add(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' }),
    ),
  )
  t.deepEqual([...new Set(outcomes.map(tagOf))], ['done'])
  t.deepEqual((await fixture.teams.listMembers(viewers.id, firstPage)).items, [bob])
})

for (const { name, open } of eachDatabase()) {
  const openBench = async (): Promise<StoresFixture> => {
    const database = await open()
    return {
      ...makeOrganizationsFixture(database),
      removeUser: async (userId) => void (await database.query((k) => k('accounts').where('id', userId).delete())),
      email: async (userId, email, verified) => {
        const columns = {
          user_id: userId,
          email,
          lower_email: email.toLowerCase(),
          verified: verified ? 1 : 0,
          is_primary: 1,
          created_at: 1,
        }
        await database.query((k) => k('emails').insert(columns))
      },
      factor: async (userId, isEnrolled) => {
        await database.query((k) => k('two_factors').where('user_id', userId).delete())
        const columns = {
          user_id: userId,
          sealed_seed: Buffer.from([1]),
          ref: 'r',
          offered_at: 1,
          enrolled_at: isEnrolled ? 2 : null,
        }
        await database.query((k) => k('two_factors').insert(columns))
      },
      cluster: async (ownerId, cluster) => {
        const fixed = {
          provider: 'Generic',
          uid: 'u',
          endpoint: 'e',
          phase: 'Active',
          ref: 'r',
          display_name: 'c',
          created_at: 1,
        }
        await database.query((k) => k('clusters').insert({ ...fixed, owner_id: ownerId, name: cluster }))
      },
      token: async (userId, tokenName, onlyOrgId) => {
        const token_hash = createHash('sha256').update(`${userId} ${tokenName}`).digest()
        const columns = {
          user_id: userId,
          name: tokenName,
          token_hash,
          last_eight: 'abcdefgh',
          scopes: 'all',
          created_at: 1,
        }
        await database.query((k) => k('access_tokens').insert({ ...columns, only_org_id: onlyOrgId ?? null }))
        const [row] = await database.query<{ id: number }>((k) =>
          k('access_tokens').where({ user_id: userId, name: tokenName }).select('id'),
        )
        return Number(row?.id) as TokenId
      },
    }
  }
  declareSuite(organizationStoreSuite, `${name} organizations`, openBench)
  declareSuite(teamStoreSuite, `${name} teams`, openBench)
  declareSuite(invitationStoreSuite, `${name} invitations`, openBench)
  declareSuite(policyStoreSuite, `${name} policies`, openBench)
  declareSuite(robotStoreSuite, `${name} robots`, openBench)
  declareSuite(membershipStoreSuite, `${name} memberships`, openBench)
}
