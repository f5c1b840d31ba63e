import {
  AccountNeeded,
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
import { empty, json, versioned, withHeader } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  DirectoryPath,
  DirectoryUserPath,
  listExample,
  ListParameters,
  newUserExample,
  patchExample,
  ProjectionParameters,
  ScimUser,
  ScimUserList,
  userExample,
} from './codecs.ts'
import { inScim, locationOf, root, scim, scimBody } from './scim-routes.ts'

const route = routesOf({ ...scim, params: DirectoryPath })
const userRoute = routesOf({ ...scim, params: DirectoryUserPath, failures: [ResourceMissing] })
const unread = [InvalidPath, InvalidSyntax, InvalidValue, Mutability, NoTarget, TooMany] as const
const location = `${root}/Users`

export const listProvisionedUsers = route({
  ...inScim,
  id: 'provisioning.listUsers',
  method: 'GET',
  path: location,
  summary: 'List the users of the directory',
  description:
    'By id. `eq` on `id`, `userName`, `externalId`, `displayName` and `emails.value`, alone or with `and`, is looked up ' +
    'by an index. Every other filter is judged user by user, and refused with `tooMany` beyond 10,000 users.',
  query: ListParameters,
  ok: json(200, ScimUserList, listExample(userExample)),
  failures: [InvalidFilter, TooMany],
})

export const createProvisionedUser = route({
  ...inScim,
  id: 'provisioning.createUser',
  method: 'POST',
  path: location,
  summary: 'Create a user of the directory, with an account',
  description:
    'The account is a member of the organization without a team. Its name is made from `userName`. Its address is the ' +
    'primary one of `emails`, or else the first, or else `userName`. No mail is sent.',
  query: ProjectionParameters,
  body: body(FreeObjectCodec, newUserExample, scimBody),
  ok: withHeader(versioned(201, ScimUser, userExample, 'Created'), 'Location', locationOf),
  failures: [...unread, Uniqueness, ResourceMissing, AccountNeeded],
})

export const getProvisionedUser = userRoute({
  ...inScim,
  id: 'provisioning.getUser',
  method: 'GET',
  path: `${location}/{id}`,
  summary: 'Get a user of the directory',
  description: 'A user whose account is disabled, or who was removed from the organization by hand, is not active.',
  query: ProjectionParameters,
  ok: versioned(200, ScimUser, userExample),
})

const changes =
  'The full name and the address of the account follow. With `active` false the account is disabled, and its sessions, ' +
  'access tokens and streams end at once.'

export const replaceProvisionedUser = userRoute({
  ...inScim,
  id: 'provisioning.replaceUser',
  method: 'PUT',
  path: `${location}/{id}`,
  summary: 'Replace a user of the directory',
  description: `${changes} Without \`active\` the user stays active or not.`,
  query: ProjectionParameters,
  body: body(FreeObjectCodec, newUserExample, scimBody),
  ok: versioned(200, ScimUser, userExample),
  failures: [...unread, Uniqueness, ResourceChanged, AccountNeeded],
})

export const patchProvisionedUser = userRoute({
  ...inScim,
  id: 'provisioning.patchUser',
  method: 'PATCH',
  path: `${location}/{id}`,
  summary: 'Change attributes of a user of the directory',
  description: changes,
  query: ProjectionParameters,
  body: body(FreeObjectCodec, patchExample({ op: 'replace', path: 'active', value: false }), scimBody),
  ok: versioned(200, ScimUser, userExample),
  failures: [...unread, Uniqueness, ResourceChanged, AccountNeeded],
})

export const deleteProvisionedUser = userRoute({
  ...inScim,
  id: 'provisioning.deleteUser',
  method: 'DELETE',
  path: `${location}/{id}`,
  summary: 'Delete a user of the directory, with the account',
  description:
    'The user leaves the organization. An account that still holds something, such as contracts, is deactivated ' +
    'instead. Refused for the last owner of an organization, and for an account that owns clusters.',
  honoursIfMatch: true,
  ok: empty(204),
  failures: [ResourceChanged, AccountNeeded],
})
