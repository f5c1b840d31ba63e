import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId, TeamId, UserId } from '../kernel/ids.ts'
import { isSameJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfProvisionedGroup } from './audit.ts'
import type { Search } from './lists.ts'
import { listRows } from './lists.ts'
import { nameCandidates } from './names.ts'
import type { ProvisionedGroupStore, ProvisioningStores, ReadFailure } from './ports.ts'
import { ResourceChanged, ResourceMissing, TooMany, Uniqueness } from './ports.ts'
import type { GroupContent, GroupLookup, GroupMember, Listed, MemberChange, ProvisionedGroup, Window } from './types.ts'
import { maxShownMembers } from './types.ts'

/** A group with its members, if they were asked for. */
export interface ShownGroup extends ProvisionedGroup {
  readonly members: readonly GroupMember[] | undefined
}

type Groups = { readonly groups: ProvisionedGroupStore }

const groupMissing = () => ResourceMissing('The organization has no such group that its directory manages.')

const withMembers = async (
  { groups }: Groups,
  rows: readonly ProvisionedGroup[],
): Outcome<Failure<'TooMany'>, readonly ShownGroup[]> => {
  if (rows.length === 0) return right([])
  const members = await groups.members(
    rows.map(({ id }) => id),
    maxShownMembers + 1,
  )
  if (members.length > maxShownMembers)
    return left(
      TooMany(`The groups have more than ${maxShownMembers} members together. Ask with excludedAttributes=members.`),
    )
  const ofGroup = Map.groupBy(members, ({ groupId }) => groupId)
  return right(rows.map((row) => ({ ...row, members: ofGroup.get(row.id) ?? [] })))
}

const shown = (
  deps: Groups,
  rows: readonly ProvisionedGroup[],
  showsMembers: boolean,
): Outcome<Failure<'TooMany'>, readonly ShownGroup[]> =>
  showsMembers ? withMembers(deps, rows) : Promise.resolve(right(rows.map((row) => ({ ...row, members: undefined }))))

export interface GetGroupInput {
  readonly orgId: OrgId
  readonly id: TeamId
  readonly showsMembers: boolean
}

/** Returns a group of the directory of an organization. */
export const makeGetProvisionedGroup =
  (deps: Groups) =>
  async (
    _call: SignedInCall,
    { orgId, id, showsMembers }: GetGroupInput,
  ): Outcome<Failure<'ResourceMissing' | 'TooMany'>, ShownGroup> => {
    const group = await deps.groups.find(orgId, id)
    const found = await shown(deps, group === undefined ? [] : [group], showsMembers)
    if (isLeft(found)) return found
    const [first] = found.right
    return first === undefined ? left(groupMissing()) : right(first)
  }

export interface ListGroupsInput {
  readonly orgId: OrgId
  readonly search: Either<Failure<'InvalidFilter'>, Search<GroupLookup, ProvisionedGroup> | undefined>
  readonly window: Window
  readonly showsMembers: boolean
}

/** Lists groups of the directory of an organization. */
export const makeListProvisionedGroups =
  (deps: Groups) =>
  async (
    _call: SignedInCall,
    { orgId, search, window, showsMembers }: ListGroupsInput,
  ): Outcome<Failure<'InvalidFilter' | 'TooMany'>, Listed<ShownGroup>> => {
    if (isLeft(search)) return search
    const listed = await listRows(deps.groups, orgId, search.right, window)
    if (isLeft(listed)) return listed
    const items = await shown(deps, listed.right.items, showsMembers)
    return isLeft(items) ? items : right({ items: items.right, total: listed.right.total })
  }

export interface GroupChangeDeps {
  readonly unitOfWork: UnitOfWork<ProvisioningStores>
  readonly clock: Clock
}

export interface CreateGroupInput {
  readonly orgId: OrgId
  readonly content: Either<ReadFailure, { readonly group: GroupContent; readonly userIds: readonly UserId[] }>
}

type ChangeGroupFailure = ReadFailure | Failure<'Uniqueness' | 'ResourceMissing' | 'ResourceChanged'>

