import { left } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { OrganizationMissing } from './failures.ts'
import type { TeamChangeDeps } from './in-team.ts'
import type { OrganizationStores } from './ports.ts'
import type { Rights } from './rights.ts'
import { rightsIn } from './team-rules.ts'
import type { Organization } from './types.ts'

/** What a change needs that is also open to members whom the organization does not let in. */
export interface MemberChangeDeps extends TeamChangeDeps {
  readonly clock: Clock
}

export interface HeldOrganization {
  readonly stores: OrganizationStores
  readonly organization: Organization
  readonly rights: Rights
}

/** Runs a change of memberships while the organization is held, with the caller's rights as they are then. */
export const inOrganization = <F extends Failure, A>(
  deps: TeamChangeDeps,
  call: SignedInCall<A>,
  id: OrgId,
  work: (held: HeldOrganization) => Outcome<F | Failure<'OrganizationMissing'>, A>,
): Outcome<F | Failure<'OrganizationMissing'>, A> =>
  deps.uow.run<F | Failure<'OrganizationMissing'>, A>(call, async (stores) => {
    const organization = (await stores.organizations.lock(id)) ? await stores.organizations.findById(id) : undefined
    if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
    return work({ stores, organization, rights: await rightsIn(stores, deps.catalogue, call.principal, id) })
  })
