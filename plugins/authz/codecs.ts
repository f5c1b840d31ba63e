import * as t from 'io-ts'
import type { TeamId } from '../../core/kernel/ids.ts'
import { answer, bodyId, freeText, Instant, Int64, listOf, noted, oneOf, optional, PathName, request, SafeInteger, textLines } from '../kit/codecs.ts'

const maxObjects = 500
const maxPermissions = 500
const maxTeams = 500

/** The organization that a call is limited to. */
export const InOrganization = request({ org: PathName }, 'InOrganization')

/** Accepts any JSON value of a key. Which values are wrong is decided later, with a failure of its own. */
const undecided = (name: string, type: string, description: string): t.Type<unknown, unknown, unknown> =>
  noted(
    new t.Type<unknown, unknown, unknown>(
      name,
      (u): u is unknown => u !== undefined,
      (u, c) => (u === undefined ? t.failure(u, c) : t.success(u)),
      t.identity,
    ),
    { type, description },
  )

const listedTypes = 'A listed object type, such as organization, team or cluster. For the type user, only your own id is valid'

const AuthObjectIdentifier = request(
  {
    objectType: undecided('an object type', 'string', listedTypes),
    objectID: undecided('an object id', 'integer', 'An integer from 1'),
  },
  'AuthObjectIdentifier',
)
export const AuthObjectIdentifiers = listOf(AuthObjectIdentifier, maxObjects)

/** The path names one object. An id above 2^53-1 is kept exactly; no object has it. */
const PathObjectId = noted(
  new t.Type<number | bigint, string, unknown>(
    'id, an integer from 1',
    (u): u is number | bigint => typeof u === 'number' || typeof u === 'bigint',
    (u, c) => {
      if (typeof u !== 'string' || !/^[1-9][0-9]{0,18}$/.test(u)) return t.failure(u, c)
      const exact = BigInt(u)
      if (exact >= 2n ** 63n) return t.failure(u, c)
      return t.success(Number.isSafeInteger(Number(u)) ? Number(u) : exact)
    },
    String,
  ),
  { type: 'integer', format: 'int64', minimum: 1 },
)
export const ObjectPath = request({ objectType: freeText(64, 1), objID: PathObjectId }, 'ObjectPath')

export const AuthObjectAllowedPermissions = answer(
  { objectType: t.string, objectID: Int64, allowedPermissions: t.readonlyArray(t.string) },
  'AuthObjectAllowedPermissions',
)

const PermissionInput = request({ namespace: freeText(64, 1), action: freeText(64, 1) }, 'PermissionInput')

const AvailablePermission = answer(
  {
    namespace: t.string,
    action: t.string,
    description: t.string,
    associated: optional(
      t.readonlyArray(answer({ namespace: t.string, action: t.string, required: t.boolean }, 'AssociatedPermission')),
    ),
  },
  'AvailablePermission',
)
export const AvailablePermissions = answer({ permissions: t.readonlyArray(AvailablePermission) }, 'AvailablePermissions')

const description = textLines(1000)

/** Answers name the teams `team_ids`. A request may use either name, so that an answer can be sent back. */
const teams = { teamIDs: optional(listOf(bodyId<TeamId>(), maxTeams)), team_ids: optional(listOf(bodyId<TeamId>(), maxTeams)) }

export const CreateRoleRequest = request(
  {
    name: freeText(255),
    permissions: listOf(PermissionInput, maxPermissions),
    description: optional(description),
    ...teams,
  },
  'CreateRoleRequest',
)

export const UpdateRoleRequest = request(
  {
    name: optional(freeText(255)),
    permissions: optional(listOf(PermissionInput, maxPermissions)),
    description: optional(description),
    ...teams,
  },
  'UpdateRoleRequest',
)

export const RoleResponse = answer(
  {
    id: SafeInteger,
    name: t.string,
    owner_id: SafeInteger,
    description: t.string,
    permissions: t.readonlyArray(PermissionInput),
    team_ids: t.readonlyArray(SafeInteger),
    created_at: Instant,
    updated_at: Instant,
  },
  'RoleResponse',
)

export const RolePrincipalResponse = answer(
  {
    type: oneOf('user', 'team'),
    id: SafeInteger,
    name: t.string,
    display_name: t.string,
    via_team_id: optional(SafeInteger),
  },
  'RolePrincipal',
)
