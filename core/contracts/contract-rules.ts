import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { isObject, listAt, parseJson, pickFields, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { portKey } from '../kernel/port-key.ts'
import { ContractRequestInvalid } from './ports.ts'
import type {
  Contract,
  ContractDetails,
  ContractEmailList,
  ContractEmails,
  ContractQuota,
  ContractState,
  ContractTerms,
  DatedTerms,
} from './types.ts'
import { emailLists, newDetails, newTerms } from './types.ts'

/**
 * Returns the state at an instant. A contract is in force from its start to just before its end, unless it was revoked.
 */
export const stateOf = (
  { startsAt, endsAt, revokedAt }: Pick<Contract, 'startsAt' | 'endsAt' | 'revokedAt'>,
  now: Date,
): ContractState => {
  if (revokedAt !== undefined) return 'revoked'
  if (now.getTime() < startsAt.getTime()) return 'scheduled'
  return now.getTime() < endsAt.getTime() ? 'active' : 'expired'
}

export const isActive = (contract: Pick<Contract, 'startsAt' | 'endsAt' | 'revokedAt'>, now: Date): boolean =>
  stateOf(contract, now) === 'active'

/** Maximum number of clusters or contracts in one request. */
export const maxBindings = 1000

/** Returns a cluster's UID in lower case. It must be a UUID in the form of RFC 4122, of any version. */
export const parseClusterUid = (text: string): Either<Failure<'ContractRequestInvalid'>, string> => {
  const uid = uuidOf(text)
  return uid !== undefined
    ? right(uid)
    : left(ContractRequestInvalid('The UID of a cluster must be a UUID, such as 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11.'))
}

const maxTags = 50
const maxTagLength = 64
const maxNameLength = 128

/**
 * Returns the tags without surrounding space and repetitions, in their order. At most 50 tags of 1 to 64 characters.
 */
export const parseTags = (tags: readonly string[]): Either<Failure<'ContractRequestInvalid'>, readonly string[]> => {
  const parsed = [...new Set(tags.map((tag) => tag.trim()))]
  if (parsed.length > maxTags) return left(ContractRequestInvalid(`A cluster has at most ${maxTags} tags.`))
  if (parsed.some((tag) => tag === '' || tag.length > maxTagLength))
    return left(ContractRequestInvalid(`A tag has 1 to ${maxTagLength} characters.`))
  return right(parsed)
}

/** Returns the display name without surrounding space; it has 1 to 128 characters. */
export const parseDisplayName = (name: string): Either<Failure<'ContractRequestInvalid'>, string> => {
  const parsed = name.trim()
  return parsed === '' || parsed.length > maxNameLength
    ? left(ContractRequestInvalid(`The name of a cluster has 1 to ${maxNameLength} characters.`))
    : right(parsed)
}

const maxRecipients = 50
const maxAddressLength = 254
// No control character, and none that shows a text in another order than it has.
const address = /^[^\s\p{Cc}\p{Cf}@<>(),;:"\\[\]]{1,64}@[^\s\p{Cc}\p{Cf}@<>(),;:"\\[\]]{1,189}$/u

/** Returns mail addresses without surrounding space and repetitions, the domains in lower case. At most 50. */
export const parseRecipients = (
  addresses: readonly string[],
): Either<Failure<'ContractRequestInvalid'>, readonly string[]> => {
  const trimmed = addresses.map((each) => each.trim())
  const invalid = trimmed.filter((each) => each.length > maxAddressLength || !address.test(each))
  if (invalid.length > 0)
    return left(
      ContractRequestInvalid('These are not mail addresses.', {
        errors: invalid.map((each) => each.slice(0, maxAddressLength)),
      }),
    )
  const parsed = [...new Set(trimmed.map(withLowerDomain))]
  return parsed.length > maxRecipients
    ? left(ContractRequestInvalid(`A contract has at most ${maxRecipients} recipients of one kind.`))
    : right(parsed)
}

const withLowerDomain = (text: string): string => {
  const at = text.lastIndexOf('@')
  return text.slice(0, at) + text.slice(at).toLowerCase()
}

/** A product and features that the contracts of one cluster license more than once. */
export interface DuplicateFeatures {
  readonly contract: Pick<Contract, 'id' | 'product'>
  readonly features: readonly string[]
}

/** Returns the features of a contract that other contracts of the same product license too, by contract. */
export const duplicateFeatures = (
  contract: Pick<Contract, 'id' | 'product' | 'features'>,
  others: readonly Pick<Contract, 'id' | 'product' | 'features'>[],
): readonly DuplicateFeatures[] =>
  others
    .filter(({ id, product }) => id !== contract.id && product === contract.product)
    .map((other) => ({
      contract: { id: other.id, product: other.product },
      features: other.features.filter((feature) => contract.features.includes(feature)),
    }))
    .filter(({ features }) => features.length > 0)

/** Terms as a request has them. What is absent does not change, or gets its default in a new contract. */
export interface ContractDraft extends Partial<Omit<ContractTerms, 'emails' | 'quota'>> {
  readonly emails?: Partial<ContractEmails>
  readonly quota?: Partial<ContractQuota>
}

type Invalid = Failure<'ContractRequestInvalid'>

/** The values that a feature or product name can have inside a certificate and a URL. */
const termWord = /^[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const maxFeatures = 100
const maxRestrictions = 4000
const maxThresholds = 10
const mostTrials = 1_000_000
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
  if (
    alertThresholds.length > maxThresholds ||
    alertThresholds.some((percent) => !Number.isInteger(percent) || percent < 1 || percent > 1000)
  )
    return `quota.alertThresholds has at most ${maxThresholds} integers from 1 to 1000.`
  return undefined
}

/** Longer than any authority, and far from the last instant that a certificate can name. */
const maxOfflineDays = 36_500
const isOfflineDays = (days: Json | undefined): days is number =>
  typeof days === 'number' && days >= 1 && days <= maxOfflineDays

const offlineDaysIn = (restrictions: string): Json | undefined => {
  const parsed = restrictions === '' ? undefined : parseJson(restrictions)
  return parsed?.ok === true && isObject(parsed.value) ? parsed.value['offlineTtlDays'] : undefined
}

/** Returns for how many days an offline license is valid; undefined: until the end of the contract. */
export const offlineDaysOf = (restrictions: string): number | undefined => {
  const days = offlineDaysIn(restrictions)
  return isOfflineDays(days) ? days : undefined
}

/** Days that cannot be read would not bound the licenses, although the vendor wanted that. */
const offlineDaysFault = (restrictions: string): string | undefined => {
  const days = offlineDaysIn(restrictions) ?? undefined
  return days === undefined || isOfflineDays(days)
    ? undefined
    : `offlineTtlDays of restrictions must be a number from 1 to ${maxOfflineDays}.`
}

const restrictionsFault = (restrictions: string): string | undefined => {
  if (restrictions === '') return undefined
  if (restrictions.length > maxRestrictions) return `restrictions has at most ${maxRestrictions} characters.`
  const parsed = parseJson(restrictions)
  return parsed.ok && isObject(parsed.value) ? undefined : 'restrictions must be the text of a JSON object.'
}

/** Returns what is wrong with dated terms. */
export const termsFault = ({
  product,
  features,
  quota,
  restrictions,
  startsAt,
  endsAt,
  maxTrials,
}: DatedTerms): string | undefined => {
  if (!termWord.test(product)) return 'product must be lower-case letters, digits, - and ., at most 64.'
  if (features.length === 0 || features.length > maxFeatures || features.some((feature) => !termWord.test(feature)))
    return `features must name 1 to ${maxFeatures} features of lower-case letters, digits, - and ., at most 64 each.`
  if (Number.isNaN(startsAt.getTime()) || Number.isNaN(endsAt.getTime()) || endsAt.getTime() > latestEnd)
    return 'start and end must be instants before the year 9999.'
  if (endsAt.getTime() <= startsAt.getTime()) return 'end must be later than start.'
  if (!Number.isInteger(maxTrials) || maxTrials < 0 || maxTrials > mostTrials)
    return `maxTrials must be an integer from 0 to ${mostTrials}.`
  return quotaFault(quota) ?? restrictionsFault(restrictions)
}

const startFault = (startsAt: Date): string | undefined =>
  startsAt.getTime() < 0 ? 'start must not be negative: it is in seconds since 1970.' : undefined

/** Returns only the dated terms. */
export const datedTermsOf = (terms: DatedTerms): DatedTerms => pickFields(newTerms, terms)

/** Returns only the details. */
export const detailsOf = (details: ContractDetails): ContractDetails => pickFields(newDetails, details)

/** Returns the details of a contract after a change. */
export const parseDetails = (draft: ContractDraft, known: ContractDetails): Either<Invalid, ContractDetails> => {
  const emails = parseEmails(draft.emails ?? {}, known.emails)
  if (isLeft(emails)) return emails
  const details = detailsOf({ ...known, ...draft, emails: emails.right })
  const name = details.name.trim()
  return name === '' || details.name.length > 255
    ? left(ContractRequestInvalid('name must have 1 to 255 characters.'))
    : right({ ...details, name })
}

/** Returns dated terms after a change. Features are sorted and each is named once. */
export const parseDatedTerms = (draft: ContractDraft, known: DatedTerms): Either<Invalid, DatedTerms> => {
  const merged = datedTermsOf({ ...known, ...draft, quota: { ...known.quota, ...draft.quota } })
  const terms = { ...merged, features: [...new Set(merged.features)].sort() }
  // Contracts that were made before these rules can still be changed.
  const wrong =
    termsFault(terms) ??
    (terms.startsAt.getTime() === known.startsAt.getTime() ? undefined : startFault(terms.startsAt)) ??
    (terms.restrictions === known.restrictions ? undefined : offlineDaysFault(terms.restrictions))
  return wrong === undefined ? right(terms) : left(ContractRequestInvalid(wrong))
}

/** Returns the terms of a new contract, or of a contract after a change. */
export const parseTerms = (draft: ContractDraft, contract: Contract | undefined): Either<Invalid, ContractTerms> => {
  const known = contract ?? { ...newTerms, ...newDetails }
  const details = parseDetails(draft, known)
  if (isLeft(details)) return details
  const dated = parseDatedTerms(draft, known)
  return isLeft(dated) ? dated : right({ ...dated.right, ...details.right })
}

/** What a vendor shows about a product that contracts can be made for. */
export interface ProductInfo {
  readonly displayName: string
  readonly productLine: string
  readonly tierName: string
  readonly twitterHandle: string
  readonly quickstartLink: string
  readonly features: readonly string[]
  readonly mailingLists: readonly string[]
}
/** By the name that a contract has. */
export type Products = Readonly<Record<string, ProductInfo>>
export const ProductsPort = portKey<Products>('contracts.Products')

const fields = ['DisplayName', 'ProductLine', 'TierName', 'TwitterHandle', 'QuickstartLink', 'Features', 'MailingLists']
const isTexts = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'))

const productFault = (name: string, info: unknown): string | undefined => {
  if (!termWord.test(name)) return `the product ${name} must be lower-case letters, digits, - and ., at most 64`
  if (!isObject(info)) return `the product ${name} must be an object`
  const unknown = Object.keys(info).find((key) => !fields.includes(key))
  if (unknown !== undefined) return `the product ${name} has the unknown field ${unknown}`
  const { Features: features, MailingLists: lists, ...texts } = info
  if (Object.values(texts).some((value) => typeof value !== 'string'))
    return `the fields of the product ${name} must be texts`
  if (!isTexts(features) || !isTexts(lists))
    return `Features and MailingLists of the product ${name} must be lists of texts`
  const wrong = listAt(info, 'Features').find((feature) => !termWord.test(String(feature)))
  return wrong === undefined
    ? undefined
    : `the feature ${String(wrong)} of the product ${name} must be lower-case letters, digits, - and ., at most 64`
}

/** Parses a JSON object of products by name. The Left says what is wrong. A field that is absent gets its default. */
export const parseProducts = (text: string): Either<string, Products> => {
  const parsed = parseJson(text)
  if (!parsed.ok || !isObject(parsed.value)) return left('it must be a JSON object of products by name')
  const products: Record<string, ProductInfo> = {}
  for (const [name, info] of Object.entries(parsed.value)) {
    const wrong = productFault(name, info)
    if (wrong !== undefined) return left(wrong)
    const text = (key: string, otherwise: string): string => (textAt(info, key) === '' ? otherwise : textAt(info, key))
    products[name] = {
      displayName: text('DisplayName', name),
      productLine: text('ProductLine', name),
      tierName: text('TierName', 'enterprise'),
      twitterHandle: text('TwitterHandle', ''),
      quickstartLink: text('QuickstartLink', ''),
      features: listAt(info, 'Features').map(String),
      mailingLists: listAt(info, 'MailingLists').map(String),
    }
  }
  return right(products)
}

/** Returns the products that the vendor has listed. */
export const makeListProducts =
  ({ products }: { readonly products: Products }) =>
  async (_call: SignedInCall<never>): Outcome<never, Products> =>
    right(products)
