import type { Either } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type { NewAccessToken } from './types.ts'

/** Name, scopes or expiry of a token are none that it could have. */
export const ConfinedTokenRefused = defineFailure('ConfinedTokenRefused', 'Unprocessable')
/** The token would do more, or live longer, than the one that makes it. */
export const ConfinedTokenExceeds = defineFailure('ConfinedTokenExceeds', 'Forbidden')

export interface ConfinedTokenInput {
  readonly name: string
  /** Absent: everything that such a token may have. */
  readonly scopes: readonly string[] | undefined
  /** Absent: never, or as long as the token that makes it. */
  readonly expiresAt: Date | undefined
}

/** Access tokens of accounts that are no persons: confined to one organization, without power over the account itself. */
export interface ConfinedTokens {
  /** Judges what is asked for and makes the row to insert and the value, which nobody learns again. */
  prepare(
    maker: Principal,
    owner: { readonly userId: UserId; readonly onlyOrgId: OrgId },
    input: ConfinedTokenInput,
  ): Either<Failure<'ConfinedTokenRefused'> | Failure<'ConfinedTokenExceeds'>, { readonly row: NewAccessToken; readonly value: Secret }>
}
export const ConfinedTokensToken = token<ConfinedTokens>('identity.ConfinedTokens')
