import * as t from 'io-ts'
import type { TeamId } from '../../core/kernel/ids.ts'
import type { SchemaNote } from '../kit/codecs.ts'
import {
  answer,
  bodyId,
  described,
  freeText,
  Instant,
  Int64,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  pathName,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

const maxObjects = 500
const maxPermissions = 500
const maxTeams = 500

/** The organization that a call is limited to. */
export const InOrganization = request(
  {
    org: described(
      pathName('organization'),
      'The name of the organization in which the request acts, without regard to case.',
    ),
  },
  'InOrganization',
)

/** Accepts any JSON value of a key. Which values are wrong is decided later, with a failure of its own. */
const undecided = (name: string, note: SchemaNote): t.Type<unknown, unknown, unknown> =>
  noted(
    new t.Type<unknown, unknown, unknown>(
      name,
      (u): u is unknown => u !== undefined,
      (u, c) => (u === undefined ? t.failure(u, c) : t.success(u)),
      t.identity,
    ),
    note,
  )

const listedTypes = 'A type of objects, such as organization, team or cluster; for `user` only your own id is valid.'

const AuthObjectIdentifier = request(
  {
    objectType: undecided('an object type', { type: 'string', description: listedTypes }),
    objectID: undecided('an object id', {
      type: 'integer',
      format: 'int64',
      description: 'The id of an object, an integer from 1.',
    }),
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
export const ObjectPath = request(
  {
    objectType: described(
      naming(freeText(64, 1), 'object', 'type'),
      "A type of objects, such as organization, team or cluster; for `user` only the caller's own id is valid.",
    ),
    objID: described(naming(PathObjectId, 'object', 'id'), 'The id of the object, from 1.'),
  },
  'ObjectPath',
)

export const AuthObjectAllowedPermissions = answer(
  {
    objectType: described(t.string, 'The type of the object, as in the request.'),
    objectID: described(Int64, 'The id of the object, as in the request.'),
    allowedPermissions: described(
      t.readonlyArray(t.string),
      'The relations that the caller has on the object, sorted; empty for none, and for an object that does not exist.',
    ),
  },
  'AuthObjectAllowedPermissions',
)

const PermissionInput = request(
  {
    namespace: described(
      freeText(64, 1),
      'The part of the platform to which the permission belongs, such as cluster_mgmt.',
    ),
    action: described(freeText(64, 1), 'What the permission allows, such as `view clusters`.'),
  },
  'PermissionInput',
)

const AssociatedPermission = answer(
  {
    namespace: described(t.string, 'The part of the platform to which the permission belongs, such as cluster_mgmt.'),
    action: described(t.string, 'What the permission allows, such as `view clusters`.'),
    required: described(t.boolean, 'Whether a role with the one permission must have the other too.'),
  },
  'AssociatedPermission',
)

const AvailablePermission = answer(
  {
    namespace: described(t.string, 'The part of the platform to which the permission belongs, such as cluster_mgmt.'),
    action: described(t.string, 'What the permission allows, such as `view clusters`.'),
    description: described(t.string, 'What the permission allows, for people.'),
    associated: described(
      optional(t.readonlyArray(AssociatedPermission)),
      'The permissions that belong with this one; absent if there are none.',
    ),
  },
  'AvailablePermission',
)
export const AvailablePermissions = answer(
  {
    permissions: described(t.readonlyArray(AvailablePermission), 'Every permission that a custom role can have.'),
  },
  'AvailablePermissions',
)

const description = textLines(1000)

/** Answers name the teams `team_ids`. A request may use either name, so that an answer can be sent back. */
const teams = {
  teamIDs: described(
    optional(listOf(bodyId<TeamId>(), maxTeams)),
    'The ids of the teams that have the role, at most 500; absent: none for a new role, else unchanged; empty: none.',
  ),
  team_ids: described(
    optional(listOf(bodyId<TeamId>(), maxTeams)),
    'The same as `teamIDs`, under the name that answers use.',
  ),
}

export const CreateRoleRequest = request(
  {
    name: described(freeText(255), 'The name of the role, unique in the organization.'),
    permissions: described(
      listOf(PermissionInput, maxPermissions),
      'The permissions of the role, 1 to 500, with every required associated one.',
    ),
    description: described(optional(description), 'A text about the role, at most 1,000 characters; empty by default.'),
    ...teams,
  },
  'CreateRoleRequest',
)

export const UpdateRoleRequest = request(
  {
    name: described(optional(freeText(255)), 'The new name, unique in the organization; absent: unchanged.'),
    permissions: described(
      optional(listOf(PermissionInput, maxPermissions)),
      'All permissions of the role, 1 to 500; absent: unchanged.',
    ),
    description: described(
      optional(description),
      'A text about the role, at most 1,000 characters; absent: unchanged, empty: cleared.',
    ),
    ...teams,
  },
  'UpdateRoleRequest',
)

export const RoleResponse = answer(
  {
    id: described(SafeInteger, 'The id of the role, from 1.'),
    name: described(t.string, 'The name of the role.'),
    owner_id: described(SafeInteger, 'The id of the organization to which the role belongs.'),
    description: described(t.string, 'The text about the role; empty if not set.'),
    permissions: described(t.readonlyArray(PermissionInput), 'The permissions that the role gives.'),
    team_ids: described(t.readonlyArray(SafeInteger), 'The ids of the teams that have the role.'),
    created_at: described(Instant, 'The creation of the role, RFC 3339 in UTC.'),
    updated_at: described(Instant, 'The last change of the role, RFC 3339 in UTC.'),
  },
  'RoleResponse',
)

export const RolePrincipalResponse = answer(
  {
    type: described(oneOf('user', 'team'), 'Whether the row is a team or a user.'),
    id: described(SafeInteger, 'The id of the team or the user.'),
    name: described(t.string, 'The name of the team or the user.'),
    display_name: described(t.string, 'The display name of the team or the user.'),
    via_team_id: described(
      optional(SafeInteger),
      'The id of the first team that gives the user the role; absent for a team.',
    ),
  },
  'RolePrincipal',
)
