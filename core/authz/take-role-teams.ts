import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, TeamId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { RoleStore } from './ports.ts'

/** A team that is not one of the role's organization; whether it exists elsewhere is not told. */
export const RoleTeamUnknown = defineFailure('RoleTeamUnknown', 'Invalid')

/** The teams of a role, each once, ascending, all of the organization and kept there until the transaction ends. */
export const takeRoleTeams = async (
  roles: RoleStore,
  orgId: OrgId,
  wanted: readonly TeamId[],
): Promise<Either<Failure<'RoleTeamUnknown'>, readonly TeamId[]>> => {
  const teamIds = [...new Set(wanted)].sort((a, b) => a - b)
  const own = await roles.lockTeams(orgId, teamIds)
  const foreign = teamIds.filter((id) => !own.has(id)).map(String)
  return foreign.length === 0
    ? right(teamIds)
    : left(RoleTeamUnknown(`No team of this organization: ${foreign.join(', ')}`, { errors: foreign }))
}
