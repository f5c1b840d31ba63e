import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from './components/cache-folder.ts'
import { mustRun } from './components/run-command.ts'

export interface ServerCertificate {
  readonly certificatePem: string
  readonly keyPem: string
}

/** How many of a name this process has. */
const taken = new Map<string, number>()

/**
 * A certificate for 127.0.0.1 and localhost, or for other names, that is its own authority. Each call in a process
 * returns another one. They are kept between runs: a process of openssl for each server takes longer than the start of
 * the server.
 */
export const makeServerCertificate = async (
  commonName: string,
  names = 'IP:127.0.0.1,DNS:localhost',
): Promise<ServerCertificate> => {
  const number = (taken.get(commonName) ?? 0) + 1
  taken.set(commonName, number)
  const folder = await cached(`server-certificate-${commonName}-${number}`, async (into) => {
    await mustRun('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      join(into, 'server.key'),
      '-out',
      join(into, 'server.crt'),
      '-days',
      '3650',
      '-subj',
      `/CN=${commonName}`,
      '-addext',
      `subjectAltName=${names}`,
    ])
  })
  return {
    certificatePem: readFileSync(join(folder, 'server.crt'), 'utf8'),
    keyPem: readFileSync(join(folder, 'server.key'), 'utf8'),
  }
}
