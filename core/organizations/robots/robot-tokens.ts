import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ConfinedTokenInput, ConfinedTokens } from '../../identity/tokens/ports.ts'
import { ConfinedTokenRefused } from '../../identity/tokens/ports.ts'
import type { AccessTokenRecord, NewAccessToken } from '../../identity/types.ts'
import type { OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { dayMilliseconds, parseInstant } from '../../kernel/clock.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { auditOfToken } from '../audit.ts'
import { RobotRefused, RobotTokenMissing } from '../failures.ts'
import type { LockedOrganization, TeamChangeDeps } from '../teams/team-rules.ts'
import { withLockedOrganization } from '../teams/team-rules.ts'
import { mustHold } from '../members/rights.ts'
import { checkRobotRights, readRobotTeams, robotMissing } from './robots.ts'

type RobotTokenFailure = Failure<
  | 'RobotMissing'
  | 'RobotRefused'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
  | 'ConfinedTokenRefused'
  | 'ConfinedTokenExceeds'
  | 'TokenNameTaken'
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
 * holds.
 */
export const makeCreateRobotToken =
  (deps: TeamChangeDeps & { readonly confinedTokens: ConfinedTokens }) =>
  async (call: SignedInCall<CreatedRobotToken>, { orgId, robotId, ...input }: CreateRobotTokenInput): Outcome<RobotTokenFailure, CreatedRobotToken> => {
    const expiresAt = input.expiresAt === undefined ? undefined : parseInstant(input.expiresAt)
    if (input.expiresAt !== undefined && expiresAt === undefined) {
      return left(ConfinedTokenRefused('expires_at: must be an RFC 3339 date-time.'))
    }
    return withLockedOrganization<RobotTokenFailure, CreatedRobotToken>(deps, call, orgId, async (held) => {
      const { stores, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, robotId)
      if (robot === undefined) return left(robotMissing())
      const teams = await readRobotTeams(held, robot.teamIds)
      if (isLeft(teams)) return teams
      const given = await checkRobotRights(held, teams.right)
      if (isLeft(given)) return given
      const prepared = deps.confinedTokens.prepare(call.principal, { userId: robotId, onlyOrgId: orgId }, { ...input, expiresAt })
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
    withLockedOrganization<Failure<'RobotTokenMissing' | 'OrganizationMissing'>, void>(deps, call, orgId, async ({ stores }) => {
      const robot = await stores.robots.find(orgId, robotId)
      const name = robot === undefined ? undefined : await stores.accessTokens.remove(robotId, id)
      if (robot === undefined || name === undefined) return left(RobotTokenMissing('The token of the robot account does not exist.'))
      await stores.audit.record(auditOfToken({ id, name, orgId }, 'robot.token_revoked', { robot: robot.login }))
      return right(undefined)
    })
