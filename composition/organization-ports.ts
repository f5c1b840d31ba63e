import { isLeft } from 'fp-ts/lib/Either.js'
import { randomBase62 } from '../core/identity/access-token.ts'
import { parseEmailAddress } from '../core/identity/email-address.ts'
import type { DomainNames, TokenDigest } from '../core/identity/ports.ts'
import type { Entropy } from '../core/kernel/entropy.ts'
import { secret } from '../core/kernel/secret.ts'
import type { AddressReader, InvitationTokens } from '../core/organizations/invitation-ports.ts'

/** More than 190 random bits. */
const tokenLength = 32

/** Identity's rules for addresses, as organizations need them. */
export const addressReader = (domains: DomainNames): AddressReader => ({
  read: (text) => {
    const address = parseEmailAddress(text, domains)
    return isLeft(address) ? undefined : address.right
  },
})

/** Identity's way of making and hashing random secrets, as organizations need it. */
export const invitationTokens = (entropy: Entropy, digest: TokenDigest): InvitationTokens => ({
  make: () => secret(randomBase62(entropy, tokenLength)),
  digest: (value) => digest.digest(value),
})
