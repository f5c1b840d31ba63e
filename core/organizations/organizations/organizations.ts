import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { EntryRefusal } from '../../kernel/access.ts'
import { entryRefusal } from '../../kernel/access.ts'
import { changedFields, definedFields, isUnchanged } from '../../kernel/json.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization } from '../audit.ts'
import {
  AccountNotEligible,
  MemberMissing,
  OrganizationChanged,
  OrganizationCreationDenied,
  OrganizationHasOwner,
  OrganizationInUse,
  OrganizationMissing,
  OrganizationNameRefused,
} from '../failures.ts'
import { asUser, isShown, userIdOf } from '../member-rules.ts'
import type {
  MembershipStore,
  NewOrganization,
  NewTeam,
  OrganizationFounder,
  OrganizationStore,
  OrganizationStores,
} from '../ports.ts'
import type { Organization } from '../types.ts'
import { clientOrgType, emptyProfile } from '../types.ts'
import type { ProfileInput, Viewer } from '../organization-rules.ts'
import {
  canSee,
  ordinaryOrgType,
  ownersTeamName,
  parseOrganizationName,
  parseProfile,
  viewerIn,
  viewerOf,
  visibleWithoutMembership,
} from '../organization-rules.ts'

export interface CreateOrganizationInput extends ProfileInput {
  readonly name: string
  /** The owner, if a site admin creates the organization for another user. Defaults to the caller. */
  readonly ownerId?: UserId
}

export type CreateOrganizationFailure = Failure<
  'OrganizationNameRefused' | 'OrganizationNameTaken' | 'OrganizationFieldRefused' | 'OrganizationCreationDenied'
>

const firstTeams: readonly Pick<NewTeam, 'name' | 'permission' | 'description'>[] = [
  { name: ownersTeamName, permission: 'owner', description: 'Owners of the organization' },
  { name: 'Editors', permission: 'write', description: 'Members who may change things' },
  { name: 'Viewers', permission: 'read', description: 'Members who may look' },
]

export interface CreateOrganizationDeps {
  readonly unitOfWork: UnitOfWork<OrganizationStores>
  readonly clock: Clock
}

/**
 * Creates an organization with its three teams, and the caller (or `ownerId`) as the only member of Owners, atomically.
 */
export const makeCreateOrganization =
  (deps: CreateOrganizationDeps) =>
  async (
    call: SignedInCall<Organization>,
    input: CreateOrganizationInput,
  ): Outcome<CreateOrganizationFailure, Organization> => {
    const name = parseOrganizationName(input.name)
    if (isLeft(name)) return name
    const profile = parseProfile(input, ordinaryOrgType)
    if (isLeft(profile)) return profile
    const { principal } = call
    if (principal.onlyOrgId !== undefined) {
      return left(
        OrganizationCreationDenied('This token is confined to one organization, so it cannot create another.'),
      )
    }
    return deps.unitOfWork.run<CreateOrganizationFailure, Organization>(call, async (stores) => {
      if (!principal.isSiteAdmin && !(await stores.organizations.mayCreate(principal.userId))) {
        return left(OrganizationCreationDenied('You may not create organizations.'))
      }
      return insertOrganization(
        stores,
        { ...emptyProfile, ...profile.right, name: name.right, orgType: ordinaryOrgType, createdAt: deps.clock.now() },
        input.ownerId ?? principal.userId,
        definedFields({ owner: input.ownerId }),
      )
    })
  }

type FoundingStores = Pick<OrganizationStores, 'organizations' | 'teams' | 'memberships' | 'audit'>

/** Creates organizations for other parts, in the transaction that the stores are bound to. */
export const makeOrganizationFounder = (stores: FoundingStores): OrganizationFounder => ({
  async found({ name, profile, orgType, ownerId }, createdAt) {
    const parsedName = parseOrganizationName(name)
    if (isLeft(parsedName)) return parsedName
    const parsed = parseProfile(profile, orgType)
    if (isLeft(parsed)) return parsed
    const organization = { ...emptyProfile, ...parsed.right, name: parsedName.right, orgType, createdAt }
    return insertOrganization(stores, organization, ownerId, { owner: ownerId })
  },
})

