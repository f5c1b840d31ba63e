import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { emptyProfile } from '../../core/organizations/types.ts'
import { unwrap } from '../support/outcome.ts'
import { heldObjects } from '../support/object-rows.ts'

/** An organization on the store, with its owners and its other members. */
export const ownedOrganization = async (
  db: SqlDatabase,
  name: string,
  owners: readonly UserId[],
  members: readonly UserId[] = [],
): Promise<OrgId> => {
  const [organizations, memberships, teams] = [
    makeSqlOrganizationStore(db, heldObjects(db))(db),
    makeSqlMembershipStore(db)(db),
    makeSqlTeamStore(db)(db),
  ]
  const createdAt = new Date('2026-05-01T08:00:00.000Z')
  const orgId = unwrap(
    await organizations.insert({ ...emptyProfile, visibility: 'private', name, orgType: 0, createdAt }),
  )
  const team = { orgId, description: '', type: 'kubernetes', createdAt }
  const owning = unwrap(await teams.insert({ ...team, name: 'Owners', permission: 'owner' }))
  const looking = unwrap(await teams.insert({ ...team, name: 'Viewers', permission: 'read' }))
  for (const [ids, id] of [
    [owners, owning],
    [members, looking],
  ] as const) {
    for (const userId of ids) {
      await memberships.add(orgId, userId, createdAt)
      await teams.addMember({ id, orgId }, userId, createdAt)
    }
  }
  return orgId
}

export const isMember = async (db: SqlDatabase, orgId: OrgId, userId: UserId): Promise<boolean> =>
  (await makeSqlMembershipStore(db)(db).find(orgId, userId)) !== undefined
