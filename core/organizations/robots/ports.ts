import type { OrgId, TeamId, UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { token } from '../../kernel/token.ts'

/** Another robot account of the organization has this name. */
export const RobotNameTaken = defineFailure('RobotNameTaken', 'Unprocessable')

/** A non-human account: it has no password, no address, and no rights outside its organization. */
export interface Robot {
  readonly id: UserId
  readonly orgId: OrgId
  /** Unique within the organization; lower case. */
  readonly name: string
  /** The organization's name, `+`, and the robot's name. No user's name contains a plus sign. */
  readonly login: string
  readonly description: string
  readonly isActive: boolean
  /** Teams of the organization, ascending. They are the only source of the robot's rights. */
  readonly teamIds: readonly TeamId[]
  readonly createdAt: Date
  readonly version: number
}

export interface NewRobot {
  readonly orgId: OrgId
  readonly orgName: string
  readonly name: string
  readonly description: string
  readonly createdAt: Date
}
export type RobotChanges = Partial<Pick<Robot, 'description' | 'isActive'>>

/** Robot accounts. Each read and change is limited to one organization. */
export interface RobotStore {
  /** Sorted by name. */
  list(orgId: OrgId, page: PageRequest): Promise<Page<Robot>>
  find(orgId: OrgId, id: UserId): Promise<Robot | undefined>
  /** Returns the number of robot accounts of the organization. */
  count(orgId: OrgId): Promise<number>
  /** Inserts account, user, robot and membership, without a team. */
  insert(robot: NewRobot): Outcome<Failure<'RobotNameTaken'>, UserId>
  /** Increments the version. Returns false if the robot does not exist or, with `expectedVersion`, has another version. */
  update(orgId: OrgId, id: UserId, changes: RobotChanges, expectedVersion: number | undefined): Promise<boolean>
  /** Deletes the account with its tokens, teams and grants. */
  remove(orgId: OrgId, id: UserId): Promise<void>
}
export const RobotStoreToken = token<RobotStore>('organizations.RobotStore')

export const maxRobotNameLength = 22
/** Returns the login of a robot. */
export const robotLogin = (orgName: string, name: string): string => `${orgName}+${name}`
