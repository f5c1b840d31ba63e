import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

export interface SignedRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Returns the signature of version 4 over the headers that are named. */
export const signatureOf = (
  { method, path, query, headers, body }: SignedRequest,
  key: {
    readonly secret: string
    readonly region: string
    readonly service: string
    readonly names: readonly string[]
  },
): string => {
  const lines = key.names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  const canonical = [method, path, query, lines.join(''), key.names.join(';'), sha256(body)].join('\n')
  const instant = String(headers['x-amz-date'])
  const day = instant.slice(0, 8)
  const scope = [day, key.region, key.service, 'aws4_request'].join('/')
  const signing = [day, key.region, key.service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${key.secret}`)
  return hmac(signing, ['AWS4-HMAC-SHA256', instant, scope, sha256(canonical)].join('\n')).toString('hex')
}

/**
 * What happens to a request instead of the ordinary answer. `lost`: it is carried out, and the connection ends;
 * `hanging`: it is carried out, and nothing is answered.
 */
type Fault =
  | 'lost'
  | 'hanging'
  | 'dropped'
  | 'silence'
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }

interface SeenUsage {
  readonly headers: IncomingHttpHeaders
  readonly body: Readonly<Record<string, unknown>>
}

export interface CloudAProvider {
  readonly origin: string
  readonly seen: SeenUsage[]
  /** The usage that is billed, by product, dimension and hour. */
  readonly billed: Map<string, { readonly id: string; readonly quantity: number; readonly content: string }>
  /** For the next requests, in order. */
  readonly faults: Fault[]
  /** What is done when a request was carried out, before its answer. */
  readonly hooks: { beforeAnswer: () => void }
  stop(): Promise<void>
}

export const accessKey = {
  id: 'AKIDMETERING',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  session: 'session-1',
}
export const region = 'eu-west-1'

interface Said {
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
}
export const awsError = (code: string, status = 400, message = `${code} of the provider`): Said => ({
  status,
  body: JSON.stringify({ __type: code, message }),
})

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

const refusalOf = (request: SignedRequest): Said | undefined => {
  const [, id, , inRegion = '', service = '', names = '', signature] =
    authorization.exec(request.headers.authorization ?? '') ?? []
  if (id !== accessKey.id || request.headers['x-amz-security-token'] !== accessKey.session)
    return awsError('UnrecognizedClientException')
  if (inRegion !== region || service !== 'aws-marketplace') return awsError('InvalidEndpointRegionException')
  const signed = names.split(';')
  for (const name of ['host', 'x-amz-date', 'x-amz-target', 'x-amz-security-token'])
    if (!signed.includes(name)) return awsError('IncompleteSignatureException')
  const expected = signatureOf(request, { secret: accessKey.secret, region, service, names: signed })
  return expected === signature
    ? undefined
    : awsError('InvalidSignatureException', 403, `The canonical string should have been ${expected}`)
}

const isInteger = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31

/** MeterUsage as the provider describes it: once for each dimension and hour, by its own limits of the time. */
export const startCloudAProvider = async (now: () => number = Date.now): Promise<CloudAProvider> => {
  const seen: SeenUsage[] = []
  const faults: Fault[] = []
  const hooks = { beforeAnswer: (): void => undefined }
  const billed: CloudAProvider['billed'] = new Map()
  const tokens = new Map<string, string>()
  const carryOut = (body: Readonly<Record<string, unknown>>): Said => {
    const { ProductCode: product, UsageDimension: dimension, Timestamp: at, ClientToken: key, DryRun: isDry } = body
    const quantity = body['UsageQuantity'] ?? 0
    if (typeof at !== 'number') return awsError('SerializationException')
    if (!isInteger(quantity)) return awsError('ValidationException')
    if (product !== 'product-1') return awsError('com.amazonaws.marketplace#InvalidProductCodeException')
    if (dimension === 'unknown') return awsError('InvalidUsageDimensionException')
    const age = now() / 1000 - at
    if (age > 6 * 3600 || age < -300) return awsError('TimestampOutOfBoundsException')
    const allocations = body['UsageAllocations'] as readonly { readonly AllocatedUsageQuantity: number }[] | undefined
    const sum = allocations?.reduce((total, each) => total + each.AllocatedUsageQuantity, 0)
    if (sum !== undefined && sum !== quantity) return awsError('InvalidUsageAllocationsException')
    if (isDry === true) return awsError('DryRunOperation')
    const { ClientToken: _, ...content } = body
    const text = JSON.stringify(content)
    if (typeof key !== 'string') return awsError('ValidationException')
    if ((tokens.get(key) ?? text) !== text) return awsError('IdempotencyConflictException')
    tokens.set(key, text)
    const place = JSON.stringify([product, dimension, Math.floor(at / 3600)])
    const known = billed.get(place)
    if (known !== undefined && known.quantity !== quantity) return awsError('DuplicateRequestException')
    const record = known ?? { id: randomUUID(), quantity: Number(quantity), content: text }
    billed.set(place, record)
    return { status: 200, body: JSON.stringify({ MeteringRecordId: record.id }) }
  }
  const server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const [path = '', query = ''] = (req.url ?? '').split('?')
      const request = {
        method: req.method ?? '',
        path,
        query,
        headers: req.headers,
        body: Buffer.concat(chunks).toString(),
      }
      const body = JSON.parse(request.body) as Record<string, unknown>
      seen.push({ headers: req.headers, body })
      const fault = faults.shift()
      if (fault === 'silence') return
      if (fault === 'dropped') return void req.socket.destroy()
      const isKnown = req.headers['x-amz-target'] === 'AWSMPMeteringService.MeterUsage' && path === '/'
      const said =
        typeof fault === 'object'
          ? fault
          : (refusalOf(request) ?? (isKnown ? carryOut(body) : awsError('UnknownOperationException')))
      hooks.beforeAnswer()
      if (fault === 'lost') return void req.socket.destroy()
      if (fault === 'hanging') return
      res.writeHead(said.status, { 'content-type': 'application/x-amz-json-1.1', ...said.headers })
      res.end(said.body)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    billed,
    faults,
    hooks,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The credentials of this process, as the provider's containers have them. */
export const giveCredentials = (): void => {
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: accessKey.id,
    AWS_SECRET_ACCESS_KEY: accessKey.secret,
    AWS_SESSION_TOKEN: accessKey.session,
  })
}
