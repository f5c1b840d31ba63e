import {
  InvalidFilter,
  InvalidPath,
  InvalidSyntax,
  InvalidValue,
  Mutability,
  NoTarget,
  ResourceChanged,
  ResourceMissing,
  TooMany,
  Uniqueness,
} from '../../core/provisioning/ports.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { empty, json, orNoContent, versioned, withHeader } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  DirectoryGroupPath,
  DirectoryPath,
  groupExample,
  listExample,
  ListParameters,
  newGroupExample,
  patchExample,
  ProjectionParameters,
  ScimGroup,
  ScimGroupList,
} from './codecs.ts'
import { inScim, locationOf, root, scim, scimBody } from './scim-routes.ts'

const route = routesOf({ ...scim, params: DirectoryPath })
const groupRoute = routesOf({ ...scim, params: DirectoryGroupPath, failures: [ResourceMissing] })
const unread = [InvalidPath, InvalidSyntax, InvalidValue, Mutability, NoTarget, TooMany] as const
const location = `${root}/Groups`

export const listProvisionedGroups = route({
  ...inScim,
  id: 'provisioning.listGroups',
  method: 'GET',
  path: location,
  summary: 'List the groups of the directory',
  description:
    'By id. An answer has at most 10,000 members of all of its groups: beyond them it is refused with `tooMany` unless ' +
    '`excludedAttributes=members`. A filter on members finds groups by the id of a user, with `eq`.',
  query: ListParameters,
  ok: json(200, ScimGroupList, listExample(groupExample)),
  failures: [InvalidFilter, TooMany],
})

export const createProvisionedGroup = route({
  ...inScim,
  id: 'provisioning.createGroup',
  method: 'POST',
  path: location,
  summary: 'Create a group of the directory, with a team',
  description:
    'The team gives no right: owners decide which roles it has. Its members are users of the directory, at most 10,000 ' +
    'in one request.',
  query: ProjectionParameters,
  body: body(FreeObjectCodec, newGroupExample, scimBody),
  ok: withHeader(versioned(201, ScimGroup, groupExample, 'Created'), 'Location', locationOf),
  failures: [...unread, Uniqueness, ResourceMissing],
})

export const getProvisionedGroup = groupRoute({
  ...inScim,
  id: 'provisioning.getGroup',
  method: 'GET',
  path: `${location}/{id}`,
  summary: 'Get a group of the directory',
  description: 'A group of more than 10,000 members is shown only with `excludedAttributes=members`.',
  query: ProjectionParameters,
  ok: versioned(200, ScimGroup, groupExample),
  failures: [TooMany],
})

export const replaceProvisionedGroup = groupRoute({
  ...inScim,
  id: 'provisioning.replaceGroup',
  method: 'PUT',
  path: `${location}/{id}`,
  summary: 'Replace a group of the directory, with its members',
  description: 'Members of the team who are not users of the directory stay in it.',
  query: ProjectionParameters,
  body: body(FreeObjectCodec, newGroupExample, scimBody),
  ok: versioned(200, ScimGroup, groupExample),
  failures: [...unread, Uniqueness, ResourceChanged],
})

export const patchProvisionedGroup = groupRoute({
  ...inScim,
  id: 'provisioning.patchGroup',
  method: 'PATCH',
  path: `${location}/{id}`,
  summary: 'Change a group of the directory, or some of its members',
  description:
    'The cost does not depend on the number of members that stay. With more than 100 members the answer is 204 without a ' +
    'body. A member that is not a user of the directory is left out.',
  query: ProjectionParameters,
  body: body(FreeObjectCodec, patchExample({ op: 'add', path: 'members', value: [{ value: '12' }] }), scimBody),
  ok: orNoContent(versioned(200, ScimGroup, groupExample)),
  failures: [...unread, Uniqueness, ResourceChanged],
})

export const deleteProvisionedGroup = groupRoute({
  ...inScim,
  id: 'provisioning.deleteGroup',
  method: 'DELETE',
  path: `${location}/{id}`,
  summary: 'Delete a group of the directory, with its team',
  description: 'Its users stay in the organization.',
  honoursIfMatch: true,
  ok: empty(204),
  failures: [ResourceChanged],
})
