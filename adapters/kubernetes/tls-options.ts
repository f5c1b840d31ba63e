import type { LookupFunction } from 'node:net'
import type { ClusterCredential } from '../../core/clusters/types.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'

export interface TlsOptions {
  readonly lookup: LookupFunction
  readonly rejectUnauthorized: true
  readonly minVersion: 'TLSv1.2'
  readonly ca?: string
  readonly servername?: string
  readonly cert?: string
  readonly key?: string
}

/** TLS as the credential wants it, to an address that the policy lets through. Verification is always on. */
export const tlsOptions = (credential: ClusterCredential, egress: EgressPolicy): TlsOptions => ({
  lookup: egress.lookup,
  rejectUnauthorized: true,
  minVersion: 'TLSv1.2',
  ...(credential.authorityPem === undefined ? {} : { ca: credential.authorityPem }),
  ...(credential.tlsServerName === undefined ? {} : { servername: credential.tlsServerName }),
  ...(credential.identity.kind === 'certificate'
    ? { cert: credential.identity.certificatePem, key: credential.identity.keyPem.reveal() }
    : {}),
})

/** The header that proves who we are, where the certificate does not. */
export const authorization = (credential: ClusterCredential): readonly (readonly [string, string])[] =>
  credential.identity.kind === 'token' ? [['authorization', `Bearer ${credential.identity.token.reveal()}`]] : []
