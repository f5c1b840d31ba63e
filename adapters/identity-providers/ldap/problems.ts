import {
  AdminLimitExceededError,
  BusyError,
  ConfidentialityRequiredError,
  InsufficientAccessError,
  NoSuchObjectError,
  ResultCodeError,
  SizeLimitExceededError,
  StrongAuthRequiredError,
  TimeLimitExceededError,
  UnavailableError,
} from 'ldapts'
import type { Failure } from '../../../core/kernel/failure.ts'
import { ProviderUnavailable } from '../../../core/identity-providers/ports.ts'
import { EgressRefused, notReached } from '../../outbound/egress-policy.ts'

const sentences = {
  port: 'The port is not one of LDAP (389, 636, 3268, 3269). An operator can allow another one with MOORAGE_EGRESS_ALLOW, as host:port.',
  lost: 'The directory closed the connection.',
  starttls: 'The directory refuses StartTLS. Use the address with ldaps, or let the directory offer it.',
  bind: 'The directory refuses the DN to search with, or its password.',
  people: 'No entry below user_base matches user_filter, or the DN to search with may not see it.',
  id: 'The entries of people do not have the attribute of id_attribute once, in its form. Active Directory has objectGUID, others have entryUUID or nsUniqueId.',
  twice: 'Two entries have the same id.',
} as const

/** Why a directory cannot be used, where the library has no error of its own. */
export class DirectoryProblem extends Error {
  readonly sentence: string
  constructor(problem: keyof typeof sentences, options?: ErrorOptions) {
    super(problem, options)
    this.sentence = sentences[problem]
  }
}

/** By the result codes of RFC 4511 appendix A. */
const ofCode: readonly (readonly [new (...given: never[]) => Error, string])[] = [
  [
    NoSuchObjectError,
    'The directory has no entry at user_base or group_base, or the DN to search with may not see it.',
  ],
  [InsufficientAccessError, 'The DN to search with has no right to search there.'],
  [SizeLimitExceededError, 'The directory left entries out, since it limits the number of entries. Lower page_size.'],
  [AdminLimitExceededError, 'The directory ended the search at a limit of its own. Narrow user_base or the filters.'],
  [TimeLimitExceededError, 'The directory ended the search at its limit of time. Its attributes may lack an index.'],
  [ConfidentialityRequiredError, 'The directory asks for encryption. Use the address with ldaps, or StartTLS.'],
  [StrongAuthRequiredError, 'The directory asks for encryption. Use the address with ldaps, or StartTLS.'],
  [BusyError, 'The directory is busy.'],
  [UnavailableError, 'The directory is not available.'],
]

const codeOf = (error: unknown): string => {
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' ? code : ''
}

const sentenceOf = (error: unknown, host: string, isLate: boolean): string => {
  if (error instanceof DirectoryProblem) return error.sentence
  if (error instanceof EgressRefused) return error.message
  const known = ofCode.find(([type]) => error instanceof type)
  if (known !== undefined) return known[1]
  if (error instanceof ResultCodeError) return `The directory refuses the request, with the code ${error.code}.`
  if (isLate || (error instanceof Error && /timed? ?out/i.test(error.message))) return `${host} did not answer in time.`
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(codeOf(error)))
    return `The certificate of ${host} is not trusted, or is that of another name. Enter its authority.`
  return /^(?:E[A-Z]+|UND_.*)$/.test(codeOf(error)) ? notReached(host) : `${host} does not answer as a directory does.`
}

/** Returns why a directory cannot be used, for those who administer it. It repeats nothing that the server sent. */
export const unavailable = (error: unknown, address: string, isLate: boolean): Failure<'ProviderUnavailable'> => {
  const host = new URL(address.replace(/^ldaps?/i, 'http')).host
  return ProviderUnavailable(sentenceOf(error, host, isLate), { reason: String(error).slice(0, 500) })
}
