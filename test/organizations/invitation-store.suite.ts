import { createHash } from 'node:crypto'
import type { OrgId, TeamId, UserId } from '../../core/kernel/ids.ts'
import type { InvitationId } from '../../core/organizations/invitations/ports.ts'
import { addOrganization, addTeam, at, firstPage } from './stores.fixture.ts'
import type { StoresFixture } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest()
const later = (days: number): Date => new Date(at.getTime() + days * 24 * 3600 * 1000)

const put = (
  fixture: StoresFixture,
  orgId: OrgId,
  inviterId: UserId,
  email: string,
  token: string,
  teamIds: readonly TeamId[] = [],
  expiresAt = later(7),
) =>
  fixture.invitations.put({
    orgId,
    inviterId,
    teamIds,
    role: 'member',
    address: { text: email, key: email.toLowerCase() },
    hash: hashOf(token),
    createdAt: at,
    expiresAt,
  })

const about: SuiteAbout = {
  name: 'invitation-store',
  ports: ['InvitationStore'],
  needs: 'No accounts.',
}

/** What every InvitationStore keeps. */
export const invitationStoreSuite = contractSuite<StoresFixture>(about, (cases) => {
  cases(
    'an invitation comes back as it was put, by organization and id and by the hash of its token',
    async (t, fixture) => {
      const [ada, acme, evil] = [
        await fixture.user('ada'),
        await addOrganization(fixture, 'acme'),
        await addOrganization(fixture, 'evil'),
      ]
      const team = await addTeam(fixture, acme, 'crew')
      const id = await put(fixture, acme, ada, 'Grace@example.org', 'secret', [team])
      const expected = {
        id,
        orgId: acme,
        address: { text: 'Grace@example.org', key: 'grace@example.org' },
        role: 'member',
        teamIds: [team],
        inviterId: ada,
        inviterLogin: 'ada',
        createdAt: at,
        expiresAt: later(7),
      }
      t.deepEqual(await fixture.invitations.find(acme, id), expected as never)
      t.deepEqual(await fixture.invitations.findByHash(hashOf('secret')), expected as never)
      t.deepEqual((await fixture.invitations.list(acme, at, firstPage)).items, [expected] as never)
      t.is(await fixture.invitations.find(evil, id), undefined)
      t.is(await fixture.invitations.findByHash(hashOf('other')), undefined)
      t.deepEqual((await fixture.invitations.list(evil, at, firstPage)).items, [])
      t.false(await fixture.invitations.remove(evil, id))
      t.true(await fixture.invitations.remove(acme, id))
      t.false(await fixture.invitations.remove(acme, id))
    },
  )

  cases('a second invitation to an address replaces the first, in that organization alone', async (t, fixture) => {
    const [ada, acme, evil] = [
      await fixture.user('ada'),
      await addOrganization(fixture, 'acme'),
      await addOrganization(fixture, 'evil'),
    ]
    await put(fixture, acme, ada, 'grace@example.org', 'first')
    await put(fixture, evil, ada, 'grace@example.org', 'theirs')
    await put(fixture, acme, ada, 'GRACE@example.org', 'second')
    t.is(await fixture.invitations.findByHash(hashOf('first')), undefined)
    t.not(await fixture.invitations.findByHash(hashOf('second')), undefined)
    t.not(await fixture.invitations.findByHash(hashOf('theirs')), undefined)
    t.is(await fixture.invitations.countPending(acme, 'nobody@example.org', at), 1)
    t.is(await fixture.invitations.countPending(acme, 'grace@example.org', at), 0)
  })

  cases('a token is taken once, and not when it has expired', async (t, fixture) => {
    const [ada, acme] = [await fixture.user('ada'), await addOrganization(fixture, 'acme')]
    await put(fixture, acme, ada, 'grace@example.org', 'once')
    await put(fixture, acme, ada, 'heidi@example.org', 'late', [], later(1))
    t.false(await fixture.invitations.take(hashOf('late'), later(1)))
    t.deepEqual(
      (await fixture.invitations.list(acme, later(1), firstPage)).items.map(({ address }) => address.key),
      ['grace@example.org'],
    )
    const taken = await Promise.all(Array.from({ length: 5 }, () => fixture.invitations.take(hashOf('once'), at)))
    t.is(taken.filter(Boolean).length, 1)
    t.is(await fixture.invitations.removeExpired(later(1), 10), 1)
    t.is(await fixture.invitations.removeExpired(later(1), 10), 0)
  })

  cases('invitations go with their organization and their inviter; a deleted team leaves them', async (t, fixture) => {
    const [ada, bob, acme, evil] = [
      await fixture.user('ada'),
      await fixture.user('bob'),
      await addOrganization(fixture, 'acme'),
      await addOrganization(fixture, 'evil'),
    ]
    const team = await addTeam(fixture, acme, 'crew')
    const id = await put(fixture, acme, ada, 'grace@example.org', 'one', [team])
    await put(fixture, acme, bob, 'heidi@example.org', 'two')
    await put(fixture, evil, ada, 'ivan@example.org', 'three')
    await fixture.teams.remove(team)
    t.deepEqual((await fixture.invitations.find(acme, id))?.teamIds, [])
    await fixture.removeUser(bob)
    t.is(await fixture.invitations.findByHash(hashOf('two')), undefined)
    await fixture.organizations.remove(acme)
    t.is(await fixture.invitations.find(acme, id as InvitationId), undefined)
    t.not(await fixture.invitations.findByHash(hashOf('three')), undefined)
  })

  cases(
    'an address belongs to the user who confirmed it, and is that of a member only in the own organization',
    async (t, fixture) => {
      const [ada, bob, acme, evil] = [
        await fixture.user('ada'),
        await fixture.user('bob'),
        await addOrganization(fixture, 'acme'),
        await addOrganization(fixture, 'evil'),
      ]
      await fixture.email(ada, 'ada@example.org', true)
      await fixture.email(bob, 'bob@example.org', false)
      await fixture.memberships.add(acme, ada, at)
      await fixture.memberships.add(acme, bob, at)
      t.true(await fixture.invitations.holdsAddress(ada, 'ada@example.org'))
      t.false(await fixture.invitations.holdsAddress(bob, 'ada@example.org'))
      t.false(await fixture.invitations.holdsAddress(bob, 'bob@example.org'), 'not confirmed')
      t.deepEqual(await fixture.invitations.memberWithAddress(acme, 'ada@example.org'), {
        userId: ada,
        showsAddress: false,
      })
      t.is(await fixture.invitations.memberWithAddress(evil, 'ada@example.org'), undefined)
      t.is(await fixture.invitations.memberWithAddress(acme, 'bob@example.org'), undefined)
    },
  )
})
