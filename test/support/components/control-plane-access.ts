import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Agent, request } from 'undici'
import { dump } from 'js-yaml'
import { until } from '../until.ts'
import { makeClientCertificate, type CertificateFiles } from './client-certificate.ts'

/** Users who exist from the start: `admin` may do everything, `viewer` has no rights until bound to a role. */
export type BuiltInUser = 'admin' | 'viewer'

/** What is written beside the admin kubeconfig so that other processes can use the same server. */
export interface ControlPlaneRecord {
  readonly url: string
  readonly caPem: string
  readonly tokens: Readonly<Record<BuiltInUser, string>>
  /** Absent when there is no openssl to sign client certificates with. */
  readonly clientCa?: CertificateFiles
  /** Where a second server may keep its objects under a prefix of its own. */
  readonly etcdUrl: string
}

export interface KubernetesAnswer {
  readonly status: number
  /** The body as JSON, or as text where it is none. */
  readonly body: unknown
}

/** A running kube-apiserver that somebody else may own. */
export interface ControlPlaneAccess {
  readonly url: string
  readonly caPem: string
  /** A kubeconfig file of the admin. */
  readonly adminKubeconfigPath: string
  /** The authority that the server accepts client certificates of; absent when there is no openssl. */
  readonly clientCa: CertificateFiles | undefined
  /** The text of a kubeconfig with the user's token (the admin's by default). */
  kubeconfig(user?: BuiltInUser): string
  tokenFor(user: BuiltInUser): string
  /** The text of a kubeconfig with a client certificate for any user and groups. */
  createUserKubeconfig(user: string, groups?: readonly string[]): Promise<string>
  /** Makes a namespace whose name was never used before and answers the name. */
  createNamespace(prefix?: string): Promise<string>
  /** One request as the admin, or as another bearer of a token. */
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<KubernetesAnswer>
}

interface RequestOptions {
  readonly contentType?: string
  readonly token?: string
}

/** Where the record of a control plane lies, given its admin kubeconfig. */
export function recordPathOf(adminKubeconfigPath: string): string {
  return join(dirname(adminKubeconfigPath), 'control-plane.json')
}

/** Access to the control plane whose admin kubeconfig the runner wrote there. */
export async function connectControlPlane(adminKubeconfigPath: string): Promise<ControlPlaneAccess> {
  const record = JSON.parse(await readFile(recordPathOf(adminKubeconfigPath), 'utf8')) as ControlPlaneRecord
  return accessTo(record, adminKubeconfigPath)
}

/** Access by a record. */
export function accessTo(record: ControlPlaneRecord, adminKubeconfigPath: string): ControlPlaneAccess {
  const dispatcher = new Agent({ connect: { ca: record.caPem } })
  const access: ControlPlaneAccess = {
    url: record.url,
    caPem: record.caPem,
    adminKubeconfigPath,
    clientCa: record.clientCa,
    kubeconfig: (user = 'admin') => kubeconfigText(record, user, { token: record.tokens[user] }),
    tokenFor: (user) => record.tokens[user],
    createUserKubeconfig: async (user, groups = []) => {
      if (record.clientCa === undefined)
        throw new Error('client certificates need the openssl command, which was not found')
      const pair = await makeClientCertificate(record.clientCa, user, groups)
      return kubeconfigText(record, user, {
        'client-certificate-data': base64(pair.certificatePem),
        'client-key-data': base64(pair.keyPem),
      })
    },
    createNamespace: async (prefix = 'test') => {
      const name = `${prefix}-${randomBytes(6).toString('hex')}`
      const answer = await access.request('POST', '/api/v1/namespaces', { metadata: { name } })
      if (answer.status !== 201) throw new Error(`namespace ${name} was refused: ${JSON.stringify(answer)}`)
      return name
    },
    request: async (method, path, body, options = {}) => {
      const response = await request(`${record.url}${path}`, {
        method,
        dispatcher,
        headers: {
          authorization: `Bearer ${options.token ?? record.tokens.admin}`,
          ...(body === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.statusCode, body: jsonOrText(await response.body.text()) }
    },
  }
  return access
}

function kubeconfigText(record: ControlPlaneRecord, user: string, credentials: Record<string, string>): string {
  const cluster = { server: record.url, 'certificate-authority-data': base64(record.caPem) }
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: user, context: { cluster: 'test', user } }],
    'current-context': user,
  })
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Waits until `user` has a right. The API server takes a new role binding into account a moment after it was made. */
export const untilAllowed = (
  server: Pick<ControlPlaneAccess, 'request'>,
  user: string,
  resourceAttributes: { readonly namespace?: string; readonly verb: string; readonly resource: string },
  groups: readonly string[] = [],
): Promise<true> =>
  until(`a role of ${user}`, async () => {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes },
    }
    const { body } = await server.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
    return (body as { readonly status?: { readonly allowed?: boolean } }).status?.allowed === true ? true : undefined
  })
