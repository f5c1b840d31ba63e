import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { Agent, request } from 'undici'
import { stringify } from 'yaml'
import type { KubernetesAnswer } from './components/control-plane-access.ts'
import { answerReview, reviewPath } from './fake-api/access-reviews.ts'
import { admit } from './fake-api/admission.ts'
import { ResourceAnswers } from './fake-api/answer-resource.ts'
import { describeCall, readApiPath, type ApiCall } from './fake-api/api-path.ts'
import { CallRules } from './fake-api/call-rules.ts'
import { discoveryAnswer } from './fake-api/discovery.ts'
import type { KubeObject } from './fake-api/kube-object.ts'
import { ObjectStore } from './fake-api/object-store.ts'
import { openApiV2ContentType, openApiV2Protobuf } from './fake-api/openapi-stub.ts'
import { progressWorkloads } from './fake-api/progress-workloads.ts'
import { sendBytes, sendJson, statusOf, StatusError } from './fake-api/status-answer.ts'
import { readObject } from './fake-api/write-object.ts'
import { makeServerCertificate } from './server-certificate.ts'

/**
 * A Kubernetes API of many kinds, in this process, that real helm commands and kubectl-like clients can work on.
 * Workloads make progress as `workloads/workload-outcome.ts` tells. Impersonated users may do everything, save what
 * `rules.forbid` says.
 */
export interface FakeApi {
  readonly url: string
  readonly port: number
  readonly token: string
  readonly caPem: string
  /** What the namespace kube-system says it is. */
  readonly uid: string
  /** Every request, oldest first. */
  readonly calls: readonly ApiCall[]
  readonly rules: CallRules
  kubeconfig(changes?: { readonly token?: string; readonly server?: string }): string
  /** As clients would, without a request: `apiVersion`, kind and name (and namespace) say where. */
  put(object: KubeObject): KubeObject
  find(apiVersion: string, kind: string, namespace: string | undefined, name: string): KubeObject | undefined
  all(apiVersion: string, kind: string, namespace?: string): readonly KubeObject[]
  remove(object: KubeObject): void
  /** One request over the wire, as the bearer of the token. */
  request(
    method: string,
    path: string,
    body?: unknown,
    options?: { readonly contentType?: string; readonly accept?: string },
  ): Promise<KubernetesAnswer>
  openWatches(): number
  stop(): Promise<void>
}

export interface FakeApiOptions {
  /** `false`: no controller runs, workloads stay as they are created. */
  readonly progresses?: boolean
  readonly version?: string
}

const maximumBodyBytes = 3 * 1024 * 1024

const readBody = async (req: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maximumBodyBytes)
      throw new StatusError(413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const isJson = (contentType: string | readonly string[] | undefined): boolean =>
  String(contentType).startsWith('application/json')

const object = (apiVersion: string, kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...more },
})

export const startFakeApi = async ({
  progresses = true,
  version = 'v1.34.2',
}: FakeApiOptions = {}): Promise<FakeApi> => {
  const { certificatePem, keyPem } = await makeServerCertificate('fake-api')
  const store = new ObjectStore()
  const answers = new ResourceAnswers(store)
  const rules = new CallRules()
  const calls: ApiCall[] = []
  const token = `fake-${randomUUID()}`
  const stopProgress = progresses ? progressWorkloads(store) : () => undefined
  const [major = '1', minor = '0'] = version.slice(1).split('.')

  const put = (wanted: KubeObject): KubeObject => {
    const kind = store.kindOf(wanted)
    const known = store.get(kind, wanted.metadata.namespace, wanted.metadata.name)
    const admitted = admit(kind, wanted.metadata.namespace, wanted)
    return known === undefined ? store.create(kind, admitted) : store.replace(kind, known, admitted)
  }
  for (const name of ['default', 'kube-system', 'kube-public']) {
    put(object('v1', 'Namespace', name, { labels: { 'kubernetes.io/metadata.name': name } }))
    put(object('v1', 'ServiceAccount', 'default', { namespace: name }))
  }

  const outsideResources = (
    pathname: string,
    req: IncomingMessage,
    res: ServerResponse,
    call: ApiCall,
    body: Buffer,
  ): void => {
    if (pathname === '/version')
      return sendJson(res, 200, {
        major,
        minor,
        gitVersion: version,
        gitCommit: 'fake',
        gitTreeState: 'clean',
        platform: 'linux/amd64',
      })
    if (pathname === '/readyz' || pathname === '/livez' || pathname === '/healthz')
      return sendBytes(res, 200, 'text/plain', 'ok')
    if (pathname === '/openapi/v2') return sendBytes(res, 200, openApiV2ContentType, openApiV2Protobuf)
    if (reviewPath.test(pathname)) return sendJson(res, 201, answerReview(rules, call, readObject(body)))
    const discovered = discoveryAnswer(pathname, req.headers.accept ?? '', store.kinds)
    if (discovered === undefined) return sendBytes(res, 404, 'text/plain', '404 page not found\n')
    sendBytes(res, 200, discovered.contentType, JSON.stringify(discovered.body))
  }

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { pathname, searchParams: query } = new URL(req.url ?? '/', 'https://fake')
    const path = readApiPath(pathname, store.kinds)
    const call = describeCall(req, path, query)
    calls.push(call)
    try {
      if (req.headers.authorization !== `Bearer ${token}`) throw new StatusError(401, 'Unauthorized', 'Unauthorized')
      const body = await readBody(req)
      const own = await rules.before(call)
      if (own !== undefined) return own(req, res, call)
      if (path === undefined) return outsideResources(pathname, req, res, call, body)
      answers.answer({ req, res, path, query, body })
    } catch (error) {
      const refused = error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error))
      sendJson(res, refused.code, statusOf(refused))
    }
  }

  const sockets = new Set<Socket>()
  const server = createServer({ cert: certificatePem, key: keyPem }, (req, res) => void serve(req, res))
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `https://127.0.0.1:${port}`
  const dispatcher = new Agent({ connect: { ca: certificatePem } })
  const find = (
    apiVersion: string,
    kind: string,
    namespace: string | undefined,
    name: string,
  ): KubeObject | undefined => store.get(store.kindOf({ apiVersion, kind }), namespace, name)

  return {
    url,
    port,
    token,
    caPem: certificatePem,
    uid: find('v1', 'Namespace', undefined, 'kube-system')?.metadata.uid ?? '',
    calls,
    rules,
    put,
    find,
    all: (apiVersion, kind, namespace) => store.list(store.kindOf({ apiVersion, kind }), namespace),
    remove: (known) => void store.remove(store.kindOf(known), known, 'Background'),
    request: async (method, path, body, { contentType = 'application/json', accept = 'application/json' } = {}) => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept,
        ...(body === undefined ? {} : { 'content-type': contentType }),
      }
      const answer = await request(`${url}${path}`, {
        method,
        dispatcher,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.body.text()
      return {
        status: answer.statusCode,
        body: isJson(answer.headers['content-type']) ? (JSON.parse(text) as unknown) : text,
      }
    },
    openWatches: () => answers.openWatches,
    kubeconfig: (changes = {}) =>
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'fake',
            cluster: {
              server: changes.server ?? url,
              'certificate-authority-data': Buffer.from(certificatePem).toString('base64'),
            },
          },
        ],
        users: [{ name: 'fake', user: { token: changes.token ?? token } }],
        contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
        'current-context': 'fake',
      }),
    stop: async () => {
      stopProgress()
      await dispatcher.destroy()
      answers.close()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
