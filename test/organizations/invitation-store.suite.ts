import { createHash } from 'node:crypto'
import type { OrgId, TeamId, UserId } from '../../core/kernel/ids.ts'
import type { InvitationId } from '../../core/organizations/invitations/ports.ts'
import { addOrganization, addTeam, at, firstPage } from './store-bench.ts'
import type { StoreBench } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest()
const later = (days: number): Date => new Date(at.getTime() + days * 24 * 3600 * 1000)

const put = (
  bench: StoreBench,
  orgId: OrgId,
  inviterId: UserId,
  email: string,
  token: string,
  teamIds: readonly TeamId[] = [],
  expiresAt = later(7),
) =>
  bench.invitations.put({
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
export const invitationStoreSuite = contractSuite<StoreBench>(about, (cases) => {
  cases(
    'an invitation comes back as it was put, by organization and id and by the hash of its token',
    async (t, bench) => {
      const [ada, acme, evil] = [
        await bench.user('ada'),
        await addOrganization(bench, 'acme'),
        await addOrganization(bench, 'evil'),
      ]
      const team = await addTeam(bench, acme, 'crew')
      const id = await put(bench, acme, ada, 'Grace@example.org', 'secret', [team])
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
      t.deepEqual(await bench.invitations.find(acme, id), expected as never)
      t.deepEqual(await bench.invitations.findByHash(hashOf('secret')), expected as never)
      t.deepEqual((await bench.invitations.list(acme, at, firstPage)).items, [expected] as never)
      t.is(await bench.invitations.find(evil, id), undefined)
      t.is(await bench.invitations.findByHash(hashOf('other')), undefined)
      t.deepEqual((await bench.invitations.list(evil, at, firstPage)).items, [])
      t.false(await bench.invitations.remove(evil, id))
      t.true(await bench.invitations.remove(acme, id))
      t.false(await bench.invitations.remove(acme, id))
    },
  )

  cases('a second invitation to an address replaces the first, in that organization alone', async (t, bench) => {
    const [ada, acme, evil] = [
      await bench.user('ada'),
      await addOrganization(bench, 'acme'),
      await addOrganization(bench, 'evil'),
    ]
    await put(bench, acme, ada, 'grace@example.org', 'first')
    await put(bench, evil, ada, 'grace@example.org', 'theirs')
    await put(bench, acme, ada, 'GRACE@example.org', 'second')
    t.is(await bench.invitations.findByHash(hashOf('first')), undefined)
    t.not(await bench.invitations.findByHash(hashOf('second')), undefined)
    t.not(await bench.invitations.findByHash(hashOf('theirs')), undefined)
    t.is(await bench.invitations.countPending(acme, 'nobody@example.org', at), 1)
    t.is(await bench.invitations.countPending(acme, 'grace@example.org', at), 0)
  })

  cases('a token is taken once, and not when it has expired', async (t, bench) => {
    const [ada, acme] = [await bench.user('ada'), await addOrganization(bench, 'acme')]
    await put(bench, acme, ada, 'grace@example.org', 'once')
    await put(bench, acme, ada, 'heidi@example.org', 'late', [], later(1))
    t.false(await bench.invitations.take(hashOf('late'), later(1)))
    t.deepEqual(
      (await bench.invitations.list(acme, later(1), firstPage)).items.map(({ address }) => address.key),
      ['grace@example.org'],
    )
    const taken = await Promise.all(Array.from({ length: 5 }, () => bench.invitations.take(hashOf('once'), at)))
    t.is(taken.filter(Boolean).length, 1)
    t.is(await bench.invitations.removeExpired(later(1), 10), 1)
    t.is(await bench.invitations.removeExpired(later(1), 10), 0)
  })

  cases('invitations go with their organization and their inviter; a deleted team leaves them', async (t, bench) => {
    const [ada, bob, acme, evil] = [
      await bench.user('ada'),
      await bench.user('bob'),
      await addOrganization(bench, 'acme'),
      await addOrganization(bench, 'evil'),
    ]
    const team = await addTeam(bench, acme, 'crew')
    const id = await put(bench, acme, ada, 'grace@example.org', 'one', [team])
    await put(bench, acme, bob, 'heidi@example.org', 'two')
    await put(bench, evil, ada, 'ivan@example.org', 'three')
    await bench.teams.remove(team)
    t.deepEqual((await bench.invitations.find(acme, id))?.teamIds, [])
    await bench.removeUser(bob)
    t.is(await bench.invitations.findByHash(hashOf('two')), undefined)
    await bench.organizations.remove(acme)
    t.is(await bench.invitations.find(acme, id as InvitationId), undefined)
    t.not(await bench.invitations.findByHash(hashOf('three')), undefined)
  })

  cases(
    'an address belongs to the user who confirmed it, and is that of a member only in the own organization',
    async (t, bench) => {
      const [ada, bob, acme, evil] = [
        await bench.user('ada'),
        await bench.user('bob'),
        await addOrganization(bench, 'acme'),
        await addOrganization(bench, 'evil'),
      ]
      await bench.email(ada, 'ada@example.org', true)
      await bench.email(bob, 'bob@example.org', false)
      await bench.memberships.add(acme, ada, at)
      await bench.memberships.add(acme, bob, at)
      t.true(await bench.invitations.holdsAddress(ada, 'ada@example.org'))
      t.false(await bench.invitations.holdsAddress(bob, 'ada@example.org'))
      t.false(await bench.invitations.holdsAddress(bob, 'bob@example.org'), 'not confirmed')
      t.deepEqual(await bench.invitations.memberWithAddress(acme, 'ada@example.org'), {
        userId: ada,
        showsAddress: false,
      })
      t.is(await bench.invitations.memberWithAddress(evil, 'ada@example.org'), undefined)
      t.is(await bench.invitations.memberWithAddress(acme, 'bob@example.org'), undefined)
    },
  )
})
