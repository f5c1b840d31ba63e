import { defineFailure } from '../kernel/failure.ts'

/** A field of the provider is not valid. */
export const ProviderRefused = defineFailure(
  'ProviderRefused',
  'Unprocessable',
  'A field of the identity provider is missing or not valid.',
)
export const ProviderChanged = defineFailure(
  'ProviderChanged',
  'Conflict',
  'Another request changed the identity provider at the same moment; nothing was changed.',
)
/** There are not as many ends of access to confirm as the request says. */
export const NothingWithheld = defineFailure(
  'NothingWithheld',
  'Conflict',
  'The last comparison with the directory withheld another number of ends of access, or none.',
)
/** The deployment does not let organizations have providers. */
export const ProvidersNotAllowed = defineFailure(
  'ProvidersNotAllowed',
  'Forbidden',
  'Organizations have no identity providers of their own on this installation.',
)
/** One answer for an attempt that is unknown, used, expired, or of another browser or provider. */
export const AttemptMissing = defineFailure(
  'AttemptMissing',
  'Unprocessable',
  'The sign-in is over, was used already, or began in another browser.',
)
/** One answer whether an account with the address exists or not. */
export const ExternalAccountUnknown = defineFailure(
  'ExternalAccountUnknown',
  'Forbidden',
  'No account belongs to this sign-in, and the provider creates none.',
)
/** The account that the first sign-in would create cannot have its name. */
export const ExternalNameTaken = defineFailure(
  'ExternalNameTaken',
  'Conflict',
  'The name of the new account is taken, or is not a valid name.',
)
export const ExternalAccountTaken = defineFailure(
  'ExternalAccountTaken',
  'Conflict',
  'The account at the provider, or the user at this provider, is linked already.',
)
export const LinkMissing = defineFailure('LinkMissing', 'NotFound', 'The user has no such link.')
export const DomainRefused = defineFailure('DomainRefused', 'Unprocessable', 'The domain cannot be added.')
export const OrganizationDomainMissing = defineFailure(
  'OrganizationDomainMissing',
  'NotFound',
  'The organization has no such domain.',
)
export const DomainNotProven = defineFailure(
  'DomainNotProven',
  'Conflict',
  'The proof of the domain was not found, or another organization has the domain.',
)
/** Local sign-in would end for a person without another way in. */
export const LocalSignInNeeded = defineFailure(
  'LocalSignInNeeded',
  'Conflict',
  'Local sign-in cannot be switched off before a provider works and the caller has signed in with it.',
)
/** The caller searched for providers too often. */
export const TooManySearches = defineFailure(
  'TooManySearches',
  'Backoff',
  'There were too many requests of this kind from the network.',
)
