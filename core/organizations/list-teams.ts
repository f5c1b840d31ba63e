import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, TeamId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import { entrantOf } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { OrganizationMissing, TeamMissing } from './failures.ts'
import type { MembershipStore, OrganizationStore, TeamStore } from './ports.ts'
import type { Organization, Team, TeamInOrganization } from './types.ts'

type Stores = {
  readonly organizations: OrganizationStore
  readonly teams: TeamStore
  readonly memberships: MembershipStore
}

const within = (page: Page<Team>, organization: Organization): Page<TeamInOrganization> => ({
  ...page,
  items: page.items.map((team) => ({ team, organization })),
})

export const makeFindTeam =
  (deps: Pick<Stores, 'organizations' | 'teams'>) =>
  async (id: TeamId): Outcome<Failure<'TeamMissing'>, TeamInOrganization> => {
    const team = await deps.teams.findById(id)
    const organization = team === undefined ? undefined : await deps.organizations.findById(team.orgId)
    return team === undefined || organization === undefined
      ? left(TeamMissing('There is no such team.'))
      : right({ team, organization })
  }

export const makeListTeams =
  (deps: Pick<Stores, 'organizations' | 'teams'>) =>
  async (orgId: OrgId, page: PageRequest): Outcome<Failure<'OrganizationMissing'>, Page<TeamInOrganization>> => {
    const organization = await deps.organizations.findById(orgId)
    return organization === undefined
      ? left(OrganizationMissing('There is no such organization.'))
      : right(within(await deps.teams.list(orgId, page), organization))
  }

export interface TeamQuery {
  readonly text: string
  readonly includesDescription: boolean
}

/** Owners and site admins search all teams, others their own. */
export const makeSearchTeams =
  (deps: Stores) =>
  async (
    call: SignedInCall,
    orgId: OrgId,
    query: TeamQuery,
    page: PageRequest,
  ): Outcome<Failure<'OrganizationMissing'>, Page<TeamInOrganization>> => {
    const organization = await deps.organizations.findById(orgId)
    if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
    const { userId, isSiteAdmin } = call.principal
    const seesAll = isSiteAdmin || (await deps.memberships.standing(orgId, userId)).level === 'owner'
    const found = await deps.teams.search(orgId, { ...query, memberId: seesAll ? undefined : userId }, page)
    return right(within(found, organization))
  }

/** The caller's teams, as far as the caller's token reaches, in the organizations that let the caller in now. */
export const makeListOwnTeams =
  (deps: Pick<Stores, 'organizations' | 'teams'> & { readonly clock: Clock }) =>
  async (call: SignedInCall, page: PageRequest): Promise<Page<TeamInOrganization>> => {
    const { userId, onlyOrgId, scopes } = call.principal
    const entrant = entrantOf(call.principal, deps.clock.now())
    const found = await deps.teams.listOfUser(userId, { onlyOrgId, onlyPublic: scopes.publicOnly, entrant }, page)
    const organizations = await deps.organizations.findByIds([...new Set(found.items.map((team) => team.orgId))])
    const byId = new Map(organizations.map((organization) => [organization.id, organization]))
    const items = found.items.flatMap((team) => {
      const organization = byId.get(team.orgId)
      return organization === undefined ? [] : [{ team, organization }]
    })
    return { ...found, items }
  }
