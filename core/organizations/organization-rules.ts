import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import { parseAccountName } from '../kernel/ids.ts'
import type { Call } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import { OrganizationFieldRefused, OrganizationNameRefused, TeamNameRefused } from './failures.ts'
import type { Organization, OrganizationProfile, Visibility } from './types.ts'
import { teamNameKey } from './types.ts'

export const ownersTeamName = 'Owners'
const maxTeamNameLength = 255
/** Matching takes linear time. */
const teamNamePattern = /^[0-9A-Za-z][-.\w]*$/

const reservedTeamNames: ReadonlySet<string> = new Set(['new'])

export const parseOrganizationName = (text: string): Either<Failure<'OrganizationNameRefused'>, string> => {
  const name = parseAccountName(text)
  return name._tag === 'Left' ? left(OrganizationNameRefused(name.left.message)) : right(name.right)
}

/**
 * Parses a team's name. `Owners` exists in every organization, so the store refuses it; `new` is a word of the
 * console's routes.
 */
export const parseTeamName = (text: string): Either<Failure<'TeamNameRefused'>, string> => {
  if (text.length > maxTeamNameLength || !teamNamePattern.test(text)) {
    return left(
      TeamNameRefused(
        `A team name has 1 to ${maxTeamNameLength} letters, digits, "-", "_" or ".", a letter or digit first.`,
      ),
    )
  }
  return reservedTeamNames.has(teamNameKey(text))
    ? left(TeamNameRefused(`The team name "${text}" is reserved.`))
    : right(text)
}

/** The maximum lengths, in UTF-16 units. */
export const profileLimits = {
  fullName: 100,
  email: 254,
  description: 255,
  website: 255,
  location: 50,
  fleetEndpoint: 255,
} as const

/** The requested changes. An absent field is unchanged, an empty text clears it, an empty visibility is no change. */
export interface ProfileInput extends Partial<Omit<OrganizationProfile, 'visibility'>> {
  readonly visibility?: Visibility | ''
  /**
   * A word that older clients send, or the number that is shown. `client` is a kind of organization that cannot be
   * created here.
   */
  readonly orgType?: string | number
}

const webAddress = /^https?:\/\/[^\s/?#\\@]+(?:[/?#]\S*)?$/i
const mailAddress = /^[^\s@<>"]+@[^\s@<>"]+$/
const orgTypes: readonly string[] = ['', 'public', 'limited', 'private', 'kubernetes']

const textFields = Object.keys(profileLimits) as readonly (keyof typeof profileLimits)[]

const orgTypeProblem = (sent: ProfileInput['orgType'], current: number): string | undefined => {
  if (sent === 'client') return 'A client organization is created at /user/client/create.'
  if (typeof sent === 'number') return sent === current ? undefined : 'orgType cannot be changed.'
  return sent === undefined || orgTypes.includes(sent) ? undefined : 'orgType is not known.'
}

const problemsOf = (input: ProfileInput, orgType: number): readonly string[] => {
  const problems: string[] = []
  for (const field of textFields) {
    const text = input[field]
    if (text !== undefined && text.length > profileLimits[field])
      problems.push(`${field} has more than ${profileLimits[field]} characters.`)
  }
  if (input.website && !webAddress.test(input.website)) problems.push('website: must be an http or https address.')
  if (input.fleetEndpoint && !webAddress.test(input.fleetEndpoint))
    problems.push('fleetManagementClusterEndPoint: must be an http or https address.')
  if (input.email && !mailAddress.test(input.email)) problems.push('email: must be an e-mail address.')
  const typeProblem = orgTypeProblem(input.orgType, orgType)
  if (typeProblem !== undefined) problems.push(typeProblem)
  return problems
}

/** The type of an organization without a special kind. */
export const ordinaryOrgType = 0

/**
 * Checks the fields that are present and returns exactly those. `orgType` is the organization's current type, which
 * cannot change.
 */
export const parseProfile = (
  input: ProfileInput,
  orgType: number,
): Either<Failure<'OrganizationFieldRefused'>, Partial<OrganizationProfile>> => {
  const problems = problemsOf(input, orgType)
  if (problems.length > 0) return left(OrganizationFieldRefused(problems.join(' '), { errors: problems }))
  const { orgType: _, visibility, ...fields } = input
  return right(definedFields({ ...fields, visibility: visibility === '' ? undefined : visibility }))
}

/** A viewer: determines which organizations are visible. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
  readonly publicOnly: boolean
  readonly onlyOrgId: OrgId | undefined
}

const stranger: Viewer = { userId: undefined, isSiteAdmin: false, publicOnly: true, onlyOrgId: undefined }

/** Returns the viewer of a call. A token without a scope for organizations sees what an anonymous caller sees. */
export const viewerOf = (call: Call): Viewer => {
  const principal = call.principal
  if (principal === undefined || !allows(principal.scopes, { category: 'organization', level: 'read' })) return stranger
  return {
    userId: principal.userId,
    isSiteAdmin: principal.isSiteAdmin,
    publicOnly: principal.scopes.publicOnly,
    onlyOrgId: principal.onlyOrgId,
  }
}

/**
 * Returns the viewer with respect to one organization. A token restricted to another organization sees it as an
 * anonymous caller does.
 */
export const viewerIn = (viewer: Viewer, orgId: OrgId): Viewer =>
  viewer.onlyOrgId === undefined || viewer.onlyOrgId === orgId ? viewer : stranger

/** Returns the visibilities that need no membership. */
export const visibleWithoutMembership = (viewer: Viewer): readonly Visibility[] => {
  if (viewer.userId === undefined || viewer.publicOnly || viewer.onlyOrgId !== undefined) return ['public']
  return viewer.isSiteAdmin ? ['public', 'limited', 'private'] : ['public', 'limited']
}

/** Reports whether an organization is visible. `viewer` must already be the viewer in this organization. */
export const canSee = (viewer: Viewer, organization: Pick<Organization, 'visibility'>, isMember: boolean): boolean => {
  if (organization.visibility === 'public') return true
  if (viewer.userId === undefined || viewer.publicOnly) return false
  return viewer.isSiteAdmin || isMember || (organization.visibility === 'limited' && viewer.onlyOrgId === undefined)
}
