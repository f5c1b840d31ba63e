import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlProvisionedGroupStore } from '../../adapters/sql/provisioning/group-store.ts'
import { makeSqlProvisionedUserStore } from '../../adapters/sql/provisioning/user-store.ts'
import type { OrgId, TeamId } from '../../core/kernel/ids.ts'
import { makeGetProvisionedGroup, makePatchProvisionedGroup } from '../../core/provisioning/groups.ts'
import type { ProvisioningStores } from '../../core/provisioning/ports.ts'
import { patchGroup } from '../../plugins/provisioning/content.ts'
import { callBy, principal } from '../authz/callers.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import { eachDatabase } from '../support/databases.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { patch } from './directory-fixture.ts'
import { fillDirectory } from './large-directory.ts'

const orgId = 1 as OrgId
const many = 10_000
const newcomer = 100 + many
const at = 1_750_000_000_000

/** An organization whose directory has a group of one member and one of ten thousand. */
const storeGroups = async (db: SqlDatabase): Promise<void> => {
  const org = { id: orgId, visibility: 'private' as const, members: [], roles: [], grants: [] }
  const teams = [11, 12].map((id) => ({ id, permission: 'custom' as const, members: [], roleIds: [] }))
  await storeFixture(db, { users: [], orgs: [{ ...org, teams }], clusters: [], tokens: [] })
  await fillDirectory(db, {
    orgId,
    firstUserId: 100,
    users: many + 1,
    groups: [
      { teamId: 11, members: 1 },
      { teamId: 12, members: many },
    ],
  })
}

for (const database of eachDatabase()) {
  test(`${database.name}: a change of one member costs the same in a group of 10,000`, async (t) => {
    const db = await database.open()
    try {
      await storeGroups(db)
      const runner = countingRunner(db)
      const stores = {
        organizations: makeSqlOrganizationStore(db, async () => [])(runner),
        memberships: makeSqlMembershipStore(db)(runner),
        teams: makeSqlTeamStore(db)(runner),
        provisionedUsers: makeSqlProvisionedUserStore(db)(runner),
        provisionedGroups: makeSqlProvisionedGroupStore(db)(runner),
        audit: { record: async () => undefined },
      } as unknown as ProvisioningStores
      const change = makePatchProvisionedGroup({
        clock: { now: () => new Date(at) },
        unitOfWork: { run: (_call, work) => work(stores) },
      })
      const costOf = async (id: number, ...operations: readonly object[]): Promise<number> => {
        const body = patch(...operations) as Parameters<typeof patchGroup>[0]
        const input = { orgId, id: id as TeamId, expectedVersion: undefined, change: patchGroup(body) }
        unwrap(await change(callBy(principal(newcomer)), input))
        return runner.taken()
      }
      const add = { op: 'add', path: 'members', value: [{ value: String(newcomer) }] }
      const remove = { op: 'remove', path: `members[value eq "${newcomer}"]` }
      for (const operation of [add, remove]) {
        const [few, all] = [await costOf(11, operation), await costOf(12, operation)]
        t.is(all, few)
        t.true(all < 15, `${all} statements`)
        const get = makeGetProvisionedGroup({ groups: stores.provisionedGroups })
        const shown = (showsMembers: boolean) =>
          get(callBy(principal(newcomer)), { orgId, id: 12 as TeamId, showsMembers })
        t.is(tagOf(await shown(true)), operation === add ? 'TooMany' : 'done', 'an answer has at most 10,000 members')
        t.is(tagOf(await shown(false)), 'done')
        runner.taken()
      }
    } finally {
      await db.close()
    }
  })
}
