import { ConfinedTokenExceeds, ConfinedTokenRefused } from '../../../core/identity/tokens/ports.ts'
import { NotAuthenticated, TokenNameTaken } from '../../../core/identity/ports.ts'
import {
  BeyondOwnRights,
  OrganizationMissing,
  RobotChanged,
  RobotMissing,
  RobotRefused,
  RobotTokenMissing,
} from '../../../core/organizations/failures.ts'
import { RobotNameTaken } from '../../../core/organizations/ports.ts'
import { AccessToken, CreateAccessTokenOption } from '../../identity/tokens/codecs.ts'
import { path, requires } from '../../kit/access.ts'
import { empty, json, list, packed, versioned } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { OrgPath, organizationInPath } from '../codecs.ts'
import type { TeamId, TokenId } from '../../../core/kernel/ids.ts'
import {
  Instant,
  OrgPathName,
  SafeInteger,
  answer,
  bodyId,
  described,
  freeText,
  listOf,
  optional,
  pathId,
  pathName,
  request,
  textLines,
} from '../../kit/codecs.ts'

import * as t from 'io-ts'

const RobotAccount = answer(
  {
    id: described(SafeInteger, 'The id of the robot account, from 1.'),
    name: described(t.string, 'The name of the robot account within the organization.'),
    login: described(t.string, 'The name of the account: that of the organization, `+`, and `name`.'),
    description: described(t.string, 'The text about the robot account; empty if not set.'),
    team_ids: described(t.readonlyArray(SafeInteger), 'The ids of the teams that give the robot account its rights.'),
    created_at: described(Instant, 'The creation of the account, RFC 3339 in UTC.'),
    active: described(t.boolean, 'Whether its tokens are accepted.'),
  },
  'RobotAccount',
)
const robotExample = {
  id: 77,
  name: 'deployer',
  login: 'analytical-engines+deployer',
  description: 'Rolls out from the pipeline',
  team_ids: [40],
  created_at: '2026-11-21T08:00:00.000Z',
  active: true,
}
const robotTeams = optional(listOf(bodyId<TeamId>(), 50))
const CreateRobotOption = request(
  {
    name: described(
      freeText(255),
      'The name within the organization: lower-case letters and digits, with single `-`, `_` or `.` between them.',
    ),
    description: described(
      optional(textLines(255)),
      'A text about the robot account, at most 255 characters; empty by default.',
    ),
    team_ids: described(
      robotTeams,
      'The ids of teams of the organization, at most 50 and not Owners; none by default.',
    ),
  },
  'CreateRobotOption',
)
const EditRobotOption = request(
  {
    description: described(
      optional(textLines(255)),
      'A text about the robot account, at most 255 characters; absent: unchanged.',
    ),
    team_ids: described(robotTeams, 'The ids of all of its teams, at most 50 and not Owners; absent: unchanged.'),
    active: described(optional(t.boolean), 'Whether its tokens are accepted; absent: unchanged.'),
  },
  'EditRobotOption',
)
const RobotPathName = described(pathName('robot_ac'), 'The name of the robot account within the organization.')
const RobotPath = request({ orgname: OrgPathName, robot: RobotPathName }, 'RobotPath')
const RobotTokenPath = request(
  {
    orgname: OrgPathName,
    robot: RobotPathName,
    id: described(pathId<TokenId>('token of a robot_ac'), 'The id of the token of the robot account, from 1.'),
  },
  'RobotTokenPath',
)
const robotInPath = { type: 'robot_ac', account: path('orgname'), name: path('robot') } as const

const common = { tag: 'Identity - Organizations & Teams', scopeCategory: 'organization' } as const
const route = routesOf({ ...common, params: OrgPath })
const robotRoute = routesOf({ ...common, params: RobotPath, failures: [RobotMissing] })
const tokenRoute = routesOf({ ...common, params: RobotPath, access: requires('can_create_token', robotInPath) })

const tokenExample = {
  id: 6,
  name: 'pipeline',
  sha1: '',
  token_last_eight: '3kP9x0aB',
  scopes: ['write:cluster'],
  created_at: '2026-11-21T08:00:00.000Z',
  expires_at: '2027-02-19T08:00:00.000Z',
}

