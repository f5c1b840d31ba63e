import { left } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { TeamMissing } from './failures.ts'
import type { OrganizationStores, PermissionLevels } from './ports.ts'
import type { Rights } from './rights.ts'
import { rightsIn } from './team-rules.ts'
import type { Organization, Team } from './types.ts'

export interface TeamChangeDeps {
  readonly uow: UnitOfWork<OrganizationStores>
  readonly catalogue: PermissionLevels
}

/** A team whose organization is held, and what the caller may do there. */
export interface HeldTeam {
  readonly stores: OrganizationStores
  readonly team: Team
  readonly organization: Organization
  readonly rights: Rights
}

/**
 * Runs a change of one team while its organization is held: the team is read again after the lock, so that what the
 * rules judge is what will be changed.
 */
export const inTeam = <F extends Failure, A>(
  deps: TeamChangeDeps,
  call: SignedInCall<A>,
  id: TeamId,
  work: (held: HeldTeam) => Outcome<F | Failure<'TeamMissing'>, A>,
): Outcome<F | Failure<'TeamMissing'>, A> =>
  deps.uow.run<F | Failure<'TeamMissing'>, A>(call, async (stores) => {
    const orgId = (await stores.teams.findById(id))?.orgId
    const isHeld = orgId !== undefined && (await stores.organizations.lock(orgId))
    const team = isHeld ? await stores.teams.findById(id) : undefined
    const organization = team === undefined ? undefined : await stores.organizations.findById(team.orgId)
    if (team === undefined || organization === undefined) return left(TeamMissing('There is no such team.'))
    const rights = await rightsIn(stores, deps.catalogue, call.principal, team.orgId)
    return work({ stores, team, organization, rights })
  })
