import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv } from 'ajv'

/** A span as OTLP/HTTP has it in JSON. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number }
}

const value = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    stringValue: { type: 'string' },
    boolValue: { type: 'boolean' },
    intValue: { type: ['integer', 'string'] },
    doubleValue: { type: 'number' },
  },
}
const closed = (properties: object, required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})
const listOf = (items: object) => ({ type: 'array', items })
const attributes = listOf(closed({ key: { type: 'string', minLength: 1 }, value }, ['key', 'value']))
const nanos = { type: 'string', pattern: '^\\d{16,20}$' }
const count = { type: 'integer', minimum: 0 }

/** The request of OTLP 1.x for traces, as its JSON mapping says: no other field, ids in lower-case hex. */
const exportRequest = closed(
  {
    resourceSpans: listOf(
      closed(
        {
          resource: closed({ attributes, droppedAttributesCount: count }, ['attributes']),
          scopeSpans: listOf(
            closed(
              {
                scope: closed({ name: { type: 'string' }, version: { type: 'string' } }, ['name']),
                spans: listOf(
                  closed(
                    {
                      traceId: { type: 'string', pattern: '^(?!0{32})[0-9a-f]{32}$' },
                      spanId: { type: 'string', pattern: '^(?!0{16})[0-9a-f]{16}$' },
                      parentSpanId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
                      traceState: { type: 'string' },
                      flags: count,
                      name: { type: 'string', minLength: 1 },
                      kind: { enum: [1, 2, 3, 4, 5] },
                      startTimeUnixNano: nanos,
                      endTimeUnixNano: nanos,
                      attributes,
                      droppedAttributesCount: count,
                      events: { type: 'array', maxItems: 0 },
                      droppedEventsCount: count,
                      links: { type: 'array', maxItems: 0 },
                      droppedLinksCount: count,
                      status: closed({ code: { enum: [0, 1, 2] } }, ['code']),
                    },
                    ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'status'],
                  ),
                ),
              },
              ['scope', 'spans'],
            ),
          ),
        },
        ['resource', 'scopeSpans'],
      ),
    ),
  },
  ['resourceSpans'],
)

const isExport = new Ajv({ allowUnionTypes: true }).compile(exportRequest)

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[] }[]
}

/** A receiver of traces that takes nothing but well-formed OTLP/HTTP in JSON, and remembers it. */
export const startOtlpReceiver = async () => {
  const spans: ReceivedSpan[] = []
  const faults: string[] = []
  const texts: string[] = []
  const authorizations: (string | undefined)[] = []
  let status = 200
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const answer = (code: number, body: string): void => {
        res.writeHead(code, { 'content-type': 'application/json' })
        res.end(body)
      }
      if (status !== 200) return answer(status, '{}')
      authorizations.push(req.headers.authorization)
      if (req.method !== 'POST' || req.url !== '/v1/traces' || req.headers['content-type'] !== 'application/json') {
        faults.push(`${req.method} ${req.url} ${req.headers['content-type']}`)
        return answer(400, '{}')
      }
      const sent = JSON.parse(text) as Export
      if (!isExport(sent)) {
        faults.push(JSON.stringify(isExport.errors))
        return answer(400, '{}')
      }
      texts.push(text)
      spans.push(...sent.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
      answer(200, '{"partialSuccess":{}}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: spans as readonly ReceivedSpan[],
    faults: faults as readonly string[],
    authorizations: authorizations as readonly (string | undefined)[],
    /** Everything that was received. */
    text: () => texts.join('\n'),
    answerWith: (code: number) => void (status = code),
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