const insertOrganization = async (
  stores: FoundingStores,
  organization: NewOrganization,
  ownerId: UserId,
  facts: { readonly owner?: UserId },
): Outcome<Failure<'OrganizationNameTaken'>, Organization> => {
  const inserted = await stores.organizations.insert(organization)
  if (isLeft(inserted)) return inserted
  await addFirstTeams(stores, inserted.right, ownerId, organization.createdAt)
  const found = await stores.organizations.findById(inserted.right)
  if (found === undefined) throw new Error('The organization that was just inserted is not there.')
  const { visibility } = found
  await stores.audit.record(auditOfOrganization(found, 'organization.created', { visibility, ...facts }))
  return right(found)
}

const addFirstTeams = async (stores: FoundingStores, orgId: OrgId, ownerId: UserId, at: Date): Promise<void> => {
  await stores.memberships.add(orgId, ownerId, at)
  for (const team of firstTeams) {
    const id = await stores.teams.insert({ ...team, orgId, type: 'kubernetes', createdAt: at })
    if (isLeft(id)) throw new Error('A team name is taken in an organization that has no teams.')
    if (team.permission === 'owner') await stores.teams.addMember({ id: id.right, orgId }, ownerId, at)
  }
}

/** An organization as one caller sees it. */
export interface FoundOrganization {
  readonly organization: Organization
  /** The caller as a viewer of this organization. */
  readonly viewer: Viewer
  readonly isMember: boolean
  /** Why this member may see no more of the organization than its profile; undefined if there is no restriction. */
  readonly barred: EntryRefusal | undefined
  /** The requested name is a former one. */
  readonly isFormerName: boolean
}

export interface FindOrganizationInput {
  readonly name: string
  /** Whether an organization that formerly had the name is found. */
  readonly formerNames: 'found' | 'missing'
}

/**
 * Finds an organization by its name or, on request, by a former one. A caller who may not see it gets the same answer
 * as for a missing one.
 */
export const makeFindOrganization =
  (deps: { readonly organizations: OrganizationStore; readonly memberships: MembershipStore; readonly clock: Clock }) =>
  async (
    call: Call,
    { name, formerNames }: FindOrganizationInput,
  ): Outcome<Failure<'OrganizationMissing'>, FoundOrganization> => {
    const current = await deps.organizations.findByName(name)
    const organization =
      current ?? (formerNames === 'found' ? await deps.organizations.findByFormerName(name) : undefined)
    if (organization !== undefined) {
      const viewer = viewerIn(viewerOf(call), organization.id)
      const membership =
        viewer.userId === undefined ? undefined : await deps.memberships.find(organization.id, viewer.userId)
      const isMember = membership !== undefined
      if (canSee(viewer, organization, isMember)) {
        const isHeld = isMember && !viewer.isSiteAdmin && call.principal !== undefined
        const barred = isHeld ? entryRefusal(call.principal, membership.entry, deps.clock.now()) : undefined
        return right({ organization, viewer, isMember, barred, isFormerName: current === undefined })
      }
    }
    return left(OrganizationMissing(`The organization "${name}" does not exist.`))
  }

type Stores = { readonly organizations: OrganizationStore; readonly memberships: MembershipStore }

const none: Page<Organization> = { items: [], total: 0 }

/** Returns the one organization that a token is restricted to, if its user is a member of it. */
const confined = async (stores: Stores, onlyOrgId: OrgId, userId: UserId): Promise<Page<Organization>> => {
  if ((await stores.memberships.find(onlyOrgId, userId)) === undefined) return none
  const organization = await stores.organizations.findById(onlyOrgId)
  return organization === undefined ? none : { items: [organization], total: 1 }
}

/** Lists the organizations that the caller may see without being a member. */
export const makeListOrganizations =
  (deps: Stores) =>
  async (call: Call, page: PageRequest): Outcome<never, Page<Organization>> =>
    right(await deps.organizations.list(visibleWithoutMembership(viewerOf(call)), page))

/** Lists the caller's own organizations; only the public ones for a token that is limited to public objects. */
export const makeListOwnOrganizations =
  (deps: Stores) =>
  async (call: SignedInCall, page: PageRequest): Outcome<never, Page<Organization>> => {
    const { userId, onlyOrgId, scopes } = call.principal
    if (onlyOrgId !== undefined)
      return right(page.page > 1 ? { items: [], total: 1 } : await confined(deps, onlyOrgId, userId))
    return right(
      scopes.publicOnly
        ? await deps.organizations.listOfUserSeenBy(userId, undefined, ['public'], page)
        : await deps.organizations.listOfUser(userId, page),
    )
  }

