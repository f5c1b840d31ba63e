import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { accountNameKey, parseAccountName } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Allowances } from './allowance-ports.ts'
import { parseEmailAddress } from './email-address.ts'
import type { DomainNames, IdentityStores } from './ports.ts'
import { emailDomainRefused, isDomainAllowed } from './site-rules.ts'

/** What a form is told about a name or address before it is sent. */
export interface Verdict {
  readonly status: 'VALID' | 'USER_EXISTS' | 'RESERVED' | 'INVALID' | 'NOT_ALLOWED'
  readonly message: string
}

const valid: Verdict = { status: 'VALID', message: '' }

/** Judges the name of a new account, or of one that is `current` now: its own name in another spelling is fine. */
export const makeValidateName =
  (stores: IdentityStores) =>
  async (name: string, current?: string): Promise<Verdict> => {
    const parsed = parseAccountName(name)
    if (isLeft(parsed)) return { status: parsed.left.reason, message: parsed.left.message }
    if (current !== undefined && accountNameKey(current) === accountNameKey(name)) return valid
    const kind = await stores.users.kindOfName(name)
    return kind === undefined ? valid : { status: 'USER_EXISTS', message: 'Another user or organization has this name.' }
  }

/** So many addresses were asked about already. */
export const TooManyAddressChecks = defineFailure('TooManyAddressChecks', 'Backoff')

export interface ValidateEmailDeps {
  readonly stores: IdentityStores
  readonly domains: DomainNames
  readonly allowances: Allowances
}

/** Judges an e-mail address. Whether an account has it is told so often only, to the user and to the user's network. */
export const makeValidateEmail =
  (deps: ValidateEmailDeps) =>
  async ({ principal, sourceIp }: SignedInCall, text: string): Outcome<Failure<'TooManyAddressChecks'>, Verdict> => {
    const email = parseEmailAddress(text, deps.domains)
    if (isLeft(email)) return right({ status: 'INVALID', message: email.left.message })
    const rules = await deps.stores.siteRules.read()
    if (!isDomainAllowed(rules, email.right)) return right({ status: 'NOT_ALLOWED', message: emailDomainRefused(rules).message })
    const retryAfterSeconds =
      (await deps.allowances.take('address-check', String(principal.impersonator?.userId ?? principal.userId))) ??
      (await deps.allowances.take('address-check-network', sourceIp))
    if (retryAfterSeconds !== undefined) return left(TooManyAddressChecks('You asked about many addresses; wait before the next one.', { retryAfterSeconds }))
    const isTaken = await deps.stores.emails.isTaken(email.right.key)
    return right(isTaken ? { status: 'USER_EXISTS', message: 'This e-mail address is in use.' } : valid)
  }
