import type { Failure } from './failure.ts'
import { defineFailure } from './failure.ts'
import { dayMilliseconds } from './instant.ts'
import type { Principal } from './principal.ts'

/** The organization lets nobody in without a second factor, and the caller has none. */
export const SecondFactorDemanded = defineFailure('SecondFactorDemanded', 'Forbidden')
/** The organization takes no token that lives as long as this one. */
export const TokenLifeTooLong = defineFailure('TokenLifeTooLong', 'Forbidden')

/** What an organization demands of a member beyond rights, and how the member stands to it. */
export interface EntryRules {
  /** From then on a second factor is needed; undefined when none ever is. */
  readonly secondFactorFrom: Date | undefined
  /** The member has a second factor, or is an account that can have none. */
  readonly hasSecondFactor: boolean
  /** 0: tokens may live for ever. */
  readonly maxTokenLifeDays: number
}

export type EntryRefusal = Failure<'SecondFactorDemanded'> | Failure<'TokenLifeTooLong'>

/** Why the member is not let into the organization now; undefined when nothing is in the way. */
export const entryRefusal = (principal: Principal, rules: EntryRules | undefined, now: Date): EntryRefusal | undefined => {
  if (rules === undefined) return undefined
  if (rules.secondFactorFrom !== undefined && !rules.hasSecondFactor && rules.secondFactorFrom.getTime() <= now.getTime()) {
    return SecondFactorDemanded(
      'This organization asks its members for a second factor. Enrol one for your account at /user/settings/security/twofa/enroll, then try again.',
    )
  }
  return livesTooLong(principal, rules.maxTokenLifeDays)
    ? TokenLifeTooLong(`This organization takes only tokens that live no longer than ${rules.maxTokenLifeDays} days. Make one that expires sooner.`)
    : undefined
}

const livesTooLong = (principal: Principal, maxDays: number): boolean => maxDays !== 0 && tokenLifeDays(principal) > maxDays

/** Longer than any organization allows, and still an integer of 32 bits. */
const forEver = 2 ** 31 - 1

/**
 * How long the caller's token lives, from its making to its end; 0 for a caller without a token. Whole days count: a
 * clock that is a little ahead when a token is made does no harm.
 */
const tokenLifeDays = ({ method, tokenCreatedAt, tokenExpiresAt }: Principal): number => {
  if (method !== 'token') return 0
  if (tokenCreatedAt === undefined || tokenExpiresAt === undefined) return forEver
  return Math.min(forEver, Math.floor((tokenExpiresAt.getTime() - tokenCreatedAt.getTime()) / dayMilliseconds))
}

/** What a list over organizations needs to leave out those that would not let the caller in. */
export interface Entrant {
  readonly at: Date
  readonly tokenLifeDays: number
}

const longAgo = new Date(0)

/** The caller as such a list sees them; for a site admin no demand has begun yet and no token is too old. */
export const entrantOf = (principal: Principal, now: Date): Entrant =>
  principal.isSiteAdmin ? { at: longAgo, tokenLifeDays: 0 } : { at: now, tokenLifeDays: tokenLifeDays(principal) }
