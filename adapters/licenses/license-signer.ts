import { createHash, createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type { LicenseContent, LicenseSigner } from '../../core/contracts/ports.ts'
import type { ReadLicense, ReadRevocations } from '../../core/contracts/types.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeAccountLimiter } from '../outbound/account-limiter.ts'
import type { ReadingBudgets } from '../outbound/reading-budgets.ts'
import { programUrl } from '../system/processes.ts'
import { makeThreads } from '../system/threads.ts'
import type { SigningTask } from './signing-thread.ts'
import { toWireJson } from '../../core/kernel/json.ts'

const program = programUrl('./signing-thread', import.meta.url)

/** The oldest key that verifiers still take. */
const leastRsaBits = 2048
const curves = ['prime256v1', 'secp384r1']

const keyFault = (certificate: X509Certificate, keyPem: string): string | undefined => {
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) < leastRsaBits)
    return `The RSA key of the authority has fewer than ${leastRsaBits} bits.`
  if (!['rsa', 'ec', 'ed25519'].includes(asymmetricKeyType ?? ''))
    return 'The key of the authority must be RSA, ECDSA or Ed25519.'
  if (asymmetricKeyType === 'ec' && !curves.includes(asymmetricKeyDetails?.namedCurve ?? ''))
    return 'The curve of the authority must be P-256 or P-384.'
  if (!keyPem.trimStart().startsWith('-----BEGIN PRIVATE KEY-----'))
    return 'The key of the authority must be PKCS#8 in PEM, without a password.'
  return certificate.checkPrivateKey(createPrivateKey(keyPem))
    ? undefined
    : 'The certificate and the key do not belong together.'
}

const authorityFault = (certificatePem: string, keyPem: string, now: Date): string | undefined => {
  try {
    const [certificate, ...more] = certificatesIn(certificatePem)
    if (certificate === undefined || more.length > 0)
      return 'The file of the authority must have exactly one certificate in PEM.'
    if (!certificate.ca) return 'The certificate is not one of a certificate authority.'
    // Verifiers get this certificate alone, and OpenSSL ends a chain only at a self-signed one.
    if (!certificate.checkIssued(certificate) || !certificate.verify(certificate.publicKey))
      return 'The certificate of the authority must be self-signed.'
    if (now.getTime() < Date.parse(certificate.validFrom) || now.getTime() > Date.parse(certificate.validTo))
      return 'The certificate of the authority is outside of its validity.'
    if (!/^O=./m.test(certificate.subject)) return 'The subject of the authority must contain an organization (O).'
    return keyFault(certificate, keyPem)
  } catch {
    return 'The certificate or the key cannot be read.'
  }
}

export interface ThreadedLicenseSigner extends LicenseSigner {
  load(): PoolLoad
  close(): Promise<void>
}

/** One core is left to the event loop. More threads than four sign more licenses than a database stores. */
const signingThreads = Math.min(4, Math.max(1, availableParallelism() - 1))

/** A signature takes milliseconds: who comes next waits for no longer than one. */
const makeSigning = (threads: number) => ({
  threads: makeThreads({ program, threads, idleMilliseconds: 60_000 }),
  limiter: makeAccountLimiter({
    pool: 'licenses',
    inAll: threads,
    perAccount: threads,
    waitingPerAccount: 256,
    waitMilliseconds: 60_000,
  }),
})

const noCaller = { account: () => undefined, signal: () => undefined }

/**
 * Signs licenses on threads of its own, which are started when they are first needed. Revocation lists have another
 * thread, since a long one takes seconds.
 */
