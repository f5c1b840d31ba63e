import type { TeamDirectory } from '../../../core/authorization-server/ports.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { TeamStore } from '../../../core/organizations/ports.ts'
import { pick } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { accounts } from '../tables/identity.ts'

/** TeamDirectory over the teams of organizations. Those that a person may not enter now are left out. */
export const makeSqlTeamDirectory = (
  db: SqlDatabase,
  { teams, clock }: { readonly teams: Pick<TeamStore, 'listOfUser'>; readonly clock: Clock },
): TeamDirectory => {
  const nameOf = db.prepare(pick(accounts, 'id'), pick(accounts, 'name'), (k, p) => k('accounts').where('id', p.id))
  return {
    async teamsOf(userId, limit) {
      const entry = { at: clock.now(), tokenLifeDays: 0, passkeyProof: 'owned' } as const
      const within = { onlyOrgId: undefined, onlyPublic: false, entry }
      const { items } = await teams.listOfUser(userId, within, { page: 1, limit })
      return items.map(({ team, organization }) => ({
        orgId: team.orgId,
        organization: organization.name,
        team: team.name,
      }))
    },
    nameOf: async (id) => (await db.first(nameOf, { id }))?.name,
  }
}
