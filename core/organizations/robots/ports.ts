import type { OrgId, TeamId, UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { token } from '../../kernel/token.ts'

/** Another robot account of the organization has this name. */
export const RobotNameTaken = defineFailure('RobotNameTaken', 'Unprocessable')

/** An account that is no person: no password, no address, and nothing outside of its organization. */
export interface Robot {
  readonly id: UserId
  readonly orgId: OrgId
  /** Unique within the organization; lower case. */
  readonly name: string
  /** The organization's name, `+`, and the robot's: no person's name has a plus sign. */
  readonly login: string
  readonly description: string
  readonly isActive: boolean
  /** Teams of the organization, ascending: they alone give the robot its rights. */
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

/** Robot accounts, each read and change within one organization. */
export interface RobotStore {
  /** By name. */
  list(orgId: OrgId, page: PageRequest): Promise<Page<Robot>>
  find(orgId: OrgId, id: UserId): Promise<Robot | undefined>
  /** Counts all of the organization. */
  count(orgId: OrgId): Promise<number>
  /** Inserts account, user, robot and membership, in no team. */
  insert(robot: NewRobot): Outcome<Failure<'RobotNameTaken'>, UserId>
  /** Raises the version. False when it is gone or, with `expectedVersion`, has another version. */
  update(orgId: OrgId, id: UserId, changes: RobotChanges, expectedVersion: number | undefined): Promise<boolean>
  /** Removes the account with its tokens, teams and grants. */
  remove(orgId: OrgId, id: UserId): Promise<void>
}
export const RobotStoreToken = token<RobotStore>('organizations.RobotStore')

export const maxRobotNameLength = 22
/** The login of a robot. */
export const robotLogin = (orgName: string, name: string): string => `${orgName}+${name}`