/** Creates a team for a group of the directory. It gives no right: owners decide which roles it has. */
export const makeCreateProvisionedGroup =
  ({ unitOfWork, clock }: GroupChangeDeps) =>
  async (
    call: SignedInCall<ShownGroup>,
    { orgId, content }: CreateGroupInput,
  ): Outcome<ReadFailure | Failure<'Uniqueness' | 'ResourceMissing'>, ShownGroup> => {
    if (isLeft(content)) return content
    const { group, userIds } = content.right
    return unitOfWork.run<ReadFailure | Failure<'Uniqueness' | 'ResourceMissing'>, ShownGroup>(call, async (stores) => {
      if (!(await stores.organizations.lock(orgId))) return left(groupMissing())
      const at = clock.now()
      const id = await insertTeam(stores, orgId, group.displayName, at)
      if (isLeft(id)) return id
      const inserted = await stores.provisionedGroups.insert(orgId, id.right, group, at)
      if (isLeft(inserted)) return inserted
      const changed = await changeMembers(stores, { id: id.right, orgId }, [{ verb: 'add', userIds }], at)
      const made = await mustFind(stores, orgId, id.right)
      await stores.audit.record(
        auditOfProvisionedGroup(made, 'provisioned_group.created', {
          team: made.teamName,
          added: changed.added,
          unknown: changed.unknown,
        }),
      )
      return withOwnMembers(stores, made)
    })
  }

const withOwnMembers = async (
  { provisionedGroups: groups }: ProvisioningStores,
  group: ProvisionedGroup,
): Outcome<Failure<'TooMany'>, ShownGroup> => {
  const found = await withMembers({ groups }, [group])
  return isLeft(found) ? found : right({ ...group, members: found.right[0]?.members })
}

const mustFind = async (
  { provisionedGroups }: ProvisioningStores,
  orgId: OrgId,
  id: TeamId,
): Promise<ProvisionedGroup> => {
  const group = await provisionedGroups.find(orgId, id)
  if (group === undefined) throw new Error('The provisioned group that was just changed is not there.')
  return group
}

const noFreeName = () => Uniqueness('Too many teams of the organization have this name.')

const insertTeam = async (
  { teams }: ProvisioningStores,
  orgId: OrgId,
  displayName: string,
  at: Date,
): Outcome<Failure<'Uniqueness'>, TeamId> => {
  for (const name of nameCandidates(displayName)) {
    const id = await teams.insert({
      orgId,
      name,
      description: 'Managed by the directory of the organization.',
      permission: 'custom',
      type: 'kubernetes',
      createdAt: at,
    })
    if (!isLeft(id)) return id
  }
  return left(noFreeName())
}

const renameTeam = async (
  { teams }: ProvisioningStores,
  group: ProvisionedGroup,
  displayName: string,
): Outcome<Failure<'Uniqueness'>, void> => {
  for (const name of nameCandidates(displayName)) {
    if (name === group.teamName) return right(undefined)
    if (!isLeft(await teams.update(group.id, { name }, undefined))) return right(undefined)
  }
  return left(noFreeName())
}

interface ChangedMembers {
  readonly added: number
  readonly removed: number
  /** Those who are not users of the directory, or not members, and are left out. */
  readonly unknown: number
}

/** Applies changes in their order. Without `replace`, the cost does not depend on the number of members. */
const changeMembers = async (
  stores: ProvisioningStores,
  group: Pick<ProvisionedGroup, 'id' | 'orgId'>,
  changes: readonly MemberChange[],
  at: Date,
): Promise<ChangedMembers> => {
  const { provisionedGroups, provisionedUsers, memberships, teams } = stores
  const isReplaced = changes.some(({ verb }) => verb === 'replace')
  const touched = [...new Set(changes.flatMap(({ userIds }) => userIds))]
  const before = new Set(
    isReplaced
      ? (await provisionedGroups.members([group.id], Number.MAX_SAFE_INTEGER)).map(({ userId }) => userId)
      : await provisionedGroups.membersAmong(group.id, touched),
  )
  let after = new Set(before)
  for (const { verb, userIds } of changes) {
    if (verb === 'replace') after = new Set(userIds)
    else for (const id of userIds) void (verb === 'add' ? after.add(id) : after.delete(id))
  }
  const added = [...after].filter((id) => !before.has(id))
  const removed = [...before].filter((id) => !after.has(id))
  const known = await provisionedUsers.among(group.orgId, added)
  // A user who is no member is not active: a group does not admit the user again.
  const members = new Set(await memberships.among(group.orgId, known))
  const entering = added.filter((id) => members.has(id))
  for (const id of entering) await teams.addMember(group, id, at)
  for (const id of removed) await teams.removeMember(group.id, id)
  return { added: entering.length, removed: removed.length, unknown: added.length - entering.length }
}

export interface ChangeGroupInput {
  readonly orgId: OrgId
  readonly id: TeamId
  readonly expectedVersion: number | undefined
  readonly change: (
    before: ProvisionedGroup,
  ) => Either<ReadFailure, { readonly group: GroupContent; readonly members: readonly MemberChange[] }>
}

