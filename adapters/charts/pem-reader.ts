import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { PemReader } from '../../core/chart-repositories/ports.ts'

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g
/** Signing with a larger one would keep the event loop. */
const maxRsaBits = 8192

const isReadable = (read: () => boolean): boolean => {
  try {
    return read()
  } catch {
    return false
  }
}

/** PemReader over Node's own. */
export const nodePemReader: PemReader = {
  isCertificates: (text) => {
    const found = text.match(block) ?? []
    return found.length > 0 && found.length <= 64 && isReadable(() => found.every((pem) => new X509Certificate(pem).serialNumber !== ''))
  },
  isPair: (certificatePem, keyPem) =>
    isReadable(() => {
      const key = createPrivateKey(keyPem)
      return (key.asymmetricKeyDetails?.modulusLength ?? 0) <= maxRsaBits && new X509Certificate(certificatePem).checkPrivateKey(key)
    }),
}
