import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { isObject, parseJson } from '../kernel/json.ts'
import { parseRecipients } from './contract-rules.ts'
import { ContractRequestInvalid } from './ports.ts'
import type { Contract, ContractEmailList, ContractEmails, ContractQuota, ContractTerms } from './types.ts'

/** Terms as a request has them. What is absent does not change, or gets its default in a new contract. */
export interface ContractDraft extends Partial<Omit<ContractTerms, 'emails' | 'quota'>> {
  readonly emails?: Partial<ContractEmails>
  readonly quota?: Partial<ContractQuota>
}

type Invalid = Failure<'ContractRequestInvalid'>

export const emailLists: readonly ContractEmailList[] = ['contactPerson', 'signingAuthority', 'licenseUsers', 'financeTeam', 'usageAlertClient', 'usageAlertAdmin']
const noEmails = Object.fromEntries(emailLists.map((list) => [list, []])) as unknown as ContractEmails
const noQuota: ContractQuota = { enabled: false, metric: 'memory_gib_month', limit: 0, alertThresholds: [], disableLicenseOnLimitReached: false }

/** The values that a feature or product name can have inside a certificate and a URL. */
export const termWord = /^[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const maxFeatures = 100
const maxRestrictions = 4000
const maxThresholds = 10
/** Beyond this year a certificate cannot be read by all verifiers. */
const latestEnd = Date.UTC(9999, 0, 1)

const parseEmails = (draft: Partial<ContractEmails>, known: ContractEmails): Either<Invalid, ContractEmails> => {
  const emails: Record<ContractEmailList, readonly string[]> = { ...known }
  for (const list of emailLists) {
    const given = draft[list]
    const parsed = given === undefined ? right(known[list]) : parseRecipients(given)
    if (isLeft(parsed)) return parsed
    emails[list] = parsed.right
  }
  return right(emails)
}

const quotaFault = ({ enabled, limit, alertThresholds }: ContractQuota): string | undefined => {
  if (!Number.isFinite(limit) || limit < 0 || limit > 1e12) return 'quota.limit must be a number from 0 to 10^12.'
  if (enabled && limit === 0) return 'quota.limit must be above 0 if the quota is enabled.'
  if (alertThresholds.length > maxThresholds || alertThresholds.some((percent) => !Number.isInteger(percent) || percent < 1 || percent > 1000))
    return `quota.alertThresholds has at most ${maxThresholds} integers from 1 to 1000.`
  return undefined
}

const restrictionsFault = (restrictions: string): string | undefined => {
  if (restrictions === '') return undefined
  if (restrictions.length > maxRestrictions) return `restrictions has at most ${maxRestrictions} characters.`
  const parsed = parseJson(restrictions)
  return parsed.ok && isObject(parsed.value) ? undefined : 'restrictions must be the text of a JSON object.'
}

const fault = ({ name, product, features, quota, restrictions, startsAt, endsAt }: ContractTerms): string | undefined => {
  if (name.trim() === '' || name.length > 255) return 'name must have 1 to 255 characters.'
  if (!termWord.test(product)) return 'product must be lower-case letters, digits, - and ., at most 64.'
  if (features.length === 0 || features.length > maxFeatures || features.some((feature) => !termWord.test(feature)))
    return `features must name 1 to ${maxFeatures} features of lower-case letters, digits, - and ., at most 64 each.`
  if (Number.isNaN(startsAt.getTime()) || Number.isNaN(endsAt.getTime()) || endsAt.getTime() > latestEnd) return 'start and end must be instants before the year 9999.'
  if (endsAt.getTime() <= startsAt.getTime()) return 'end must be later than start.'
  return quotaFault(quota) ?? restrictionsFault(restrictions)
}

const defaults: ContractTerms = {
  name: '',
  product: '',
  features: [],
  emails: noEmails,
  quota: noQuota,
  startsAt: new Date(Number.NaN),
  endsAt: new Date(Number.NaN),
  allowsOffline: false,
  bindsNewClusters: false,
  disablesAnalytics: false,
  enablesClientBilling: false,
  restrictions: '',
}

/** Returns only the terms of a contract. */
export const termsOf = (contract: ContractTerms): ContractTerms => {
  const { name, product, features, emails, quota, startsAt, endsAt, allowsOffline, bindsNewClusters, disablesAnalytics, enablesClientBilling, restrictions } = contract
  return { name, product, features, emails, quota, startsAt, endsAt, allowsOffline, bindsNewClusters, disablesAnalytics, enablesClientBilling, restrictions }
}

/** Returns the terms of a new contract, or of a contract after a change. Features are sorted and each is named once. */
export const parseTerms = (draft: ContractDraft, contract: Contract | undefined): Either<Invalid, ContractTerms> => {
  const known = contract === undefined ? defaults : termsOf(contract)
  const emails = parseEmails(draft.emails ?? {}, known.emails)
  if (isLeft(emails)) return emails
  const merged: ContractTerms = { ...known, ...draft, emails: emails.right, quota: { ...known.quota, ...draft.quota } }
  const terms = { ...merged, name: merged.name.trim(), features: [...new Set(merged.features)].sort() }
  const wrong = fault(terms)
  return wrong === undefined ? right(terms) : left(ContractRequestInvalid(wrong))
}
