import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fillAggregatedRoles } from './aggregated-roles.ts'
import { startProcess, untilReady, type BackgroundProcess } from './background-process.ts'
import { reservedPort } from './reserved-port.ts'
import { makeClientCa } from './client-certificate.ts'
import {
  accessTo,
  recordPathOf,
  type BuiltInUser,
  type ControlPlaneAccess,
  type ControlPlaneRecord,
} from './control-plane-access.ts'
import { findControlPlaneBinaries } from './kubernetes-binaries.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { createRunFolder, removeRunFolder } from './run-folder.ts'

/** A kube-apiserver of one's own. */
export interface ControlPlane extends ControlPlaneAccess {
  stop(): Promise<void>
}

const startTimeoutMilliseconds = 90_000

/**
 * Starts etcd and kube-apiserver on loopback with RBAC on. There are no controllers and no
 * nodes: namespaces are never finished, owners' children stay, pods stay Pending. Only the
 * cluster roles that a controller would fill (`view`, `edit`, `admin`) are filled, once.
 */
export async function startControlPlane(say: Say = sayOnStderr): Promise<ControlPlane> {
  const binaries = await findControlPlaneBinaries(say)
  const folder = createRunFolder('kubernetes')
  const started: BackgroundProcess[] = []
  const stop = async () => {
    // etcd waits for its clients, among them the kube-apiserver of spokes, which ends with the folder; its data is not
    // kept.
    for (const each of started.toReversed()) await each.stop(each.name === 'etcd' ? 1_000 : undefined)
    removeRunFolder(folder)
  }
  try {
    const etcdUrl = await startEtcd(binaries.etcd, folder, started)
    const access = await startApiServer(
      { file: binaries.apiServer, name: 'kube-apiserver', folder, owner: folder, etcdUrl },
      started,
    )
    return { ...access, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

async function startEtcd(file: string, folder: string, started: BackgroundProcess[]): Promise<string> {
  const url = `http://127.0.0.1:${await reservedPort()}`
  const etcd = startProcess({
    name: 'etcd',
    file,
    folder,
    arguments: [
      `--data-dir=${join(folder, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      '--listen-peer-urls=http://127.0.0.1:0',
      '--unsafe-no-fsync=true',
    ],
  })
  started.push(etcd)
  await untilReady(etcd, async () => (await fetch(`${url}/health`)).ok, startTimeoutMilliseconds)
  return url
}

export interface ApiServerToStart {
  readonly file: string
  /** Of its process and its log file. */
  readonly name: string
  /** For its certificates, tokens and kubeconfig. */
  readonly folder: string
  /** The run folder with which it ends; `folder` is this folder or in it. */
  readonly owner: string
  readonly etcdUrl: string
  /** Where its objects are in etcd; the usual place by default. */
  readonly etcdPrefix?: string
  /** The path of an AuthenticationConfiguration: whom it trusts beside its own tokens and certificates. */
  readonly authenticationConfig?: string
}

/** Starts one kube-apiserver, and writes down how other processes reach it. */
export async function startApiServer(
  wanted: ApiServerToStart,
  started: BackgroundProcess[],
): Promise<ControlPlaneAccess> {
  const { folder, etcdUrl } = wanted
  const port = await reservedPort()
  const certificates = join(folder, 'certificates')
  await mkdir(certificates, { recursive: true })
  const tokens = await writeTokens(join(folder, 'tokens.csv'))
  const serviceAccountKey = await writeServiceAccountKey(join(folder, 'service-accounts.key'))
  const clientCa = await makeClientCa(folder)
  const server = startProcess({
    name: wanted.name,
    file: wanted.file,
    folder: wanted.owner,
    arguments: [
      `--etcd-servers=${etcdUrl}`,
      `--cert-dir=${certificates}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--authorization-mode=RBAC',
      '--allow-privileged=true',
      '--disable-admission-plugins=ServiceAccount',
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${serviceAccountKey}`,
      `--service-account-signing-key-file=${serviceAccountKey}`,
      '--kubelet-preferred-address-types=InternalIP',
      ...(clientCa === undefined ? [] : [`--client-ca-file=${clientCa.certificatePath}`]),
      ...(wanted.etcdPrefix === undefined ? [] : [`--etcd-prefix=${wanted.etcdPrefix}`]),
      ...(wanted.authenticationConfig === undefined ? [] : [`--authentication-config=${wanted.authenticationConfig}`]),
    ],
  })
  started.push(server)
  const certificate = join(certificates, 'apiserver.crt')
  const url = `https://127.0.0.1:${port}`
  let record: ControlPlaneRecord | undefined
  await untilReady(
    server,
    async () => {
      if (!existsSync(certificate)) return false
      // Signed by itself on first start, so it is its own authority.
      const caPem = await readFile(certificate, 'utf8')
      const candidate = { url, caPem, tokens, etcdUrl, ...(clientCa === undefined ? {} : { clientCa }) }
      const ready = await accessTo(candidate, '').request('GET', '/readyz')
      if (ready.status === 200) record = candidate
      return ready.status === 200
    },
    startTimeoutMilliseconds,
  )
  if (record === undefined) throw new Error('kube-apiserver is ready, but its certificate was not read')
  const kubeconfigPath = join(folder, 'admin.kubeconfig')
  const access = accessTo(record, kubeconfigPath)
  await fillAggregatedRoles(access)
  await writeFile(kubeconfigPath, access.kubeconfig())
  // The record comes last: other processes wait for it.
  await writeFile(`${recordPathOf(kubeconfigPath)}.new`, JSON.stringify(record))
  await rename(`${recordPathOf(kubeconfigPath)}.new`, recordPathOf(kubeconfigPath))
  return access
}

async function writeTokens(path: string): Promise<Record<BuiltInUser, string>> {
  const tokens = { admin: randomBytes(24).toString('hex'), viewer: randomBytes(24).toString('hex') }
  await writeFile(path, `${tokens.admin},admin,admin,"system:masters"\n${tokens.viewer},viewer,viewer\n`, {
    mode: 0o600,
  })
  return tokens
}

async function writeServiceAccountKey(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await writeFile(path, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return path
}
