import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { PemReader } from '../../../core/packages/repositories/ports.ts'
import type { RepositoryCredentials } from '../../../core/packages/repositories/types.ts'
import type { OriginSecrets } from '../../outbound/guarded-fetch.ts'
import { definedFields } from '../../../core/kernel/json.ts'

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** Returns the TLS part of the credentials. */
export const tlsSecrets = ({ authorityPem, certificatePem, keyPem }: RepositoryCredentials): OriginSecrets => ({
  ...definedFields({ authorityPem }),
  ...(certificatePem === undefined || keyPem === undefined ? {} : { certificatePem, keyPem: keyPem.reveal() }),
})

/** Returns the Authorization header, or undefined without a user or token. */
export const authorizationOf = ({ username, password, token }: RepositoryCredentials): string | undefined => {
  if (token !== undefined) return `Bearer ${token.reveal()}`
  return username === undefined ? undefined : basic(username, password?.reveal() ?? '')
}

export const originSecrets = (credentials: RepositoryCredentials): OriginSecrets => {
  const authorization = authorizationOf(credentials)
  return { ...tlsSecrets(credentials), ...definedFields({ authorization }) }
}

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g
/** Signing with a larger key would block the event loop. */
const maxRsaBits = 8192

const isReadable = (read: () => boolean): boolean => {
  try {
    return read()
  } catch {
    return false
  }
}

/** PemReader over Node's crypto. */
export const nodePemReader: PemReader = {
  isCertificates: (text) => {
    const found = text.match(block) ?? []
    return (
      found.length > 0 &&
      found.length <= 64 &&
      isReadable(() => found.every((pem) => new X509Certificate(pem).serialNumber !== ''))
    )
  },
  isPair: (certificatePem, keyPem) =>
    isReadable(() => {
      const key = createPrivateKey(keyPem)
      return (
        (key.asymmetricKeyDetails?.modulusLength ?? 0) <= maxRsaBits &&
        new X509Certificate(certificatePem).checkPrivateKey(key)
      )
    }),
}
