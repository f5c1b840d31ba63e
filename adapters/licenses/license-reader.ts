import { webcrypto, X509Certificate } from 'node:crypto'
import type { ReadLicense } from '../../core/contracts/license-verification.ts'

const clientAuth = '1.3.6.1.5.5.7.3.2'
const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Returns the certificates of a PEM text. */
export const certificatesIn = (pem: string): readonly X509Certificate[] => (pem.match(pemBlock) ?? []).map((block) => new X509Certificate(block))

const serialOf = (certificate: X509Certificate): string => BigInt(`0x${certificate.serialNumber}`).toString()

/** `toLegacyObject` gives the values as they are in the certificate, without the escapes of the text form. */
const subjectOf = (certificate: X509Certificate): Readonly<Record<string, string | readonly string[]>> =>
  certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | readonly string[]>>

const valuesOf = (value: string | readonly string[] | undefined): readonly string[] => (value === undefined ? [] : [value].flat())

const flagsIn = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(texts.flatMap((text) => (text.includes('=') ? [[text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]] : [])))

/** Reads a license and checks it against authorities and a cluster. Throws if the text has no certificate. */
export const readLicense = (pem: string, authorities: readonly X509Certificate[], clusterUid: string | undefined): ReadLicense => {
  const [certificate] = certificatesIn(pem)
  if (certificate === undefined) throw new Error('The text has no certificate in PEM.')
  const subject = subjectOf(certificate)
  const isTrusted = authorities.some((authority) => authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey))
  return {
    serial: serialOf(certificate),
    clusterUid: valuesOf(subject['CN'])[0] ?? '',
    features: valuesOf(subject['O']),
    plan: valuesOf(subject['OU'])[0] ?? '',
    flags: flagsIn(valuesOf(subject['L'])),
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
    isTrusted,
    isForClients: certificate.keyUsage?.includes(clientAuth) === true,
    matchesCluster: clusterUid === undefined ? undefined : certificate.checkHost(clusterUid.toLowerCase()) !== undefined,
  }
}

/**
 * Returns the serials of a revocation list, in decimal digits. Throws if no authority signed it, or if it is not one. The library is
 * loaded only here, since loading it takes time.
 */
export const revokedIn = async (pem: string, authorities: readonly X509Certificate[]): Promise<ReadonlySet<string>> => {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto)
  const list = new x509.X509Crl(pem)
  for (const authority of authorities)
    if (await list.verify({ publicKey: new x509.X509Certificate(authority.raw).publicKey })) return new Set(list.entries.map(({ serialNumber }) => BigInt(`0x${serialNumber}`).toString()))
  throw new Error('The revocation list is not signed by a known authority.')
}
