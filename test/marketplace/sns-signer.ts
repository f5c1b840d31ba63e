import { createPrivateKey, sign, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { canonicalText } from '../../adapters/marketplace/topic-messages.ts'

/** A certificate with a key of RSA, as the provider has it. */
export const rsaCertificate = async (notBefore: string, notAfter: string) => {
  x509.cryptoProvider.set(webcrypto)
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: Uint8Array.of(1, 0, 1),
    modulusLength: 2048,
  }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=sns.amazonaws.com',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    certificatePem: certificate.toString('pem'),
    privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  }
}

/** Returns the message with its signature, as a topic sends it. */
export const signedMessage = (
  message: Readonly<Record<string, string>>,
  privateKey: ReturnType<typeof createPrivateKey>,
): Readonly<Record<string, string>> => {
  const text = Buffer.from(canonicalText(message as never))
  return { ...message, Signature: sign('sha256', text, privateKey).toString('base64') }
}
