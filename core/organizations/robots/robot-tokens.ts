import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ConfinedTokenInput, ConfinedTokens } from '../../identity/tokens/ports.ts'
import type { AccessTokenRecord, NewAccessToken } from '../../identity/types.ts'
import type { OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { dayMilliseconds } from '../../kernel/clock.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { RobotMissing, RobotRefused, RobotTokenMissing } from '../failures.ts'
import type { LockedOrganization, TeamChangeDeps } from '../teams/team-rules.ts'
import { withLockedOrganization } from '../teams/team-rules.ts'
import { mustHold } from '../members/rights.ts'
import { checkRobotRights, readRobotTeams } from './robots.ts'

type RobotTokenFailure = Failure<
  | 'RobotMissing'
  | 'RobotRefused'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
  | 'ConfinedTokenRefused'
  | 'ConfinedTokenExceeds'
  | 'TokenNameTaken'
>

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
  (call: SignedInCall<CreatedRobotToken>, orgId: OrgId, robotId: UserId, input: ConfinedTokenInput): Outcome<RobotTokenFailure, CreatedRobotToken> =>
    withLockedOrganization<RobotTokenFailure, CreatedRobotToken>(deps, call, orgId, async (held) => {
      const { stores, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, robotId)
      if (robot === undefined) return left(RobotMissing('The robot account does not exist in the organization.'))
      const teams = await readRobotTeams(held, robot.teamIds)
      if (isLeft(teams)) return teams
      const given = await checkRobotRights(held, teams.right)
      if (isLeft(given)) return given
      const prepared = deps.confinedTokens.prepare(call.principal, { userId: robotId, onlyOrgId: orgId }, input)
      if (isLeft(prepared)) return prepared
      const { row, value } = prepared.right
      const fits = await fitsPolicy(held, row)
      if (isLeft(fits)) return fits
      const id = await stores.accessTokens.insert(row)
      if (isLeft(id)) return id
      await stores.audit.record({
        action: 'robot.token_created',
        objectType: 'token',
        objectId: id.right,
        objectName: row.name,
        tenantId: orgId,
        changes: { robot: robot.login, scopes: row.scopeWords, expires_at: row.expiresAt?.toISOString() ?? null },
      })
      return right({ record: { ...row, id: id.right, lastUsedAt: undefined }, value })
    })

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

/** Revokes a token of a robot account. */
export const makeDeleteRobotToken =
  (deps: TeamChangeDeps) =>
  (
    call: SignedInCall,
    orgId: OrgId,
    robotId: UserId,
    id: TokenId,
  ): Outcome<Failure<'RobotTokenMissing' | 'OrganizationMissing'>, void> =>
    withLockedOrganization<Failure<'RobotTokenMissing' | 'OrganizationMissing'>, void>(deps, call, orgId, async ({ stores }) => {
      const robot = await stores.robots.find(orgId, robotId)
      const name = robot === undefined ? undefined : await stores.accessTokens.remove(robotId, id)
      if (robot === undefined || name === undefined) return left(RobotTokenMissing('The token of the robot account does not exist.'))
      await stores.audit.record({
        action: 'robot.token_revoked',
        objectType: 'token',
        objectId: id,
        objectName: name,
        tenantId: orgId,
        changes: { robot: robot.login },
      })
      return right(undefined)
    })
