import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jwtVerify } from 'jose'

export const consumer = 'project_number:1234567890'
export const serviceName = 'product.endpoints.vendor-1.cloud.goog'

/**
 * What happens to a request instead of the ordinary answer. `lost`: it is carried out, and the connection ends;
 * `hanging`: it is carried out, and nothing is answered.
 */
type Fault =
  | 'lost'
  | 'hanging'
  | 'silence'
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }

interface SeenCall {
  readonly method: 'check' | 'report'
  readonly body: Readonly<Record<string, unknown>>
}

export interface CloudCProvider {
  readonly origin: string
  /** The text of the key file of the service account that may report. */
  readonly keyFile: string
  readonly seen: SeenCall[]
  /** What is billed, by operation. */
  readonly billed: Map<string, Operation>
  /** For the next requests of a method, in order. */
  readonly faults: { readonly check: Fault[]; readonly report: Fault[] }
  /** What the next checks find, in order. */
  readonly checkErrors: (readonly { readonly code: string; readonly detail?: string }[])[]
  /** What is done when a report was carried out, before its answer. */
  readonly hooks: { beforeAnswer: () => void }
  /** Access tokens that are accepted beside those of the key file. */
  readonly tokens: Set<string>
  stop(): Promise<void>
}

interface Operation {
  readonly operationId?: string
  readonly operationName?: string
  readonly consumerId?: string
  readonly startTime?: string
  readonly endTime?: string
  readonly userLabels?: unknown
  readonly metricValueSets?: readonly {
    readonly metricName?: string
    readonly metricValues?: readonly { readonly int64Value?: unknown; readonly doubleValue?: unknown }[]
  }[]
}

interface Said {
  readonly status: number
  readonly body: object
}
const googleError = (code: number, status: string): Said => ({
  status: code,
  body: { error: { code, status, message: `${status} of the provider` } },
})

const faultOf = (operation: Operation, method: 'check' | 'report'): string | undefined => {
  const {
    operationId = '',
    operationName = '',
    consumerId,
    startTime,
    endTime,
    metricValueSets = [],
    userLabels,
  } = operation
  if (!/^[0-9a-f-]{36}$/.test(operationId) || operationName === '') return 'operation'
  if (consumerId !== consumer) return 'consumer'
  if (startTime === undefined || endTime === undefined || Date.parse(endTime) <= Date.parse(startTime)) return 'times'
  if (method === 'check' && userLabels !== undefined) return 'labels of a check'
  const [set] = metricValueSets
  if (!set?.metricName?.startsWith(`${serviceName}/`)) return 'metric'
  const [value] = set.metricValues ?? []
  const isInteger = typeof value?.int64Value === 'string' && /^-?\d+$/.test(value.int64Value)
  return isInteger || typeof value?.doubleValue === 'number' ? undefined : 'value'
}

/** Service control as the provider describes it: an operation is counted once, by its id. */
export const startCloudCProvider = async (): Promise<CloudCProvider> => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const email = 'reporter@vendor-1.iam.gserviceaccount.com'
  const provider = {
    seen: [] as SeenCall[],
    billed: new Map<string, Operation>(),
    faults: { check: [] as Fault[], report: [] as Fault[] },
    checkErrors: [] as CloudCProvider['checkErrors'],
    tokens: new Set<string>(),
  }
  const hooks = { beforeAnswer: (): void => undefined }
  const isProven = async (header: string | undefined): Promise<boolean> => {
    if (provider.tokens.has(/^Bearer (\S+)$/.exec(header ?? '')?.[1] ?? '')) return true
    try {
      const { payload, protectedHeader } = await jwtVerify(/^Bearer (\S+)$/.exec(header ?? '')?.[1] ?? '', publicKey, {
        issuer: email,
        subject: email,
        algorithms: ['RS256'],
      })
      return protectedHeader.alg === 'RS256' && payload['scope'] === 'https://www.googleapis.com/auth/servicecontrol'
    } catch {
      return false
    }
  }
  const check = (operation: Operation): Said => {
    const checkErrors = provider.checkErrors.shift() ?? []
    const answer = { operationId: operation.operationId, serviceConfigId: '2026-11-20r0' }
    return { status: 200, body: checkErrors.length === 0 ? answer : { ...answer, checkErrors } }
  }
  const report = (operations: readonly Operation[]): Said => {
    for (const operation of operations) {
      const id = operation.operationId ?? randomUUID()
      if (!provider.billed.has(id)) provider.billed.set(id, operation)
    }
    return { status: 200, body: { serviceConfigId: '2026-11-20r0', serviceRolloutId: '2026-11-20r0' } }
  }
  const carryOut = (method: 'check' | 'report', body: Readonly<Record<string, unknown>>): Said => {
    const operations = (method === 'check' ? [body['operation']] : body['operations']) as readonly Operation[]
    const faults = operations.map((operation) => faultOf(operation, method)).filter((fault) => fault !== undefined)
    if (faults.length > 0) return googleError(400, 'INVALID_ARGUMENT')
    return method === 'check' ? check(operations[0] ?? {}) : report(operations)
  }
  const server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const [, service, method] = /^\/v1\/services\/([^/:]+):(check|report)(?:\?|$)/.exec(req.url ?? '') ?? []
      const isMethod = method === 'check' || method === 'report'
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
      const answer = (said: {
        readonly status: number
        readonly body: unknown
        readonly headers?: Record<string, string>
      }) => {
        res.writeHead(said.status, { 'content-type': 'application/json', ...said.headers })
        res.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body))
      }
      if (!isMethod || req.method !== 'POST') return answer(googleError(404, 'NOT_FOUND'))
      provider.seen.push({ method, body })
      const fault = provider.faults[method].shift()
      if (fault === 'silence') return
      if (typeof fault === 'object') return answer(fault)
      if (!(await isProven(req.headers.authorization))) return answer(googleError(401, 'UNAUTHENTICATED'))
      if (service !== serviceName) return answer(googleError(403, 'PERMISSION_DENIED'))
      const said = carryOut(method, body)
      if (method === 'report') hooks.beforeAnswer()
      if (fault === 'lost') return void req.socket.destroy()
      if (fault === 'hanging') return
      answer(said)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...provider,
    hooks,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keyFile: JSON.stringify({
      type: 'service_account',
      client_email: email,
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      token_uri: 'https://elsewhere.example/token',
    }),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface MetadataServer {
  /** Host and port, as `GCE_METADATA_HOST` has them. */
  readonly host: string
  /** The paths that were asked for. */
  readonly asked: string[]
  stop(): Promise<void>
}

/** The metadata server of a machine or a pod, which gives out tokens of its service account. */
export const startMetadataServer = async (token: string): Promise<MetadataServer> => {
  const asked: string[] = []
  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    asked.push(path)
    if (req.headers['metadata-flavor'] !== 'Google') return void res.writeHead(403).end()
    const isToken = path.endsWith('/service-accounts/default/token')
    const said = isToken
      ? JSON.stringify({ access_token: token, expires_in: 3599, token_type: 'Bearer' })
      : (answers[path] ?? '')
    res.writeHead(isToken || path in answers ? 200 : 404, {
      'Metadata-Flavor': 'Google',
      'Content-Type': isToken ? 'application/json' : 'text/plain',
    })
    res.end(said)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const answers: Readonly<Record<string, string>> = {
  '/computeMetadata/v1/instance': '',
  '/computeMetadata/v1/universe/universe-domain': 'googleapis.com',
  '/computeMetadata/v1/project/project-id': 'project-1',
}
