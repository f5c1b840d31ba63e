import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { definedFields, own } from '../../core/kernel/json.ts'
import type { Call } from '../../core/kernel/principal.ts'
import type { Search } from '../../core/provisioning/lists.ts'
import { InvalidFilter } from '../../core/provisioning/ports.ts'
import type {
  GroupLookup,
  GroupMember,
  ProvisionedGroup,
  ProvisionedUser,
  UserLookup,
  Window,
} from '../../core/provisioning/types.ts'
import { scimTag } from '../kit/reply.ts'
import { enterpriseSchema, groupSchema, groupShape, userSchema, userShape } from './scim/attributes.ts'
import { maxPage } from './scim/discovery.ts'
import type { ProjectionQuery } from './scim/projection.ts'
import { projected } from './scim/projection.ts'
import { readFilter } from './scim/search.ts'

/** The request of a route of SCIM, as far as answers depend on it. */
export interface ScimRequest {
  readonly call: Pick<Call, 'ownAddress'>
  readonly params: { readonly orgname: string }
}

/** Returns the address of SCIM of the organization, as the caller wrote it. */
export const baseOf = ({ call, params }: ScimRequest): string =>
  `${call.ownAddress?.url ?? ''}/api/v1/scim/v2/organizations/${params.orgname}`

const metaOf = (
  resourceType: 'User' | 'Group',
  {
    id,
    createdAt,
    updatedAt,
    version,
  }: Pick<ProvisionedUser, 'createdAt' | 'updatedAt' | 'version'> & { readonly id: number },
  base: string,
): FreeObject => ({
  resourceType,
  created: createdAt.toISOString(),
  lastModified: updatedAt.toISOString(),
  location: `${base}/${resourceType}s/${id}`,
  version: scimTag(version),
})

const userResource = (user: ProvisionedUser, base: string): FreeObject => {
  const { id, attributes, isActive } = user
  const isEnterprise = own(attributes, enterpriseSchema) !== undefined
  return {
    schemas: [userSchema, ...(isEnterprise ? [enterpriseSchema] : [])],
    id: String(id),
    ...attributes,
    // Not shown if the directory removed it, as long as it is true.
    ...definedFields({ active: isActive && own(attributes, 'active') === undefined ? undefined : isActive }),
    meta: metaOf('User', user, base),
  }
}

const groupResource = (
  group: ProvisionedGroup & { readonly members?: readonly GroupMember[] | undefined },
  base: string,
): FreeObject => ({
  schemas: [groupSchema],
  id: String(group.id),
  displayName: group.displayName,
  ...definedFields({
    externalId: group.externalId,
    members: group.members?.map(({ userId }) => ({
      value: String(userId),
      $ref: `${base}/Users/${userId}`,
      type: 'User',
    })),
  }),
  meta: metaOf('Group', group, base),
})

/** Returns a user as the request asks for it. */
export const userToWire = (user: ProvisionedUser, query: ProjectionQuery, request: ScimRequest): FreeObject =>
  projected(userShape, userResource(user, baseOf(request)), query)

/** Returns a group as the request asks for it. */
export const groupToWire = (
  group: Parameters<typeof groupResource>[0],
  query: ProjectionQuery,
  request: ScimRequest,
): FreeObject => projected(groupShape, groupResource(group, baseOf(request)), query)

const userIndexes = {
  id: 'id',
  userName: 'userName',
  externalId: 'externalId',
  displayName: 'displayName',
  emails: 'email',
  'emails.value': 'email',
} as const

const groupIndexes = {
  id: 'id',
  displayName: 'displayName',
  externalId: 'externalId',
  members: 'member',
  'members.value': 'member',
} as const

/** Returns the search of a list of users. */
export const userSearch = (
  text: string | undefined,
  request: ScimRequest,
): Either<Failure<'InvalidFilter'>, Search<UserLookup, ProvisionedUser> | undefined> => {
  const filter = readFilter(userShape, userIndexes, text)
  if (isLeft(filter)) return filter
  if (filter.right === undefined) return right(undefined)
  const { lookups, fulfilledBy } = filter.right
  return right({ lookup: lookups[0], matches: (user) => fulfilledBy(userResource(user, baseOf(request))) })
}

/** Returns the search of a list of groups. Only an index finds the groups of a member. */
export const groupSearch = (
  text: string | undefined,
  request: ScimRequest,
): Either<Failure<'InvalidFilter'>, Search<GroupLookup, ProvisionedGroup> | undefined> => {
  const filter = readFilter(groupShape, groupIndexes, text)
  if (isLeft(filter)) return filter
  if (filter.right === undefined) return right(undefined)
  const { lookups, fulfilledBy, countOf } = filter.right
  const member = lookups.find(({ by }) => by === 'member')
  if (countOf('members') > (member === undefined ? 0 : 1))
    return left(InvalidFilter('Filter members by the id of one user, with eq, alone or with and.'))
  const members = member === undefined ? undefined : [{ value: member.value }]
  return right({
    lookup: member ?? lookups[0],
    matches: (group) => fulfilledBy({ ...groupResource(group, baseOf(request)), ...definedFields({ members }) }),
  })
}

const defaultPage = 100

/** Returns the window of a list: an index below 1 is 1, and a negative count is 0 (RFC 7644 §3.4.2.4). */
export const windowOf = (query: {
  readonly startIndex?: number | undefined
  readonly count?: number | undefined
}): Window => ({
  startIndex: Math.max(1, query.startIndex ?? 1),
  count: Math.min(Math.max(0, query.count ?? defaultPage), maxPage),
})
