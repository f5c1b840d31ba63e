import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationCreationDenied } from './failures.ts'
import { ownersTeamName, parseOrganizationName } from './names.ts'
import { emptyProfile, ordinaryOrgType, parseProfile } from './organization-profile.ts'
import type { ProfileInput } from './organization-profile.ts'
import type { NewTeam, OrganizationStores } from './ports.ts'
import type { Organization } from './types.ts'

export interface CreateOrganizationInput extends ProfileInput {
  readonly name: string
  /** Whose it becomes when a site admin makes it for somebody; the caller's unless told. */
  readonly ownerId?: UserId
}

type Refusal = Failure<
  'OrganizationNameRefused' | 'OrganizationNameTaken' | 'OrganizationFieldRefused' | 'OrganizationCreationDenied'
>

const firstTeams: readonly Pick<NewTeam, 'name' | 'permission' | 'description'>[] = [
  { name: ownersTeamName, permission: 'owner', description: 'Owners of the organization' },
  { name: 'Editors', permission: 'write', description: 'Members who may change things' },
  { name: 'Viewers', permission: 'read', description: 'Members who may look' },
]

/** Creates an organization with its three teams, the caller (or `ownerId`) the only member of Owners: all of it or nothing. */
export const makeCreateOrganization =
  (deps: { readonly uow: UnitOfWork<OrganizationStores>; readonly clock: Clock }) =>
  async (call: SignedInCall<Organization>, input: CreateOrganizationInput): Outcome<Refusal, Organization> => {
    const name = parseOrganizationName(input.name)
    if (isLeft(name)) return name
    const profile = parseProfile(input, ordinaryOrgType)
    if (isLeft(profile)) return profile
    const { principal } = call
    if (principal.onlyOrgId !== undefined) {
      return left(OrganizationCreationDenied('This token is confined to one organization, so it cannot create another.'))
    }
    return deps.uow.run<Refusal, Organization>(call, async (stores) => {
      if (!principal.isSiteAdmin && !(await stores.organizations.mayCreate(principal.userId))) {
        return left(OrganizationCreationDenied('You may not create organizations.'))
      }
      const createdAt = deps.clock.now()
      const inserted = await stores.organizations.insert({
        ...emptyProfile,
        ...profile.right,
        name: name.right,
        orgType: ordinaryOrgType,
        createdAt,
      })
      if (isLeft(inserted)) return inserted
      await addFirstTeams(stores, inserted.right, input.ownerId ?? principal.userId, createdAt)
      const organization = await stores.organizations.findById(inserted.right)
      if (organization === undefined) throw new Error('The organization that was just inserted is not there.')
      await stores.audit.record({
        action: 'organization.created',
        objectType: 'organization',
        objectId: organization.id,
        objectName: organization.name,
        tenantId: organization.id,
        changes: { visibility: organization.visibility, ...(input.ownerId === undefined ? {} : { owner: input.ownerId }) },
      })
      return right(organization)
    })
  }

const addFirstTeams = async (stores: OrganizationStores, orgId: OrgId, ownerId: UserId, at: Date): Promise<void> => {
  await stores.memberships.add(orgId, ownerId, at)
  for (const team of firstTeams) {
    const id = await stores.teams.insert({ ...team, orgId, type: 'kubernetes', createdAt: at })
    if (isLeft(id)) throw new Error('A team name is taken in an organization that has no teams.')
    if (team.permission === 'owner') await stores.teams.addMember({ id: id.right, orgId }, ownerId, at)
  }
}