/** Locks the organization, and returns its group. */
const lockGroup = async (
  { organizations, provisionedGroups }: ProvisioningStores,
  { orgId, id, expectedVersion }: Omit<ChangeGroupInput, 'change'>,
): Outcome<Failure<'ResourceMissing' | 'ResourceChanged'>, ProvisionedGroup> => {
  const isThere = await organizations.lock(orgId)
  const group = isThere ? await provisionedGroups.find(orgId, id) : undefined
  if (group === undefined) return left(groupMissing())
  return expectedVersion === undefined || expectedVersion === group.version
    ? right(group)
    : left(ResourceChanged('The group has changed since it was read. Read it again.'))
}

/** Changes a group of the directory, and its team with it. */
const makeChangeProvisionedGroup =
  ({ unitOfWork, clock }: GroupChangeDeps) =>
  <A>(
    call: SignedInCall<A>,
    { orgId, id, expectedVersion, change }: ChangeGroupInput,
    show: (stores: ProvisioningStores, group: ProvisionedGroup) => Outcome<Failure<'TooMany'>, A>,
  ): Outcome<ChangeGroupFailure, A> =>
    unitOfWork.run<ChangeGroupFailure, A>(call, async (stores): Outcome<ChangeGroupFailure, A> => {
      const held = await lockGroup(stores, { orgId, id, expectedVersion })
      if (isLeft(held)) return held
      const before = held.right
      const next = change(before)
      if (isLeft(next)) return next
      const { group, members } = next.right
      const at = clock.now()
      const changed = await changeMembers(stores, before, members, at)
      const was: GroupContent = { displayName: before.displayName, externalId: before.externalId }
      const isSame = isSameJson(was, group) && changed.added + changed.removed === 0
      if (isSame) return show(stores, before)
      const renamed =
        group.displayName === before.displayName
          ? right(undefined)
          : await renameTeam(stores, before, group.displayName)
      if (isLeft(renamed)) return renamed
      const updated = await stores.provisionedGroups.update(orgId, id, group, at)
      if (isLeft(updated)) return updated
      const made = await mustFind(stores, orgId, id)
      await stores.audit.record(
        auditOfProvisionedGroup(made, 'provisioned_group.changed', { team: made.teamName, ...changed }),
      )
      return show(stores, made)
    })

/** Replaces a group with its members, and returns it. */
export const makeReplaceProvisionedGroup = (deps: GroupChangeDeps) => {
  const change = makeChangeProvisionedGroup(deps)
  return (call: SignedInCall<ShownGroup>, input: ChangeGroupInput): Outcome<ChangeGroupFailure, ShownGroup> =>
    change(call, input, withOwnMembers)
}

/** The most members of a group that the answer to a PATCH shows. */
const maxPatchedMembers = 100

/** Changes a group by operations, and returns it; undefined if it has more members than the answer shows. */
export const makePatchProvisionedGroup = (deps: GroupChangeDeps) => {
  const change = makeChangeProvisionedGroup(deps)
  return (
    call: SignedInCall<ShownGroup | undefined>,
    input: ChangeGroupInput,
  ): Outcome<ChangeGroupFailure, ShownGroup | undefined> =>
    change<ShownGroup | undefined>(call, input, async ({ provisionedGroups }, group) => {
      const members = await provisionedGroups.members([group.id], maxPatchedMembers + 1)
      return right(members.length > maxPatchedMembers ? undefined : { ...group, members })
    })
}

/** Deletes a group of the directory with its team. Its members stay in the organization. */
export const makeDeleteProvisionedGroup =
  ({ unitOfWork }: GroupChangeDeps) =>
  (
    call: SignedInCall,
    { orgId, id, expectedVersion }: Omit<ChangeGroupInput, 'change'>,
  ): Outcome<Failure<'ResourceMissing' | 'ResourceChanged'>, void> =>
    unitOfWork.run<Failure<'ResourceMissing' | 'ResourceChanged'>, void>(call, async (stores) => {
      const held = await lockGroup(stores, { orgId, id, expectedVersion })
      if (isLeft(held)) return held
      const group = held.right
      await stores.teams.remove(id)
      const membersWhoLeft = await stores.memberships.removeWithoutTeam(orgId)
      await stores.audit.record(
        auditOfProvisionedGroup(group, 'provisioned_group.deleted', { team: group.teamName, membersWhoLeft }),
      )
      return right(undefined)
    })
