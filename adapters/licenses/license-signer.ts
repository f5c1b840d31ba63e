import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { LicenseContent, LicenseSigner } from '../../core/contracts/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { certificatesIn } from './license-reader.ts'
import type { SigningTask } from './signing-thread.ts'

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = new URL(`./signing-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)

/** The oldest key that verifiers still take. */
const leastRsaBits = 2048
const curves = ['prime256v1', 'secp384r1']

const keyFault = (certificate: X509Certificate, keyPem: string): string | undefined => {
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) < leastRsaBits) return `The RSA key of the authority has fewer than ${leastRsaBits} bits.`
  if (!['rsa', 'ec', 'ed25519'].includes(asymmetricKeyType ?? '')) return 'The key of the authority must be RSA, ECDSA or Ed25519.'
  if (asymmetricKeyType === 'ec' && !curves.includes(asymmetricKeyDetails?.namedCurve ?? '')) return 'The curve of the authority must be P-256 or P-384.'
  if (!keyPem.trimStart().startsWith('-----BEGIN PRIVATE KEY-----')) return 'The key of the authority must be PKCS#8 in PEM, without a password.'
  return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? undefined : 'The certificate and the key do not belong together.'
}

const authorityFault = (certificatePem: string, keyPem: string, now: Date): string | undefined => {
  try {
    const [certificate, ...more] = certificatesIn(certificatePem)
    if (certificate === undefined || more.length > 0) return 'The file of the authority must have exactly one certificate in PEM.'
    if (!certificate.ca) return 'The certificate is not one of a certificate authority.'
    // Verifiers get this certificate alone, and OpenSSL ends a chain only at a self-signed one.
    if (!certificate.checkIssued(certificate) || !certificate.verify(certificate.publicKey)) return 'The certificate of the authority must be self-signed.'
    if (now.getTime() < Date.parse(certificate.validFrom) || now.getTime() > Date.parse(certificate.validTo)) return 'The certificate of the authority is outside of its validity.'
    if (!/^O=./m.test(certificate.subject)) return 'The subject of the authority must contain an organization (O).'
    return keyFault(certificate, keyPem)
  } catch {
    return 'The certificate or the key cannot be read.'
  }
}

export interface ThreadedLicenseSigner extends LicenseSigner {
  close(): Promise<void>
}

/** One core is left to the event loop. More threads than four sign more licenses than a database stores. */
const signingThreads = Math.min(4, Math.max(1, availableParallelism() - 1))

/**
 * Signs licenses on threads of its own, which are started when they are first needed. Revocation lists have another thread, since a long
 * one takes seconds.
 */
export const makeLicenseSigner = (): ThreadedLicenseSigner => {
  const pools = new Map<'licenses' | 'lists', Piscina>()
  const start = (maxThreads: number): Piscina =>
    new Piscina({ filename: program.href, name: 'resultOf', minThreads: 1, maxThreads, idleTimeout: 60_000, atomics: 'disabled', recordTiming: false }).on('error', () => undefined)
  const run = async <A>(task: SigningTask): Promise<A> => {
    const kind = task.kind === 'revocations' ? 'lists' : 'licenses'
    const pool = pools.get(kind) ?? start(kind === 'lists' ? 1 : signingThreads)
    pools.set(kind, pool)
    return (await pool.run(task)) as A
  }
  return {
    async makeAuthority({ organization, notBefore, notAfter }) {
      const made = await run<{ readonly certificatePem: string; readonly keyPem: string }>({ kind: 'authority', organization, notBefore, notAfter })
      return { certificatePem: made.certificatePem, key: secret(made.keyPem) }
    },
    faultOf: async ({ certificatePem, key }, now) => authorityFault(certificatePem, key.reveal(), now) ?? (await run<string | undefined>({ kind: 'usages', certificatePem })),
    validityOf(certificatePem) {
      const { validFrom, validTo } = new X509Certificate(certificatePem)
      return { notBefore: new Date(validFrom), notAfter: new Date(validTo) }
    },
    sign: ({ certificatePem, key }, content) => run({ kind: 'license', certificatePem, keyPem: key.reveal(), content }),
    signRevocations: ({ certificatePem, key }, revoked, thisUpdate, nextUpdate) =>
      run({ kind: 'revocations', certificatePem, keyPem: key.reveal(), revoked, thisUpdate, nextUpdate }),
    contentKey: (authorityId, { notBefore: _start, notAfter: _end, ...content }: LicenseContent) =>
      createHash('sha256').update(JSON.stringify([authorityId, content])).digest('hex'),
    async close() {
      const started = [...pools.values()]
      pools.clear()
      await Promise.all(started.map((pool) => pool.destroy()))
    },
  }
}
