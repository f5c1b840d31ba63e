import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { OrganizationFieldRefused } from '../failures.ts'
import type { OrganizationProfile, Visibility } from '../types.ts'

/** The maximum lengths, in UTF-16 units. */
export const profileLimits = { fullName: 100, email: 254, description: 255, website: 255, location: 50, fleetEndpoint: 255 } as const

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

export const emptyProfile: OrganizationProfile = {
  fullName: '',
  email: '',
  description: '',
  website: '',
  location: '',
  visibility: 'public',
  fleetEndpoint: '',
}

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
    if (text !== undefined && text.length > profileLimits[field]) problems.push(`${field} has more than ${profileLimits[field]} characters.`)
  }
  if (input.website && !webAddress.test(input.website)) problems.push('website: must be an http or https address.')
  if (input.fleetEndpoint && !webAddress.test(input.fleetEndpoint)) problems.push('fleetManagementClusterEndPoint: must be an http or https address.')
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
  const texts = Object.fromEntries(textFields.filter((field) => input[field] !== undefined).map((field) => [field, input[field]]))
  return right({ ...texts, ...(input.visibility ? { visibility: input.visibility } : {}) })
}