export const makeLicenseSigner = ({
  account,
  signal,
}: Pick<ReadingBudgets, 'account' | 'signal'> = noCaller): ThreadedLicenseSigner => {
  const [lists, licenses] = [makeSigning(1), makeSigning(signingThreads)]
  const run = async <A>(task: SigningTask): Promise<A> => {
    const { threads, limiter } = task.kind === 'revocations' ? lists : licenses
    return limiter.run({ account: account(), signal: signal() }, async () => (await threads.run('resultOf', task)) as A)
  }
  return {
    async makeAuthority({ organization, notBefore, notAfter }) {
      const made = await run<{ readonly certificatePem: string; readonly keyPem: string }>({
        kind: 'authority',
        organization,
        notBefore,
        notAfter,
      })
      return { certificatePem: made.certificatePem, key: secret(made.keyPem) }
    },
    faultOf: async ({ certificatePem, key }, now) =>
      authorityFault(certificatePem, key.reveal(), now) ??
      (await run<string | undefined>({ kind: 'usages', certificatePem })),
    organizationOf: (certificatePem) => valuesOf(subjectOf(new X509Certificate(certificatePem))['O'])[0],
    validityOf(certificatePem) {
      const { validFrom, validTo } = new X509Certificate(certificatePem)
      return { notBefore: new Date(validFrom), notAfter: new Date(validTo) }
    },
    sign: ({ certificatePem, key }, content) => run({ kind: 'license', certificatePem, keyPem: key.reveal(), content }),
    signRevocations: ({ certificatePem, key }, revoked, thisUpdate, nextUpdate) =>
      run({ kind: 'revocations', certificatePem, keyPem: key.reveal(), revoked, thisUpdate, nextUpdate }),
    contentKey: (authorityId, { notBefore: _start, notAfter: _end, ...content }: LicenseContent) =>
      createHash('sha256')
        .update(toWireJson([authorityId, content]))
        .digest('hex'),
    load: () => {
      const [ofLists, ofLicenses] = [lists.limiter.load(), licenses.limiter.load()]
      const sum = (key: keyof PoolLoad): number => ofLists[key] + ofLicenses[key]
      return {
        running: sum('running'),
        waiting: sum('waiting'),
        waits: sum('waits'),
        waitSeconds: sum('waitSeconds'),
        refusals: sum('refusals'),
      }
    },
    async close() {
      await Promise.all([lists.threads.close(), licenses.threads.close()])
    },
  }
}

const clientAuth = '1.3.6.1.5.5.7.3.2'
const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

const revocationBlock = /-----BEGIN (X509 )?CRL-----[\s\S]+?-----END (X509 )?CRL-----/g

/** Returns the certificates of a PEM text. */
export const certificatesIn = (pem: string): readonly X509Certificate[] =>
  (pem.match(pemBlock) ?? []).map((block) => new X509Certificate(block))

const serialOf = (certificate: X509Certificate): string => BigInt(`0x${certificate.serialNumber}`).toString()

/** `toLegacyObject` gives the values as they are in the certificate, without the escapes of the text form. */
const subjectOf = (certificate: X509Certificate): Readonly<Record<string, string | readonly string[]>> =>
  certificate.toLegacyObject().subject as unknown as Readonly<Record<string, string | readonly string[]>>

const valuesOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : [value].flat()

const flagsIn = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    texts.flatMap((text) =>
      text.includes('=') ? [[text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]] : [],
    ),
  )

/** The wildcard of another organization than the one of the authority matches nothing. */
const isForCluster = (
  certificate: X509Certificate,
  authority: X509Certificate | undefined,
  clusterUid: string,
): boolean => {
  const name = valuesOf(subjectOf(certificate)['CN'])[0] ?? ''
  if (!name.startsWith('*.'))
    return certificate.checkHost(clusterUid.toLowerCase(), { subject: 'never', wildcards: false }) !== undefined
  return authority !== undefined && valuesOf(subjectOf(authority)['O']).includes(name.slice(2))
}

/** Reads a license and checks it against authorities and a cluster. Throws if the text has no certificate. */
export const readLicense = (
  pem: string,
  authorities: readonly X509Certificate[],
  clusterUid: string | undefined,
): ReadLicense => {
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
    authority: authority?.fingerprint256,
    authorityEnd: authority === undefined ? undefined : new Date(authority.validTo),
    isForClients: certificate.keyUsage?.includes(clientAuth) === true,
    matchesCluster: clusterUid === undefined ? undefined : isForCluster(certificate, authority, clusterUid),
  }
}

/**
 * Reads the revocation lists of a text. A list that none of the authorities signed is left out. Throws if no list
 * remains, or if one has expired. The library is loaded only here, since loading it takes time.
 */
export const revocationsIn = async (
  pem: string,
  authorities: readonly X509Certificate[],
  now: Date,
): Promise<ReadRevocations> => {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto)
  const listed = new Set<string>()
  const revoked = new Set<string>()
  for (const list of (pem.match(revocationBlock) ?? []).map((block) => new x509.X509Crl(block))) {
    const signers: X509Certificate[] = []
    for (const authority of authorities)
      if (await list.verify({ publicKey: new x509.X509Certificate(authority.raw).publicKey })) signers.push(authority)
    if (signers.length === 0) continue
    const { nextUpdate } = list
    if (nextUpdate !== undefined && nextUpdate.getTime() < now.getTime())
      throw new Error(`The revocation list expired at ${nextUpdate.toISOString()}. Fetch a new one.`)
    for (const { fingerprint256 } of signers) listed.add(fingerprint256)
    for (const { serialNumber } of list.entries) revoked.add(BigInt(`0x${serialNumber}`).toString())
  }
  if (listed.size === 0) throw new Error('The revocation list is not signed by a known authority.')
  return { revoked, listed }
}
