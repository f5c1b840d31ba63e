import type { CertificateRequestReader, RequestSubject } from '../../core/hubs/spokes/ports.ts'

/** In characters of base64 text: 16 KiB. A request with the largest usual key is about 3 KB. */
const maxLength = 16 * 1024
const base64 = /^[A-Za-z0-9+/]+={0,2}$/
const wholePem = /^\s*-----BEGIN CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/

const read = async (der: Uint8Array<ArrayBuffer>): Promise<RequestSubject | undefined> => {
  // Loaded only when a request is read: loading takes longer than the rest of the startup.
  const { Pkcs10CertificateRequest } = await import('@peculiar/x509')
  const { subjectName } = new Pkcs10CertificateRequest(der)
  const [commonName, ...others] = subjectName.getField('CN')
  return commonName === undefined || others.length > 0
    ? undefined
    : { commonName, organizations: subjectName.getField('O') }
}

/** Reads the subjects of certificate requests as `CertificateRequestReader` describes. */
export const certificateRequestReader: CertificateRequestReader = {
  async subjectOf(request) {
    if (request.length > maxLength || !base64.test(request)) return undefined
    const pem = wholePem.exec(Buffer.from(request, 'base64').toString('latin1'))?.[1]
    if (pem === undefined) return undefined
    try {
      return await read(Uint8Array.from(Buffer.from(pem, 'base64')))
    } catch {
      return undefined
    }
  },
}