export interface ListOrganizationsOfUserInput {
  readonly login: string
  readonly page: PageRequest
}

/**
 * Lists another user's organizations that the caller may see. If the caller may not see the user, these are the
 * organizations that they share; without any, the user does not exist.
 */
export const makeListOrganizationsOfUser =
  (deps: Stores) =>
  async (
    call: SignedInCall,
    { login, page }: ListOrganizationsOfUserInput,
  ): Outcome<Failure<'MemberMissing'>, Page<Organization>> => {
    const account = await deps.memberships.findAccount(login)
    const userId = userIdOf(account)
    const viewer = viewerOf(call)
    const isUnlimited = !viewer.publicOnly && viewer.onlyOrgId === undefined
    if (isUnlimited && (viewer.isSiteAdmin || viewer.userId === userId)) {
      return right(await deps.organizations.listOfUser(userId, page))
    }
    const asMember = isUnlimited ? viewer.userId : undefined
    const isSeen = isShown(call, account)
    const listed = await deps.organizations.listOfUserSeenBy(
      userId,
      asMember,
      isSeen ? visibleWithoutMembership(viewer) : [],
      page,
    )
    return isSeen || listed.total > 0 ? right(listed) : left(MemberMissing(`The user "${login}" does not exist.`))
  }

/** Returns an organization that the caller was authorized to see. */
export const makeGetOrganization =
  (deps: { readonly organizations: Pick<OrganizationStore, 'findById'> }) =>
  async (_call: SignedInCall, id: OrgId): Outcome<Failure<'OrganizationMissing'>, Organization> => {
    const organization = await deps.organizations.findById(id)
    return organization === undefined ? left(organizationMissing()) : right(organization)
  }

export interface EditOrganizationInput {
  readonly id: OrgId
  readonly change: ProfileInput
  /** If set, the change applies to this version of the organization only. */
  readonly expectedVersion: number | undefined
}

type EditOrganizationFailure = Failure<'OrganizationFieldRefused' | 'OrganizationMissing' | 'OrganizationChanged'>

const organizationMissing = () => OrganizationMissing('The organization does not exist.')
const organizationChanged = () => OrganizationChanged('The organization was changed by another request. Read it again.')

/** Changes only the fields that are given and differ. */
export const makeEditOrganization =
  (deps: { readonly unitOfWork: UnitOfWork<OrganizationStores> }) =>
  (
    call: SignedInCall<Organization>,
    { id, change, expectedVersion }: EditOrganizationInput,
  ): Outcome<EditOrganizationFailure, Organization> =>
    deps.unitOfWork.run<EditOrganizationFailure, Organization>(call, async ({ organizations, audit }) => {
      const before = await organizations.findById(id)
      if (before === undefined) return left(organizationMissing())
      const parsed = parseProfile(change, before.orgType)
      if (isLeft(parsed)) return parsed
      if (expectedVersion !== undefined && expectedVersion !== before.version) return left(organizationChanged())
      const changes = changedFields(before, parsed.right)
      if (isUnchanged(changes)) return right(before)
      const isUpdated = await organizations.update(id, changes, expectedVersion)
      const organization = await organizations.findById(id)
      if (organization === undefined) return left(organizationMissing())
      if (!isUpdated) return left(organizationChanged())
      const facts = { fields: Object.keys(changes), ...definedFields({ visibility: changes.visibility }) }
      await audit.record(auditOfOrganization(organization, 'organization.edited', facts))
      return right(organization)
    })

type RenameOrganizationFailure = Failure<'OrganizationNameRefused' | 'OrganizationNameTaken' | 'OrganizationMissing'>

/** Renames an organization. The old name redirects to it until another account takes it. */
export const makeRenameOrganization =
  (deps: { readonly unitOfWork: UnitOfWork<OrganizationStores> }) =>
  async (
    call: SignedInCall,
    { id, name: newName }: { readonly id: OrgId; readonly name: string },
  ): Outcome<RenameOrganizationFailure, void> => {
    const name = parseOrganizationName(newName)
    if (isLeft(name)) return name
    return deps.unitOfWork.run<RenameOrganizationFailure, void>(call, async ({ organizations, audit }) => {
      const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
      if (organization === undefined) return left(OrganizationMissing('The organization does not exist.'))
      if (organization.name === name.right) return right(undefined)
      if (organization.orgType === clientOrgType)
        return left(
          OrganizationNameRefused('A client organization keeps its name: its namespaces on clusters have that name.'),
        )
      const renamed = await organizations.rename(id, organization.name, name.right)
      if (isLeft(renamed)) return renamed
      const renaming = { from: organization.name, to: name.right }
      await audit.record(auditOfOrganization({ id, name: name.right }, 'organization.renamed', renaming))
      return right(undefined)
    })
  }

