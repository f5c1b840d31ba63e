import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ConfinedTokenInput, ConfinedTokens } from '../../identity/tokens/ports.ts'
import { ConfinedTokenRefused } from '../../identity/tokens/ports.ts'
import type { AccessTokenRecord, NewAccessToken } from '../../identity/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import { dayMilliseconds, parseInstant } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, TeamId, TokenId, UserId } from '../../kernel/ids.ts'
import { accountNamePattern } from '../../kernel/ids.ts'
import { changedFields, isUnchanged } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { auditOfRobot, auditOfToken } from '../audit.ts'
import { RobotChanged, RobotMissing, RobotRefused, RobotTokenMissing } from '../failures.ts'
import { levelOfTeam, mayGive, mustBeProven, mustHold } from '../member-rules.ts'
import type { LockedOrganization, TeamChangeDeps } from '../team-rules.ts'
import { isOwnersTeam, permissionsOfTeam, withLockedOrganization } from '../team-rules.ts'
import type { Team } from '../types.ts'
import type { Robot, RobotStore } from '../ports.ts'
import { maxRobotNameLength } from '../ports.ts'

const maxRobots = 100
const maxTeamsOfRobot = 50

/** Parses a robot's name. It is lower case, so that each name has a single spelling. */
const parseRobotName = (text: string): Either<Failure<'RobotRefused'>, string> =>
  text.length <= maxRobotNameLength && accountNamePattern.test(text)
    ? right(text.toLowerCase())
    : left(
        RobotRefused(
          `A robot account's name has 1 to ${maxRobotNameLength} letters or digits, with single "-", "_" ` +
            'or "." between them.',
        ),
      )

/** Reads teams for a robot. Refuses foreign teams and the team Owners, which is for people. */
const readRobotTeams = async (
  { stores, organization }: LockedOrganization,
  teamIds: readonly TeamId[],
): Outcome<Failure<'RobotRefused'>, readonly Team[]> => {
  const ids = [...new Set(teamIds)]
  if (ids.length > maxTeamsOfRobot) return left(RobotRefused(`A robot account is in at most ${maxTeamsOfRobot} teams.`))
  const teams: Team[] = []
  for (const id of ids) {
    const team = await stores.teams.findById(id)
    if (team?.orgId !== organization.id) return left(RobotRefused(`The organization has no team ${id}.`))
    if (isOwnersTeam(team)) return left(RobotRefused('A robot account cannot be an owner.'))
    teams.push(team)
  }
  return right(teams)
}

/** Checks that a caller who puts a robot into teams, or creates a token for it, holds all that these teams give. */
const checkRobotRights = async (
  { stores, rights }: LockedOrganization,
  teams: readonly Team[],
): Outcome<Failure<'BeyondOwnRights'>, void> => {
  for (const team of teams) {
    const given = mayGive(rights, levelOfTeam(team.permission), await permissionsOfTeam(stores.teams, team))
    if (isLeft(given)) return given
  }
  return right(undefined)
}

const robotMissing = (): Failure<'RobotMissing'> =>
  RobotMissing('The robot account does not exist in the organization.')

export interface RobotRef {
  readonly orgId: OrgId
  readonly id: UserId
}

/** Returns a robot account of the organization. */
export const makeGetRobot =
  (deps: { readonly robots: Pick<RobotStore, 'find'> }) =>
  async (_call: SignedInCall, { orgId, id }: RobotRef): Outcome<Failure<'RobotMissing'>, Robot> => {
    const robot = await deps.robots.find(orgId, id)
    return robot === undefined ? left(robotMissing()) : right(robot)
  }

export interface CreateRobotInput {
  readonly orgId: OrgId
  readonly name: string
  readonly description: string
  readonly teamIds: readonly TeamId[]
}

type CreateRobotFailure = Failure<'RobotRefused' | 'RobotNameTaken' | 'BeyondOwnRights' | 'OrganizationMissing'>

