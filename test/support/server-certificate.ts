import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun } from './components/run-command.ts'

export interface ServerCertificate {
  readonly certificatePem: string
  readonly keyPem: string
}

/** A certificate for 127.0.0.1 and localhost that is its own authority. */
export const makeServerCertificate = async (commonName: string): Promise<ServerCertificate> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-certificate-'))
  try {
    const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
    await mustRun('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', certificate,
      '-days', '30', '-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost',
    ])
    return { certificatePem: readFileSync(certificate, 'utf8'), keyPem: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
