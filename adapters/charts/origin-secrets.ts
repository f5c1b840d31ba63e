import type { RepositoryCredentials } from '../../core/chart-repositories/types.ts'
import type { OriginSecrets } from '../outbound/guarded-fetch.ts'

const basic = (username: string, password: string): string => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** What TLS needs. */
export const tlsSecrets = ({ authorityPem, certificatePem, keyPem }: RepositoryCredentials): OriginSecrets => ({
  ...(authorityPem === undefined ? {} : { authorityPem }),
  ...(certificatePem === undefined || keyPem === undefined ? {} : { certificatePem, keyPem: keyPem.reveal() }),
})

/** The header by which a user is known, or undefined. */
export const authorizationOf = ({ username, password, token }: RepositoryCredentials): string | undefined => {
  if (token !== undefined) return `Bearer ${token.reveal()}`
  return username === undefined ? undefined : basic(username, password?.reveal() ?? '')
}

export const originSecrets = (credentials: RepositoryCredentials): OriginSecrets => {
  const authorization = authorizationOf(credentials)
  return { ...tlsSecrets(credentials), ...(authorization === undefined ? {} : { authorization }) }
}
