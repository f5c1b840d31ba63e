import { randomBytes, webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { LicenseContent, RevokedSerial } from '../../core/contracts/ports.ts'
import { signLicense, signList } from './signed-forms.ts'

x509.cryptoProvider.set(webcrypto)

export type SigningTask =
  | { readonly kind: 'usages'; readonly certificatePem: string }
  | { readonly kind: 'authority'; readonly organization: string; readonly notBefore: Date; readonly notAfter: Date }
  | {
      readonly kind: 'license'
      readonly certificatePem: string
      readonly keyPem: string
      readonly content: LicenseContent
    }
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

const makeAuthority = async ({
  organization,
  notBefore,
  notAfter,
}: Extract<SigningTask, { kind: 'authority' }>): Promise<{
  readonly certificatePem: string
  readonly keyPem: string
}> => {
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

/** RFC 5280, section 4.2.1.10. */
const nameConstraints = '2.5.29.30'

/**
 * Returns why the extensions of an authority do not allow it to sign licenses and revocation lists, or why strict
 * verifiers would refuse it.
 */
const usageFault = (certificatePem: string): string | undefined => {
  const certificate = new x509.X509Certificate(certificatePem)
  const needed = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign
  const usages = certificate.getExtension(x509.KeyUsagesExtension)?.usages ?? 0
  if ((usages & needed) !== needed) return 'The key usage of the authority must include keyCertSign and cRLSign.'
  if (certificate.getExtension(x509.BasicConstraintsExtension)?.critical !== true)
    return 'The basic constraints of the authority must be critical.'
  if (certificate.getExtension(x509.SubjectKeyIdentifierExtension) === null)
    return 'The authority must have a subject key identifier.'
  if (certificate.getExtension(nameConstraints) !== null)
    return 'The authority must have no name constraints: a license has the UID of a cluster as its name.'
  const extended = certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages
  return extended === undefined || extended.includes(x509.ExtendedKeyUsage.clientAuth)
    ? undefined
    : 'The extended key usage of the authority must include clientAuth.'
}

/** Runs one task on this thread. */
export const resultOf = async (task: SigningTask): Promise<unknown> => {
  if (task.kind === 'authority') return makeAuthority(task)
  if (task.kind === 'usages') return usageFault(task.certificatePem)
  const { certificatePem, keyPem } = task
  if (task.kind === 'revocations')
    return signList(certificatePem, keyPem, task.revoked, task.thisUpdate, task.nextUpdate)
  const serial = newSerial()
  return { serial: decimalOf(serial), certificatePem: signLicense(certificatePem, keyPem, serial, task.content) }
}
