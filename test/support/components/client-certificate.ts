import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findExecutable, mustRun } from './run-command.ts'

export interface CertificateFiles {
  readonly certificatePath: string
  readonly keyPath: string
}

/** Makes a certificate authority for client certificates in the folder; nothing when there is no openssl. */
export async function makeClientCa(folder: string): Promise<CertificateFiles | undefined> {
  if (findExecutable('openssl') === undefined) return undefined
  const files = { certificatePath: join(folder, 'client-ca.crt'), keyPath: join(folder, 'client-ca.key') }
  await mustRun('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    files.keyPath,
    '-out',
    files.certificatePath,
    '-days',
    '30',
    '-subj',
    '/CN=moorage-test-clients',
  ])
  return files
}

/** A certificate for a Kubernetes user: the common name is the user, each organization a group. */
export async function makeClientCertificate(
  ca: CertificateFiles,
  user: string,
  groups: readonly string[],
): Promise<{ certificatePem: string; keyPem: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'moorage-certificate-'))
  try {
    const [key, request, certificate] = ['key', 'request', 'certificate'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    const subject = [...groups.map((group) => `/O=${escaped(group)}`), `/CN=${escaped(user)}`].join('')
    await mustRun('openssl', ['req', '-new', ...newKey, '-keyout', key, '-out', request, '-utf8', '-subj', subject])
    await mustRun('openssl', [
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      ca.certificatePath,
      '-CAkey',
      ca.keyPath,
      '-out',
      certificate,
      '-days',
      '30',
      // Random, so that test files which sign at the same time share no serial file.
      '-set_serial',
      String(process.hrtime.bigint()),
    ])
    return { certificatePem: await readFile(certificate, 'utf8'), keyPem: await readFile(key, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

function escaped(name: string): string {
  return name.replaceAll(/[\\/+]/g, '\\$&')
}
