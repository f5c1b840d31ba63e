import * as t from 'io-ts'
import { ObjectIdentifierInvalid } from '../../core/authz/allowed-permissions.ts'
import { query, read, requiresWithin } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { AuthObjectAllowedPermissions, AuthObjectIdentifiers, InOrganization, ObjectPath } from './codecs.ts'

const route = routesOf({
  tag: 'Authorization',
  scope: read('authz'),
  // The name of a user's own account is valid too; the objects are then those of the user.
  access: requiresWithin('member', { type: 'account', name: query('org') }),
  query: InOrganization,
  failures: [ObjectIdentifierInvalid],
})
const example = { objectType: 'cluster', objectID: 42, allowedPermissions: ['can_edit', 'can_view'] }

const semantics =
  'Relations are sorted. For an object that does not exist, belongs to another account, or on which you ' +
  'have no relation, the response is an ' +
  'empty list. Relations that are not within the scopes of your token are omitted.'

export const getAllowedPermissions = route({
  id: 'authz.getAllowedPermissions',
  method: 'GET',
  path: '/authz/objects/{objectType}/{objID}/allowed-permissions',
  summary: 'List the relations that you have on an object',
  description: semantics,
  params: ObjectPath,
  badPathAs: 400,
  ok: json(200, AuthObjectAllowedPermissions, example),
})

export const listAllowedPermissions = route({
  id: 'authz.listAllowedPermissions',
  method: 'POST',
  path: '/authz/objects/allowed-permissions',
  summary: 'List the relations that you have on each of up to 500 objects',
  description:
    `Returns one result for each element, in the order of the request, including duplicates. ${semantics} ` +
    'Returns 400 if any type or id is ' +
    'invalid; the message names the element.',
  body: body(AuthObjectIdentifiers, [{ objectType: 'cluster', objectID: 42 }]),
  ok: json(200, t.readonlyArray(AuthObjectAllowedPermissions), [example]),
})
