import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import type { TlsIdentity } from '../../adapters/security/tls-identity.ts'

/** A self-signed certificate for 127.0.0.1 that is valid from and until so many days from now. */
export const datedCertificate = async (fromDays: number, untilDays: number): Promise<TlsIdentity> => {
  x509.cryptoProvider.set(webcrypto)
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Dated',
    keys,
    signingAlgorithm: algorithm,
    notBefore: inDays(fromDays),
    notAfter: inDays(untilDays),
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  })
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    certificatePem: certificate.toString('pem'),
    keyPem: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    isSelfSigned: false,
  }
}
