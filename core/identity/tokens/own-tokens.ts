import { left, right } from 'fp-ts/lib/Either.js'
import { parseInstant } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import type { AccessTokenRecord } from '../types.ts'
import type { CreatedToken, CreateTokenDeps, CreateTokenFailure, CreateTokenInput } from './access-tokens.ts'
import { makeCreateToken, makeDeleteNamedToken, TokenExpiryInvalid } from './access-tokens.ts'

/** The request names a user other than the caller, whose tokens alone are accessible. */
export const NotYourTokens = defineFailure(
  'NotYourTokens',
  'Forbidden',
  'Only the own access tokens can be listed, created and deleted here.',
)

const refusal = ({ principal }: SignedInCall<never>, login: string): Failure<'NotYourTokens'> | undefined =>
  login.toLowerCase() === principal.login.toLowerCase()
    ? undefined
    : NotYourTokens('Only your own access tokens can be listed, created and deleted here.')

export interface ListOwnTokensInput {
  /** The name of the caller. */
  readonly login: string
  readonly page: PageRequest
}

/** Lists the caller's tokens in the order of their creation. */
export const makeListOwnTokens =
  ({ stores }: { readonly stores: Pick<IdentityStores, 'tokens'> }) =>
  async (
    call: SignedInCall,
    { login, page }: ListOwnTokensInput,
  ): Outcome<Failure<'NotYourTokens'>, Page<AccessTokenRecord>> => {
    const refused = refusal(call, login)
    return refused === undefined ? right(await stores.tokens.list(call.principal.userId, page)) : left(refused)
  }

type OwnTokenInput = Omit<CreateTokenInput, 'owner' | 'expiresAt'>

export interface CreateOwnTokenInput extends OwnTokenInput {
  /** The name of the caller. */
  readonly login: string
  /** An RFC 3339 instant. Absent: never expires. */
  readonly expiresAt: string | undefined
}

/** Creates a token for the caller, who names the own account. See `makeCreateToken`. */
export const makeCreateOwnToken = (deps: CreateTokenDeps) => {
  const create = makeCreateToken(deps)
  return async (
    call: SignedInCall<CreatedToken>,
    { login, expiresAt: text, ...input }: CreateOwnTokenInput,
  ): Outcome<CreateTokenFailure | Failure<'NotYourTokens'>, CreatedToken> => {
    const refused = refusal(call, login)
    if (refused !== undefined) return left(refused)
    const expiresAt = text === undefined ? undefined : parseInstant(text)
    if (text !== undefined && expiresAt === undefined)
      return left(TokenExpiryInvalid('expires_at: must be an RFC 3339 date-time.'))
    return create(call, { ...input, owner: call.principal, expiresAt })
  }
}

/** The last instant that a Date can represent, in Unix seconds. */
const maxUnixSeconds = 8_640_000_000_000

export interface CreateTokenUntilInput extends OwnTokenInput {
  /** The expiry in Unix seconds; 0 means never. */
  readonly expiresAtSeconds: number
}

/** Creates a token for the caller. See `makeCreateToken`. */
export const makeCreateTokenUntil = (deps: CreateTokenDeps) => {
  const create = makeCreateToken(deps)
  return async (
    call: SignedInCall<CreatedToken>,
    { expiresAtSeconds: seconds, ...input }: CreateTokenUntilInput,
  ): Outcome<CreateTokenFailure, CreatedToken> => {
    if (seconds < 0 || seconds > maxUnixSeconds)
      return left(TokenExpiryInvalid('expTime: must be a time in Unix seconds.'))
    return create(call, {
      ...input,
      owner: call.principal,
      expiresAt: seconds === 0 ? undefined : new Date(seconds * 1000),
    })
  }
}

export interface DeleteOwnTokenInput {
  /** The name of the caller. */
  readonly login: string
  readonly idOrName: string
}

/** Deletes one token of the caller, who names the own account. See `makeDeleteNamedToken`. */
export const makeDeleteOwnToken = (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) => {
  const remove = makeDeleteNamedToken(deps)
  return async (
    call: SignedInCall,
    { login, idOrName }: DeleteOwnTokenInput,
  ): Outcome<Failure<'NotYourTokens' | 'AccessTokenMissing'>, void> => {
    const refused = refusal(call, login)
    return refused === undefined ? remove(call, idOrName) : left(refused)
  }
}
