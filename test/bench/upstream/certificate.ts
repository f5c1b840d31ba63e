import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from '../../support/components/run-command.ts'

export interface StubCertificate {
  readonly certificatePath: string
  readonly keyPath: string
  readonly pem: string
}

/** A certificate for 127.0.0.1 that is its own authority, since a kubeconfig without verification is refused. */
export async function makeStubCertificate(folder: string): Promise<StubCertificate> {
  const certificatePath = join(folder, 'stub.crt')
  const keyPath = join(folder, 'stub.key')
  await mustRun('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=moorage-bench',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-keyout',
    keyPath,
    '-out',
    certificatePath,
  ])
  return { certificatePath, keyPath, pem: await readFile(certificatePath, 'utf8') }
}
