import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { ContractRequestInvalid } from './ports.ts'
import type { Contract, ContractState } from './types.ts'

/** Returns the state at an instant. A contract is in force from its start to just before its end, unless it was revoked. */
export const stateOf = ({ startsAt, endsAt, revokedAt }: Pick<Contract, 'startsAt' | 'endsAt' | 'revokedAt'>, now: Date): ContractState => {
  if (revokedAt !== undefined) return 'revoked'
  if (now.getTime() < startsAt.getTime()) return 'scheduled'
  return now.getTime() < endsAt.getTime() ? 'active' : 'expired'
}

export const isActive = (contract: Pick<Contract, 'startsAt' | 'endsAt' | 'revokedAt'>, now: Date): boolean => stateOf(contract, now) === 'active'

/** Maximum number of clusters or contracts in one request. */
export const maxBindings = 1000

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Returns a cluster's UID in lower case. It must be a UUID in the form of RFC 4122, of any version. */
export const parseClusterUid = (text: string): Either<Failure<'ContractRequestInvalid'>, string> => {
  const uid = text.toLowerCase()
  return uuid.test(uid) ? right(uid) : left(ContractRequestInvalid('The UID of a cluster must be a UUID, such as 7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11.'))
}

const maxTags = 50
const maxTagLength = 64
const maxNameLength = 128

/** Returns the tags without surrounding space and repetitions, in their order. At most 50 tags of 1 to 64 characters. */
export const parseTags = (tags: readonly string[]): Either<Failure<'ContractRequestInvalid'>, readonly string[]> => {
  const parsed = [...new Set(tags.map((tag) => tag.trim()))]
  if (parsed.length > maxTags) return left(ContractRequestInvalid(`A cluster has at most ${maxTags} tags.`))
  if (parsed.some((tag) => tag === '' || tag.length > maxTagLength)) return left(ContractRequestInvalid(`A tag has 1 to ${maxTagLength} characters.`))
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
const address = /^[^\s@<>(),;:"\\[\]]{1,64}@[^\s@<>(),;:"\\[\]]{1,189}$/

/** Returns mail addresses without surrounding space and repetitions, the domains in lower case. At most 50. */
export const parseRecipients = (addresses: readonly string[]): Either<Failure<'ContractRequestInvalid'>, readonly string[]> => {
  const trimmed = addresses.map((each) => each.trim())
  const invalid = trimmed.filter((each) => each.length > maxAddressLength || !address.test(each))
  if (invalid.length > 0) return left(ContractRequestInvalid('These are not mail addresses.', { errors: invalid.map((each) => each.slice(0, maxAddressLength)) }))
  const parsed = [...new Set(trimmed.map(withLowerDomain))]
  return parsed.length > maxRecipients ? left(ContractRequestInvalid(`A contract has at most ${maxRecipients} recipients of one kind.`)) : right(parsed)
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
    .map((other) => ({ contract: { id: other.id, product: other.product }, features: other.features.filter((feature) => contract.features.includes(feature)) }))
    .filter(({ features }) => features.length > 0)
