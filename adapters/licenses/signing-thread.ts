import { createHash, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { LicenseContent, RevokedSerial } from '../../core/contracts/ports.ts'

x509.cryptoProvider.set(webcrypto)

export type SigningTask =
  | { readonly kind: 'usages'; readonly certificatePem: string }
  | { readonly kind: 'authority'; readonly organization: string; readonly notBefore: Date; readonly notAfter: Date }
  | { readonly kind: 'license'; readonly certificatePem: string; readonly keyPem: string; readonly content: LicenseContent }
  | {
      readonly kind: 'revocations'
      readonly certificatePem: string
      readonly keyPem: string
      readonly revoked: readonly RevokedSerial[]
      readonly thisUpdate: Date
      readonly nextUpdate: Date
    }

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** 128 random bits, positive and without a leading zero byte, in hexadecimal. */
const newSerial = (): string => {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}

const decimalOf = (hexadecimal: string): string => BigInt(`0x${hexadecimal}`).toString()
const hexOf = (decimal: string): string => BigInt(decimal).toString(16).padStart(32, '0')

const keyAlgorithm = (certificatePem: string): { readonly imported: webcrypto.EcKeyImportParams | webcrypto.RsaHashedImportParams | webcrypto.Algorithm; readonly signing: webcrypto.Algorithm | webcrypto.EcdsaParams } => {
  const { asymmetricKeyType, asymmetricKeyDetails } = new X509Certificate(certificatePem).publicKey
  if (asymmetricKeyType === 'ed25519') return { imported: { name: 'Ed25519' }, signing: { name: 'Ed25519' } }
  if (asymmetricKeyType === 'rsa') return { imported: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, signing: { name: 'RSASSA-PKCS1-v1_5' } }
  const namedCurve = asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'P-384' : 'P-256'
  return { imported: { name: 'ECDSA', namedCurve }, signing: { name: 'ECDSA', hash: namedCurve === 'P-384' ? 'SHA-384' : 'SHA-256' } as webcrypto.EcdsaParams }
}

const importedKeys = new Map<string, Promise<webcrypto.CryptoKey>>()

/** The key of the present authority is imported once for each thread. */
const signingKey = (certificatePem: string, keyPem: string): Promise<webcrypto.CryptoKey> => {
  const id = createHash('sha256').update(certificatePem).update(keyPem).digest('hex')
  const known = importedKeys.get(id)
  if (known !== undefined) return known
  importedKeys.clear()
  const imported = webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(keyPem), keyAlgorithm(certificatePem).imported, false, ['sign'])
  importedKeys.set(id, imported)
  return imported
}

const makeAuthority = async ({ organization, notBefore, notAfter }: Extract<SigningTask, { kind: 'authority' }>): Promise<{ readonly certificatePem: string; readonly keyPem: string }> => {
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: new x509.Name([{ O: [verbatim(organization)] }, { CN: [verbatim('License authority')] }]),
    keys,
    signingAlgorithm: ecdsa,
    notBefore,
    notAfter,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { certificatePem: certificate.toString('pem'), keyPem: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') }
}

/** A plain string would be read as the text form of a name, in which braces and hash signs have a meaning. */
const verbatim = (text: string): x509.JsonAttributeObject => ({ utf8String: text })

const subjectOf = ({ clusterUid, features, plan, productLine, tier, flags }: LicenseContent): x509.JsonNameParams => [
  { C: [verbatim(productLine)] },
  { ST: [verbatim(tier)] },
  ...Object.entries(flags).map(([key, value]) => ({ L: [verbatim(`${key}=${value}`)] })),
  ...features.map((feature) => ({ O: [verbatim(feature)] })),
  { OU: [verbatim(plan)] },
  { CN: [verbatim(clusterUid)] },
]

/** An authority of the operator's own may have another key identifier than the digest of its key. */
const authorityKeyOf = async (issuer: x509.X509Certificate): Promise<x509.AuthorityKeyIdentifierExtension> => {
  const known = issuer.getExtension(x509.SubjectKeyIdentifierExtension)
  return known === null ? x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey) : new x509.AuthorityKeyIdentifierExtension(known.keyId)
}

const sign = async ({ certificatePem, keyPem, content }: Extract<SigningTask, { kind: 'license' }>): Promise<{ readonly serial: string; readonly certificatePem: string }> => {
  const issuer = new x509.X509Certificate(certificatePem)
  const serial = newSerial()
  const keys = await webcrypto.subtle.generateKey(ecdsa, false, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: new x509.Name(subjectOf(content)),
    issuer: issuer.subjectName,
    notBefore: content.notBefore,
    notAfter: content.notAfter,
    publicKey: keys.publicKey,
    signingKey: await signingKey(certificatePem, keyPem),
    signingAlgorithm: keyAlgorithm(certificatePem).signing,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: content.clusterUid },
        ...(content.licensee === '' ? [] : [{ type: 'email' as const, value: content.licensee }]),
      ]),
      await authorityKeyOf(issuer),
    ],
  })
  return { serial: decimalOf(serial), certificatePem: certificate.toString('pem') }
}

const signRevocations = async ({ certificatePem, keyPem, revoked, thisUpdate, nextUpdate }: Extract<SigningTask, { kind: 'revocations' }>): Promise<string> => {
  const issuer = new x509.X509Certificate(certificatePem)
  const list = await x509.X509CrlGenerator.create({
    issuer: issuer.subjectName,
    thisUpdate,
    nextUpdate,
    signingAlgorithm: keyAlgorithm(certificatePem).signing,
    signingKey: await signingKey(certificatePem, keyPem),
    // An entry without a reason would get an empty list of extensions, which OpenSSL refuses.
    entries: revoked.map(({ serial, at }) => ({ serialNumber: hexOf(serial), revocationDate: at, reason: x509.X509CrlReason.cessationOfOperation })),
    extensions: [await authorityKeyOf(issuer)],
  })
  // The library's own form has the label CRL, which OpenSSL does not read.
  return `${x509.PemConverter.encode(list.rawData, 'X509 CRL')}\n`
}

/** Returns why the extensions of an authority do not allow it to sign licenses and revocation lists. */
const usageFault = (certificatePem: string): string | undefined => {
  const certificate = new x509.X509Certificate(certificatePem)
  const needed = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign
  const usages = certificate.getExtension(x509.KeyUsagesExtension)?.usages ?? needed
  if ((usages & needed) !== needed) return 'The key usage of the authority must include keyCertSign and cRLSign.'
  const extended = certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages
  return extended === undefined || extended.includes(x509.ExtendedKeyUsage.clientAuth) ? undefined : 'The extended key usage of the authority must include clientAuth.'
}

/** Runs one task on this thread. */
export const resultOf = async (task: SigningTask): Promise<unknown> => {
  if (task.kind === 'authority') return makeAuthority(task)
  if (task.kind === 'usages') return usageFault(task.certificatePem)
  return task.kind === 'license' ? sign(task) : signRevocations(task)
}
