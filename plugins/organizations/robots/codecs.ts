import * as t from 'io-ts'
import type { TeamId, TokenId } from '../../../core/kernel/ids.ts'
import { path } from '../../kit/access.ts'
import {
  answer,
  bodyId,
  described,
  freeText,
  Instant,
  listOf,
  optional,
  OrgPathName,
  pathId,
  pathName,
  request,
  SafeInteger,
  textLines,
} from '../../kit/codecs.ts'

export const RobotAccount = answer(
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
export const robotExample = {
  id: 77,
  name: 'deployer',
  login: 'analytical-engines+deployer',
  description: 'Rolls out from the pipeline',
  team_ids: [40],
  created_at: '2026-11-21T08:00:00.000Z',
  active: true,
}
const robotTeams = optional(listOf(bodyId<TeamId>(), 50))
export const CreateRobotOption = request(
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
export const EditRobotOption = request(
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
export const RobotPath = request({ orgname: OrgPathName, robot: RobotPathName }, 'RobotPath')
export const RobotTokenPath = request(
  {
    orgname: OrgPathName,
    robot: RobotPathName,
    id: described(pathId<TokenId>('token of a robot_ac'), 'The id of the token of the robot account, from 1.'),
  },
  'RobotTokenPath',
)
export const robotInPath = { type: 'robot_ac', account: path('orgname'), name: path('robot') } as const
