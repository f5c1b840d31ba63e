import { ConfinedTokenExceeds, ConfinedTokenRefused } from '../../../core/identity/tokens/ports.ts'
import { TokenNameTaken } from '../../../core/identity/ports.ts'
import {
  BeyondOwnRights,
  OrganizationMissing,
  RobotChanged,
  RobotMissing,
  RobotRefused,
  RobotTokenMissing,
} from '../../../core/organizations/failures.ts'
import { RobotNameTaken } from '../../../core/organizations/robots/ports.ts'
import { AccessToken, CreateAccessTokenOption } from '../../identity/codecs.ts'
import { read, requires, write } from '../../kit/access.ts'
import { empty, json, list, versioned } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import {
  CreateRobotOption,
  EditRobotOption,
  organizationInPath,
  OrgPath,
  RobotAccount,
  robotExample,
  robotInPath,
  RobotPath,
  RobotTokenPath,
} from '../codecs.ts'

const tag = 'Identity - Organizations & Teams'

const tokenExample = {
  id: 6,
  name: 'pipeline',
  sha1: '',
  token_last_eight: '3kP9x0aB',
  scopes: ['write:cluster'],
  created_at: '2026-11-21T08:00:00.000Z',
  expires_at: '2027-02-19T08:00:00.000Z',
}

export const createRobot = defineRoute({
  id: 'organizations.createRobot',
  method: 'POST',
  path: '/orgs/{orgname}/robots',
  summary: 'Create a robot account',
  description:
    'Creates an account without password and address that belongs to the organization. Its rights come only from its teams, and the caller must have every right that the teams give. It is never an owner.',
  tag,
  access: requires('can_create_robot', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(CreateRobotOption, { name: 'deployer', description: 'Rolls out from the pipeline', team_ids: [40] }),
  ok: json(201, RobotAccount, robotExample, 'Created'),
  failures: [RobotRefused, RobotNameTaken, BeyondOwnRights, OrganizationMissing],
})

export const listRobots = defineRoute({
  id: 'organizations.listRobots',
  method: 'GET',
  path: '/orgs/{orgname}/robots',
  summary: 'List the robot accounts of an organization, by name',
  tag,
  access: requires('can_list_robots', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: list(RobotAccount, robotExample),
  failures: [],
})

export const getRobot = defineRoute({
  id: 'organizations.getRobot',
  method: 'GET',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Get a robot account',
  tag,
  access: requires('can_view', robotInPath),
  scope: read('organization'),
  params: RobotPath,
  ok: versioned(200, RobotAccount, robotExample),
  failures: [RobotMissing],
})

export const editRobot = defineRoute({
  id: 'organizations.editRobot',
  method: 'PATCH',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Update a robot account',
  description: 'Omitted fields do not change; `team_ids` replaces the teams. While `active` is false its tokens are rejected.',
  tag,
  access: requires('can_edit', robotInPath),
  scope: write('organization'),
  params: RobotPath,
  body: body(EditRobotOption, { description: 'Rolls out at night', team_ids: [40], active: true }),
  ok: versioned(200, RobotAccount, robotExample),
  failures: [RobotRefused, RobotMissing, RobotChanged, BeyondOwnRights, OrganizationMissing],
})

export const deleteRobot = defineRoute({
  id: 'organizations.deleteRobot',
  method: 'DELETE',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Delete a robot account and its tokens',
  tag,
  access: requires('can_delete', robotInPath),
  scope: write('organization'),
  params: RobotPath,
  ok: empty(204),
  failures: [RobotMissing, BeyondOwnRights, OrganizationMissing],
})

export const createRobotToken = defineRoute({
  id: 'organizations.createRobotToken',
  method: 'POST',
  path: '/orgs/{orgname}/robots/{robot}/tokens',
  summary: 'Create an access token for a robot account',
  description:
    'The response contains the value in `sha1`; it is never returned again. The token is confined to the organization. Without `scopes` it has all rights that such a token can have: it reads its own profile, and reads and writes everything except accounts and the site. The caller must have every right of the robot account.',
  tag,
  access: requires('can_create_token', robotInPath),
  scope: write('organization'),
  refusesSudo: true,
  params: RobotPath,
  body: body(CreateAccessTokenOption, { name: 'pipeline', scopes: ['write:cluster'], expires_at: '2027-02-19T08:00:00Z' }),
  ok: json(201, AccessToken, { ...tokenExample, sha1: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' }, 'The token with its value'),
  failures: [RobotMissing, RobotRefused, BeyondOwnRights, OrganizationMissing, ConfinedTokenRefused, ConfinedTokenExceeds, TokenNameTaken],
})

export const listRobotTokens = defineRoute({
  id: 'organizations.listRobotTokens',
  method: 'GET',
  path: '/orgs/{orgname}/robots/{robot}/tokens',
  summary: 'List the access tokens of a robot account',
  tag,
  access: requires('can_create_token', robotInPath),
  scope: read('organization'),
  params: RobotPath,
  ok: list(AccessToken, tokenExample),
  failures: [],
})

export const deleteRobotToken = defineRoute({
  id: 'organizations.deleteRobotToken',
  method: 'DELETE',
  path: '/orgs/{orgname}/robots/{robot}/tokens/{id}',
  summary: 'Revoke an access token of a robot account',
  tag,
  access: requires('can_create_token', robotInPath),
  scope: write('organization'),
  refusesSudo: true,
  params: RobotTokenPath,
  ok: empty(204),
  failures: [RobotTokenMissing, OrganizationMissing],
})