/** Creates a robot account that holds no more than the caller. */
export const makeCreateRobot =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  async (call: SignedInCall<Robot>, { orgId, ...input }: CreateRobotInput): Outcome<CreateRobotFailure, Robot> => {
    const name = parseRobotName(input.name)
    if (isLeft(name)) return name
    return withLockedOrganization<CreateRobotFailure, Robot>(deps, call, orgId, async (held) => {
      const { stores, organization, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const teams = await readRobotTeams(held, input.teamIds)
      if (isLeft(teams)) return teams
      const given = await checkRobotRights(held, teams.right)
      if (isLeft(given)) return given
      if ((await stores.robots.count(orgId)) >= maxRobots) {
        return left(RobotRefused(`An organization has at most ${maxRobots} robot accounts.`))
      }
      const createdAt = deps.clock.now()
      const inserted = await stores.robots.insert({
        orgId,
        orgName: organization.name,
        name: name.right,
        description: input.description,
        createdAt,
      })
      if (isLeft(inserted)) return inserted
      for (const team of teams.right) await stores.teams.addMember(team, inserted.right, createdAt)
      const robot = await stores.robots.find(orgId, inserted.right)
      if (robot === undefined) throw new Error('The robot account that was just inserted is not there.')
      await stores.audit.record(auditOfRobot(robot, 'robot.created', { teams: robot.teamIds }))
      return right(robot)
    })
  }

export interface RobotEdit {
  readonly description?: string
  readonly isActive?: boolean
  /** Replaces the teams. */
  readonly teamIds?: readonly TeamId[]
}

export interface EditRobotInput extends RobotRef {
  readonly change: RobotEdit
  /** If set, the change applies to this version of the robot account only. */
  readonly expectedVersion: number | undefined
}

type EditRobotFailure = Failure<
  'RobotRefused' | 'RobotMissing' | 'RobotChanged' | 'BeyondOwnRights' | 'OrganizationMissing'
>

/**
 * Changes a robot account. To add it to teams or to activate it, the caller must hold all that its teams give
 * afterwards. To remove it from teams or to deactivate it, the right to manage robot accounts is sufficient.
 */
export const makeEditRobot =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  (
    call: SignedInCall<Robot>,
    { orgId, id, change, expectedVersion }: EditRobotInput,
  ): Outcome<EditRobotFailure, Robot> =>
    withLockedOrganization<EditRobotFailure, Robot>(deps, call, orgId, async (held) => {
      const { stores, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, id)
      if (robot === undefined) return left(robotMissing())
      const moved = await moveTeams(held, robot, change, deps.clock.now())
      if (isLeft(moved)) return moved
      const changed = changedFields(robot, { description: change.description, isActive: change.isActive })
      const isNoChange = isUnchanged(changed) && !moved.right
      if (isNoChange && (expectedVersion === undefined || expectedVersion === robot.version)) return right(robot)
      if (!(await stores.robots.update(orgId, id, changed, expectedVersion))) {
        return left(RobotChanged('The robot account was changed by another request. Read it again.'))
      }
      const after = await stores.robots.find(orgId, id)
      if (after === undefined) throw new Error('The robot account that was just changed is not there.')
      const fields = [...Object.keys(changed), ...(moved.right ? ['teamIds'] : [])]
      await stores.audit.record(
        auditOfRobot(after, 'robot.changed', { fields, active: after.isActive, teams: after.teamIds }),
      )
      return right(after)
    })

/** Reports whether the teams changed. */
const moveTeams = async (
  held: LockedOrganization,
  robot: Robot,
  { teamIds, isActive }: RobotEdit,
  at: Date,
): Outcome<Failure<'RobotRefused' | 'BeyondOwnRights'>, boolean> => {
  const wanted = [...new Set(teamIds ?? robot.teamIds)]
  const added = wanted.filter((id) => !robot.teamIds.includes(id))
  const teams = await readRobotTeams(held, wanted)
  if (isLeft(teams)) return teams
  if (added.length > 0 || (isActive === true && !robot.isActive)) {
    const given = await checkRobotRights(held, teams.right)
    if (isLeft(given)) return given
  }
  const gone = robot.teamIds.filter((id) => !wanted.includes(id))
  for (const id of gone) await held.stores.teams.removeMember(id, robot.id)
  for (const team of teams.right) if (added.includes(team.id)) await held.stores.teams.addMember(team, robot.id, at)
  return right(gone.length + added.length > 0)
}

type DeleteRobotFailure = Failure<'RobotMissing' | 'BeyondOwnRights' | 'OrganizationMissing'>

/** Deletes a robot account and its tokens. */
export const makeDeleteRobot =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall, { orgId, id }: RobotRef): Outcome<DeleteRobotFailure, void> =>
    withLockedOrganization<DeleteRobotFailure, void>(deps, call, orgId, async ({ stores, rights }) => {
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, id)
      if (robot === undefined) return left(robotMissing())
      await stores.robots.remove(orgId, id)
      await stores.audit.record(auditOfRobot(robot, 'robot.deleted'))
      return right(undefined)
    })

