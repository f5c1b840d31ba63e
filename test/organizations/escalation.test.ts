import { createHash } from 'node:crypto'
import { right } from 'fp-ts/lib/Either.js'
import test from 'ava'
import fc from 'fast-check'
import { permissionKey } from '../../core/kernel/access.ts'
import type { OrgId, TeamId, UserId } from '../../core/kernel/ids.ts'
import { rightsOf } from '../../core/kernel/rights.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeAcceptInvitation, makeInviteMember } from '../../core/organizations/invitations/invitations.ts'
import { makeCreateRobot, makeEditRobot } from '../../core/organizations/robots/robots.ts'
import type { MembershipRole, TeamPermission } from '../../core/organizations/types.ts'
import { organizationsPlugin } from '../../plugins/organizations/plugin.ts'
import { eachDatabase } from '../support/databases.ts'
import type { OrganizationsFixture } from './use-cases.fixture.ts'
import { callBy, catalogue, makeOrganizationsFixture } from './use-cases.fixture.ts'

const { permissions: organizationPermissions = [] } = organizationsPlugin

const allKeys = organizationPermissions.map(permissionKey)
const managing = ['add members', 'add team members', 'manage robot accounts'].map((action) => `org_mgmt/${action}`)

/** One attempt of the maker: an invitation that somebody accepts, or a robot account, with some of the teams. */
interface Attempt {
  readonly how: 'invite' | 'robot' | 'robot moved later'
  readonly role: MembershipRole
  readonly teams: readonly number[]
}
const attempts = fc.array(
  fc.record({
    how: fc.constantFrom<Attempt['how']>('invite', 'robot', 'robot moved later'),
    role: fc.constantFrom<MembershipRole>('member', 'member', 'admin', 'owner'),
    teams: fc.uniqueArray(fc.nat(5), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
)
/** What the maker holds: a level, or a custom role that manages people and robots and some more. */
const maker = fc.oneof(
  fc
    .constantFrom<TeamPermission>('read', 'write', 'admin')
    .map((level) => ({ level, permissions: [] as readonly string[] })),
  fc.subarray(allKeys).map((keys) => ({ level: 'custom' as const, permissions: [...new Set([...keys, ...managing])] })),
)

let names = 0
const fresh = (word: string): string => `${word}${(names += 1)}`

/** An organization in which the maker has one team, and there are five more to give away. */
const settle = async (
  fixture: OrganizationsFixture,
  owner: UserId,
  climber: UserId,
  held: { readonly level: TeamPermission; readonly permissions: readonly string[] },
  other: readonly string[],
) => {
  const orgId = await fixture.organization(fresh('org'), owner)
  const own = await fixture.newTeam(orgId, 'own', held.level, [climber])
  if (held.level === 'custom') await fixture.role(orgId, 'held', held.permissions, [own.id])
  const custom = await fixture.newTeam(orgId, 'other', 'custom')
  await fixture.role(orgId, 'mighty', other.length === 0 ? ['org_mgmt/delete'] : other, [custom.id])
  const named = ['Owners', 'Editors', 'Viewers'].map((name) => fixture.team(orgId, name))
  const admins = await fixture.newTeam(orgId, 'Admins', 'admin')
  return { orgId, teams: [own.id, custom.id, admins.id, ...(await Promise.all(named)).map(({ id }) => id)] }
}

const heldBy = async (fixture: OrganizationsFixture, orgId: OrgId, userId: UserId): Promise<readonly string[]> => {
  const rights = rightsOf(false, await fixture.memberships.rights(orgId, userId), catalogue)
  return [rights.level, ...organizationPermissions.filter((one) => rights.holds(one)).map(permissionKey)]
}

let tokens = 0
const invitationTokens = {
  make: () => secret(`token${(tokens += 1)}`.padEnd(32, '0')),
  digest: (value: string) => createHash('sha256').update(value).digest(),
}
const allowances = { take: () => Promise.resolve(undefined) }
const addresses = { read: (text: string) => right({ text, key: text }), readable: (text: string) => text }

/** Who came in by the attempt; undefined when it was refused. */
const carryOut = async (
  fixture: OrganizationsFixture,
  climber: UserId,
  orgId: OrgId,
  teamIds: readonly TeamId[],
  { how, role }: Attempt,
): Promise<UserId | undefined> => {
  const call = callBy(climber)
  if (how === 'invite') {
    const guest = await fixture.user(fresh('guest'))
    const email = `${guest}@example.org`
    await fixture.database.query((k) =>
      k('emails').insert({ user_id: guest, email, lower_email: email, verified: 1, is_primary: 1, created_at: 1 }),
    )
    const invited = await makeInviteMember({
      ...fixture,
      addresses,
      allowances,
      invitationTokens,
      baseUrl: () => 'https://x',
    })(call, { orgId, email, role, teamIds })
    if (invited._tag === 'Left') return undefined
    const token = /code=(\w+)/.exec(fixture.posted.at(-1)?.action?.url.reveal() ?? '')?.[1] ?? ''
    const accepted = await makeAcceptInvitation({ ...fixture, invitationTokens })(callBy(guest), token)
    return accepted._tag === 'Left' ? undefined : guest
  }
  const made = await makeCreateRobot(fixture)(call, {
    orgId,
    name: fresh('r'),
    description: '',
    teamIds: how === 'robot' ? teamIds : [],
  })
  if (made._tag === 'Left') return undefined
  if (how === 'robot') return made.right.id
  const moved = await makeEditRobot(fixture)(call, {
    orgId,
    id: made.right.id,
    change: { teamIds },
    expectedVersion: undefined,
  })
  return moved._tag === 'Left' ? undefined : made.right.id
}

for (const { name, open } of eachDatabase()) {
  test(`${name}: no invitation and no robot account holds more than its maker`, async (t) => {
    const fixture = makeOrganizationsFixture(await open())
    const [owner, climber] = [await fixture.user('owner'), await fixture.user('climber')]
    const numRuns = name === 'sqlite' ? 60 : 15
    let succeeded = 0
    await fc.assert(
      fc.asyncProperty(maker, fc.subarray(allKeys), attempts, async (held, other, tries) => {
        const { orgId, teams } = await settle(fixture, owner, climber, held, other)
        const own = await heldBy(fixture, orgId, climber)
        for (const attempt of tries) {
          const came = await carryOut(
            fixture,
            climber,
            orgId,
            attempt.teams.map((index) => teams[index % teams.length] as TeamId),
            attempt,
          )
          if (came === undefined) continue
          succeeded += 1
          const ranks = ['none', 'read', 'write', 'admin', 'owner']
          const [level = '', ...permissions] = await heldBy(fixture, orgId, came)
          t.true(ranks.indexOf(level) <= ranks.indexOf(own[0] ?? ''), `${level} from ${own[0]}`)
          t.deepEqual(
            permissions.filter((permission) => !own.includes(permission)),
            [],
          )
        }
        t.deepEqual(await heldBy(fixture, orgId, climber), own)
      }),
      { numRuns },
    )
    t.true(succeeded > numRuns / 10, `${succeeded} attempts succeeded`)
    await fixture.close()
  })
}
