import { createPrivateKey, randomUUID, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { left, right } from 'fp-ts/lib/Either.js'
import { SignJWT } from 'jose'
import { CustomTokensOff, type CustomTokenIssuer } from '../../core/identity/tokens/ports.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { secret } from '../../core/kernel/secret.ts'

/** The parameters for signing. `issuer` and `audience` are the values that the provider is configured to expect. */
export interface CustomTokenOptions {
  readonly keyFile: string | undefined
  readonly issuer: string
  readonly audience: string | undefined
}

export interface SigningKey {
  readonly key: KeyObject
  readonly algorithm: 'RS256' | 'ES256'
}

const leastRsaBits = 2048

/** Reads the key of a PEM file, PKCS#8. Throws an error in plain words, without the file's content. */
export const readSigningKey = (file: string): SigningKey => {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: readFileSync(file, 'utf8'), format: 'pem' })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    throw new Error(
      `MOORAGE_EXTIDP_KEY names ${file}, which ` +
        `${code.startsWith('E') && !code.startsWith('ERR_') ? `cannot be read (${code})` : 'is no private key in PEM form (PKCS#8, not encrypted)'}.`,
      { cause: error },
    )
  }
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= leastRsaBits) return { key, algorithm: 'RS256' }
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return { key, algorithm: 'ES256' }
  throw new Error(
    `MOORAGE_EXTIDP_KEY names ${file}: the key must be RSA of at least ${leastRsaBits} bits, or EC on P-256.`,
  )
}

/** Returns which setting is missing for signing, in plain words, or undefined if none is. */
export const missingForCustomTokens = ({ keyFile, audience }: CustomTokenOptions): string | undefined => {
  if (keyFile === undefined)
    return 'No key is set to sign tokens for the external identity provider with: MOORAGE_EXTIDP_KEY.'
  return audience === undefined
    ? 'It is not set whom tokens for the external identity provider are meant for: MOORAGE_EXTIDP_AUDIENCE.'
    : undefined
}

/** CustomTokenIssuer by JWS, with RS256 or ES256 depending on the kind of key. The file is read for the first token. */
export const makeJoseCustomTokens = (options: CustomTokenOptions): CustomTokenIssuer => {
  let kept: SigningKey | undefined
  return {
    issue: async ({ userId, login, fullName, email }, issuedAt, expiresAt) => {
      const missing = missingForCustomTokens(options)
      if (missing !== undefined || options.keyFile === undefined || options.audience === undefined)
        return left(CustomTokensOff(missing ?? ''))
      try {
        kept ??= readSigningKey(options.keyFile)
      } catch {
        return left(CustomTokensOff('The key of MOORAGE_EXTIDP_KEY cannot be used. `moorage doctor` says why.'))
      }
      const uid = String(userId)
      const signed = await new SignJWT({ uid, claims: { email, login, name: fullName } })
        .setProtectedHeader({ alg: kept.algorithm, typ: 'JWT' })
        .setIssuer(options.issuer)
        .setSubject(uid)
        .setAudience(options.audience)
        .setIssuedAt(unixSeconds(issuedAt))
        .setExpirationTime(unixSeconds(expiresAt))
        .setJti(randomUUID())
        .sign(kept.key)
      return right(secret(signed))
    },
  }
}
