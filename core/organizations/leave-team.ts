import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { LastOwner } from './failures.ts'
import type { OrganizationStores } from './ports.ts'
import { isOwnersTeam } from './team-rules.ts'
import type { Team } from './types.ts'

/**
 * Takes a user out of one team, inside a transaction that holds the organization. Never the last owner.
 * Whether the user still belongs to the organization is for the caller to settle.
 */
export const leaveTeam = async (
  stores: OrganizationStores,
  team: Team,
  userId: UserId,
): Outcome<Failure<'LastOwner'>, void> => {
  if (isOwnersTeam(team) && (await stores.teams.countMembers(team.id, 2)) < 2) {
    return left(LastOwner('An organization keeps at least one owner. Make somebody else an owner first.'))
  }
  await stores.teams.removeMember(team.id, userId)
  return right(undefined)
}
