import { createHmac } from 'node:crypto'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { RateLimiterRes } from 'rate-limiter-flexible'
import type { AllowanceKind, Allowances, AttemptCounters } from '../../core/identity/authentication/ports.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { Limit } from './shared-limiter.ts'
import { makeSharedLimiter, networkOf } from './shared-limiter.ts'

/** The kinds counted by the network of an IP address. The others are counted by their subject. */
const byNetwork: ReadonlySet<AllowanceKind> = new Set(['sign-up', 'password-reset', 'address-check-network'])

/** The numbers of docs/decisions/registration.md, mail.md and invitations.md. */
export const allowanceLimits: Readonly<Record<AllowanceKind, Limit>> = {
  'sign-up': { points: 10, seconds: 3600 },
  'sign-up-notice': { points: 3, seconds: 24 * 3600 },
  'password-reset': { points: 30, seconds: 3600 },
  invitation: { points: 200, seconds: 24 * 3600 },
  'invitation-address': { points: 5, seconds: 24 * 3600 },
  'invitation-mailbox': { points: 20, seconds: 24 * 3600 },
  'email-confirmation': { points: 40, seconds: 24 * 3600 },
  'address-check': { points: 30, seconds: 3600 },
  'address-check-network': { points: 120, seconds: 3600 },
}

export interface AllowancesDeps {
  readonly counters: AttemptCounters
  /** 32 bytes. Keys are digests, so the shared store receives no addresses. */
  readonly key: Secret<Uint8Array>
  readonly log: Log
}

/** The allowances of each network, on shared counters. */
export const makeAllowances = ({ counters, key, log }: AllowancesDeps): Allowances => {
  const onStoreAway = (error: unknown): void =>
    log.error({ reason: error instanceof Error ? error.message : 'unknown' }, 'What an address may ask for is counted in this process only: the store does not answer')
  const limiters: Readonly<Record<AllowanceKind, RateLimiterAbstract>> = {
    'sign-up': makeSharedLimiter(counters, onStoreAway, allowanceLimits['sign-up']),
    'sign-up-notice': makeSharedLimiter(counters, onStoreAway, allowanceLimits['sign-up-notice']),
    'password-reset': makeSharedLimiter(counters, onStoreAway, allowanceLimits['password-reset']),
    invitation: makeSharedLimiter(counters, onStoreAway, allowanceLimits.invitation),
    'invitation-address': makeSharedLimiter(counters, onStoreAway, allowanceLimits['invitation-address']),
    'invitation-mailbox': makeSharedLimiter(counters, onStoreAway, allowanceLimits['invitation-mailbox']),
    'email-confirmation': makeSharedLimiter(counters, onStoreAway, allowanceLimits['email-confirmation']),
    'address-check': makeSharedLimiter(counters, onStoreAway, allowanceLimits['address-check']),
    'address-check-network': makeSharedLimiter(counters, onStoreAway, allowanceLimits['address-check-network']),
  }
  return {
    async take(kind, subject) {
      const of = byNetwork.has(kind) ? networkOf(subject) : subject
      const place = createHmac('sha256', key.reveal()).update(JSON.stringify(['allowance', kind, of])).digest('hex')
      try {
        await limiters[kind].consume(place)
        return undefined
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return Math.max(1, Math.ceil(refused.msBeforeNext / 1000))
        throw refused
      }
    },
  }
}
