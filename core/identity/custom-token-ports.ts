import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'

/** Nobody gave this deployment a key to sign with, or it cannot be used. The message names the setting. */
export const CustomTokensOff = defineFailure('CustomTokensOff', 'Unavailable')

/** What an external identity provider is told about a user. */
export interface CustomTokenSubject {
  readonly userId: UserId
  readonly login: string
  readonly fullName: string
  readonly email: string
}

/** Signs short-lived tokens with which a user signs in at an external identity provider that trusts this deployment. */
export interface CustomTokenIssuer {
  issue(subject: CustomTokenSubject, issuedAt: Date, expiresAt: Date): Outcome<Failure<'CustomTokensOff'>, Secret>
}
export const CustomTokenIssuerToken = token<CustomTokenIssuer>('identity.CustomTokenIssuer')