type RobotTokenFailure = Failure<
  | 'RobotMissing'
  | 'RobotRefused'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
  | 'ConfinedTokenRefused'
  | 'ConfinedTokenExceeds'
  | 'TokenNameTaken'
  | 'NotAuthenticated'
>

export interface CreateRobotTokenInput extends Omit<ConfinedTokenInput, 'expiresAt'> {
  readonly orgId: OrgId
  readonly robotId: UserId
  /** An RFC 3339 instant. */
  readonly expiresAt: string | undefined
}

export interface CreatedRobotToken {
  readonly record: AccessTokenRecord
  /** The plain value. It is available only here. */
  readonly value: Secret
}

/**
 * Creates an access token for a robot account, restricted to its organization. The caller must hold all that the robot
 * holds, and the caller's own credential must still be in force.
 */
export const makeCreateRobotToken =
  (deps: TeamChangeDeps & { readonly confinedTokens: ConfinedTokens }) =>
  async (
    call: SignedInCall<CreatedRobotToken>,
    { orgId, robotId, ...input }: CreateRobotTokenInput,
  ): Outcome<RobotTokenFailure, CreatedRobotToken> => {
    const expiresAt = input.expiresAt === undefined ? undefined : parseInstant(input.expiresAt)
    if (input.expiresAt !== undefined && expiresAt === undefined) {
      return left(ConfinedTokenRefused('expires_at: must be an RFC 3339 date-time.'))
    }
    return withLockedOrganization<RobotTokenFailure, CreatedRobotToken>(deps, call, orgId, async (held) => {
      const { stores, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const proven = await mustBeProven(stores, call.principal)
      if (isLeft(proven)) return proven
      const robot = await stores.robots.find(orgId, robotId)
      if (robot === undefined) return left(robotMissing())
      const teams = await readRobotTeams(held, robot.teamIds)
      if (isLeft(teams)) return teams
      const given = await checkRobotRights(held, teams.right)
      if (isLeft(given)) return given
      const prepared = deps.confinedTokens.prepare(
        call.principal,
        { userId: robotId, onlyOrgId: orgId },
        { ...input, expiresAt },
      )
      if (isLeft(prepared)) return prepared
      const { row, value } = prepared.right
      const fits = await fitsPolicy(held, row)
      if (isLeft(fits)) return fits
      const id = await stores.accessTokens.insert(row)
      if (isLeft(id)) return id
      const facts = { robot: robot.login, scopes: row.scopeWords, expires_at: row.expiresAt?.toISOString() ?? null }
      await stores.audit.record(auditOfToken({ id: id.right, name: row.name, orgId }, 'robot.token_created', facts))
      return right({ record: { ...row, id: id.right, lastUsedAt: undefined }, value })
    })
  }

/** Checks the lifetime of a token against the organization's policy. A token that the policy refuses is not created. */
const fitsPolicy = async (
  { stores, organization }: LockedOrganization,
  { createdAt, expiresAt }: NewAccessToken,
): Outcome<Failure<'RobotRefused'>, void> => {
  const maxDays = (await stores.policies.find(organization.id))?.maxTokenLifeDays ?? 0
  if (maxDays === 0) return right(undefined)
  return expiresAt !== undefined && expiresAt.getTime() - createdAt.getTime() < (maxDays + 1) * dayMilliseconds
    ? right(undefined)
    : left(RobotRefused(`The organization takes only tokens that live no longer than ${maxDays} days: set an expiry.`))
}

export interface DeleteRobotTokenInput {
  readonly orgId: OrgId
  readonly robotId: UserId
  readonly id: TokenId
}

/** Revokes a token of a robot account. */
export const makeDeleteRobotToken =
  (deps: TeamChangeDeps) =>
  (
    call: SignedInCall,
    { orgId, robotId, id }: DeleteRobotTokenInput,
  ): Outcome<Failure<'RobotTokenMissing' | 'OrganizationMissing'>, void> =>
    withLockedOrganization<Failure<'RobotTokenMissing' | 'OrganizationMissing'>, void>(
      deps,
      call,
      orgId,
      async ({ stores }) => {
        const robot = await stores.robots.find(orgId, robotId)
        const name = robot === undefined ? undefined : await stores.accessTokens.remove(robotId, id)
        if (robot === undefined || name === undefined)
          return left(RobotTokenMissing('The token of the robot account does not exist.'))
        await stores.audit.record(auditOfToken({ id, name, orgId }, 'robot.token_revoked', { robot: robot.login }))
        return right(undefined)
      },
    )