export const createRobot = route({
  id: 'organizations.createRobot',
  method: 'POST',
  path: '/orgs/{orgname}/robots',
  summary: 'Create a robot account',
  description:
    'Creates an account without password and address that belongs to the organization. Its rights come ' +
    'only from its teams, and the caller must have every right that the teams give. It is never an owner.',
  access: requires('can_create_robot', organizationInPath),
  body: body(CreateRobotOption, { name: 'deployer', description: 'Rolls out from the pipeline', team_ids: [40] }),
  ok: json(201, RobotAccount, robotExample, 'Created'),
  failures: [RobotRefused, RobotNameTaken, BeyondOwnRights, OrganizationMissing],
})

export const listRobots = route({
  id: 'organizations.listRobots',
  method: 'GET',
  path: '/orgs/{orgname}/robots',
  summary: 'List the robot accounts of an organization, by name',
  description: 'Each with the ids of its teams; tokens are listed separately.',
  access: requires('can_list_robots', organizationInPath),
  ok: packed(list(RobotAccount, robotExample)),
})

export const getRobot = robotRoute({
  id: 'organizations.getRobot',
  method: 'GET',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Get a robot account',
  description: 'The `ETag` of the answer guards a later change.',
  access: requires('can_view', robotInPath),
  ok: versioned(200, RobotAccount, robotExample),
})

export const editRobot = robotRoute({
  id: 'organizations.editRobot',
  method: 'PATCH',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Update a robot account',
  description:
    'Omitted fields do not change; `team_ids` replaces the teams. While `active` is false its tokens are rejected.',
  access: requires('can_edit', robotInPath),
  body: body(EditRobotOption, { description: 'Rolls out at night', team_ids: [40], active: true }),
  ok: versioned(200, RobotAccount, robotExample),
  failures: [RobotRefused, RobotChanged, BeyondOwnRights, OrganizationMissing],
})

export const deleteRobot = robotRoute({
  id: 'organizations.deleteRobot',
  method: 'DELETE',
  path: '/orgs/{orgname}/robots/{robot}',
  summary: 'Delete a robot account and its tokens',
  description: 'Its tokens are rejected from now on. It cannot be restored.',
  access: requires('can_delete', robotInPath),
  ok: empty(204),
  failures: [BeyondOwnRights, OrganizationMissing],
})

export const createRobotToken = tokenRoute({
  id: 'organizations.createRobotToken',
  method: 'POST',
  path: '/orgs/{orgname}/robots/{robot}/tokens',
  summary: 'Create an access token for a robot account',
  description:
    'The response contains the value in `sha1`; it is never returned again. The token is confined to the ' +
    'organization. Without `scopes` it has all rights that such a token can have: it reads its own ' +
    'profile, and reads and writes everything except accounts and the site. The caller must have every ' +
    'right of the robot account.',
  refusesSudo: true,
  body: body(CreateAccessTokenOption, {
    name: 'pipeline',
    scopes: ['write:cluster'],
    expires_at: '2027-02-19T08:00:00Z',
  }),
  ok: json(
    201,
    AccessToken,
    { ...tokenExample, sha1: 'moor_0123456789ABCDEFGHIJKLMNOPQRST1aB2cD' },
    'The token with its value',
  ),
  failures: [
    RobotMissing,
    RobotRefused,
    BeyondOwnRights,
    OrganizationMissing,
    ConfinedTokenRefused,
    ConfinedTokenExceeds,
    TokenNameTaken,
    NotAuthenticated,
  ],
})

export const listRobotTokens = tokenRoute({
  id: 'organizations.listRobotTokens',
  method: 'GET',
  path: '/orgs/{orgname}/robots/{robot}/tokens',
  summary: 'List the access tokens of a robot account',
  description: 'Without their values, which are shown only at creation.',
  ok: list(AccessToken, tokenExample),
})

export const deleteRobotToken = tokenRoute({
  id: 'organizations.deleteRobotToken',
  method: 'DELETE',
  path: '/orgs/{orgname}/robots/{robot}/tokens/{id}',
  summary: 'Revoke an access token of a robot account',
  description: 'The token is rejected from now on.',
  refusesSudo: true,
  params: RobotTokenPath,
  ok: empty(204),
  failures: [RobotTokenMissing, OrganizationMissing],
})