type DeleteOrganizationFailure = Failure<'OrganizationMissing' | 'OrganizationInUse'>

/** The maximum number of blocking objects in a failure. */
const namedObjects = 20

interface DeleteDeps {
  readonly unitOfWork: UnitOfWork<OrganizationStores>
}

/** Deletes an organization that no object refers to any more. */
export const makeDeleteOrganization =
  (deps: DeleteDeps) =>
  (call: SignedInCall, id: OrgId): Outcome<DeleteOrganizationFailure, void> =>
    deps.unitOfWork.run<DeleteOrganizationFailure, void>(call, (stores) => deleteWithin(stores, id))

/** Like `makeDeleteOrganization`, but only for organizations without an owner, which no owner can delete. */
export const makeDeleteOrphanedOrganization =
  (deps: DeleteDeps) =>
  (call: SignedInCall, id: OrgId): Outcome<DeleteOrganizationFailure | Failure<'OrganizationHasOwner'>, void> =>
    deps.unitOfWork.run<DeleteOrganizationFailure | Failure<'OrganizationHasOwner'>, void>(call, async (stores) => {
      const isThere = await stores.organizations.lock(id)
      if (isThere && !(await stores.organizations.isOrphaned(id)))
        return left(OrganizationHasOwner('This organization has an owner.'))
      return deleteWithin(stores, id)
    })

const deleteWithin = async (
  { organizations, audit }: OrganizationStores,
  id: OrgId,
): Outcome<DeleteOrganizationFailure, void> => {
  const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
  if (organization === undefined) return left(OrganizationMissing('The organization does not exist.'))
  if (organization.orgType === clientOrgType)
    return left(
      OrganizationInUse(
        'A client organization is deleted by a site admin at /user/client/delete, with its namespaces.',
      ),
    )
  const blocking = await organizations.blockingObjects(id, namedObjects)
  if (blocking.length > 0) {
    const errors = blocking.map(({ type, name }) => `${type} ${name}`)
    const named = `${errors.slice(0, 5).join(', ')}${errors.length > 5 ? ' and more' : ''}`
    return left(OrganizationInUse(`The organization cannot be deleted while it owns ${named}.`, { errors }))
  }
  await organizations.remove(id)
  await audit.record(auditOfOrganization(organization, 'organization.deleted'))
  return right(undefined)
}

/** Lists all organizations of a user, for a site admin. */
export const makeListAllOrganizationsOfUser =
  (deps: {
    readonly memberships: Pick<MembershipStore, 'findAccount'>
    readonly organizations: Pick<OrganizationStore, 'listOfUser'>
  }) =>
  async (
    _call: SignedInCall,
    { login, page }: ListOrganizationsOfUserInput,
  ): Outcome<Failure<'MemberMissing'>, Page<Organization>> => {
    const id = asUser(await deps.memberships.findAccount(login))
    return isLeft(id) ? id : right(await deps.organizations.listOfUser(id.right, page))
  }

export interface CreateOrganizationForUserInput {
  /** The login of the owner. */
  readonly owner: string
  readonly name: string
  readonly profile: ProfileInput
}

/** Creates an organization for another user, who becomes its owner. For a site admin. */
export const makeCreateOrganizationForUser = (
  deps: CreateOrganizationDeps & { readonly memberships: Pick<MembershipStore, 'findAccount'> },
) => {
  const create = makeCreateOrganization(deps)
  return async (
    call: SignedInCall<Organization>,
    { owner, name, profile }: CreateOrganizationForUserInput,
  ): Outcome<CreateOrganizationFailure | Failure<'MemberMissing' | 'AccountNotEligible'>, Organization> => {
    const account = await deps.memberships.findAccount(owner)
    if (account?.kind !== 'user') return left(MemberMissing('The user does not exist.'))
    if (!account.isActive) return left(AccountNotEligible('An inactive account cannot become an owner.'))
    return create(call, { ...profile, name, ownerId: account.id as UserId })
  }
}
