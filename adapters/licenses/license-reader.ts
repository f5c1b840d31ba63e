import { webcrypto, X509Certificate } from 'node:crypto'
import type { ReadLicense } from '../../core/contracts/types.ts'

const clientAuth = '1.3.6.1.5.5.7.3.2'
const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

const revocationBlock = /-----BEGIN (X509 )?CRL-----[\s\S]+?-----END (X509 )?CRL-----/g

/** Returns the certificates of a PEM text. */
export const certificatesIn = (pem: string): readonly X509Certificate[] => (pem.match(pemBlock) ?? []).map((block) => new X509Certificate(block))

const serialOf = (certificate: X509Certificate): string => BigInt(`0x${certificate.serialNumber}`).toString()

/** `toLegacyObject` gives the values as they are in the certificate, without the escapes of the text form. */
const subjectOf = (certificate: X509Certificate): Readonly<Record<string, string | readonly string[]>> =>
  certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | readonly string[]>>

const valuesOf = (value: string | readonly string[] | undefined): readonly string[] => (value === undefined ? [] : [value].flat())

const flagsIn = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(texts.flatMap((text) => (text.includes('=') ? [[text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]] : [])))

/** The wildcard of another organization than the one of the authority matches nothing. */
const isForCluster = (certificate: X509Certificate, authority: X509Certificate | undefined, clusterUid: string): boolean => {
  const name = valuesOf(subjectOf(certificate)['CN'])[0] ?? ''
  if (!name.startsWith('*.')) return certificate.checkHost(clusterUid.toLowerCase(), { subject: 'never', wildcards: false }) !== undefined
  return authority !== undefined && valuesOf(subjectOf(authority)['O']).includes(name.slice(2))
}

/** Reads a license and checks it against authorities and a cluster. Throws if the text has no certificate. */
export const readLicense = (pem: string, authorities: readonly X509Certificate[], clusterUid: string | undefined): ReadLicense => {
  const [certificate] = certificatesIn(pem)
  if (certificate === undefined) throw new Error('The text has no certificate in PEM.')
  const subject = subjectOf(certificate)
  const [authority] = authorities
    .filter((each) => each.ca && certificate.checkIssued(each) && certificate.verify(each.publicKey))
    .sort((a, b) => Date.parse(b.validTo) - Date.parse(a.validTo))
  return {
    serial: serialOf(certificate),
    clusterUid: valuesOf(subject['CN'])[0] ?? '',
    features: valuesOf(subject['O']),
    plan: valuesOf(subject['OU'])[0] ?? '',
    flags: flagsIn(valuesOf(subject['L'])),
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
    isTrusted: authority !== undefined,
    authorityEnd: authority === undefined ? undefined : new Date(authority.validTo),
    isForClients: certificate.keyUsage?.includes(clientAuth) === true,
    matchesCluster: clusterUid === undefined ? undefined : isForCluster(certificate, authority, clusterUid),
  }
}

/**
 * Returns the serials of the revocation lists in a text, in decimal digits. A list that none of the authorities signed is left out.
 * Throws if no list remains, or if one has expired. The library is loaded only here, since loading it takes time.
 */
export const revokedIn = async (pem: string, authorities: readonly X509Certificate[], now: Date): Promise<ReadonlySet<string>> => {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto)
  const lists = (pem.match(revocationBlock) ?? []).map((block) => new x509.X509Crl(block))
  const signed = []
  for (const list of lists)
    for (const authority of authorities)
      if (await list.verify({ publicKey: new x509.X509Certificate(authority.raw).publicKey })) {
        signed.push(list)
        break
      }
  if (signed.length === 0) throw new Error('The revocation list is not signed by a known authority.')
  const expired = signed.find(({ nextUpdate }) => nextUpdate !== undefined && nextUpdate.getTime() < now.getTime())
  if (expired !== undefined) throw new Error(`The revocation list expired at ${expired.nextUpdate?.toISOString() ?? ''}. Fetch a new one.`)
  return new Set(signed.flatMap(({ entries }) => entries.map(({ serialNumber }) => BigInt(`0x${serialNumber}`).toString())))
}
