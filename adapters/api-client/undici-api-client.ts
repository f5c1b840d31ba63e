import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { definedFields } from '../../core/kernel/json.ts'

export interface ApiClientOptions {
  /** `https://moorage.example.com`, without a path. */
  readonly server: string
  readonly headers: Readonly<Record<string, string>>
  /** PEM certificates to trust in addition to those of the system. */
  readonly caFile?: string
}

interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}
interface ApiReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface SentEvent {
  readonly id: string
  readonly data: string
}
/** A response whose events are read as they arrive. */
interface EventAnswer {
  readonly status: number
  /** Set when the status is not 200. */
  readonly body: string
  /** Ends with the response. Throws when the connection is lost. */
  readonly events: AsyncIterable<SentEvent>
}

/** A client for the HTTP API of a Moorage server. It does not follow redirects. */
export interface ApiClient {
  send(asked: ApiRequest): Promise<ApiReply>
  openEvents(path: string, lastEventId: string | undefined, signal: AbortSignal): Promise<EventAnswer>
  close(): Promise<void>
}

/** Longer than the server's heartbeat interval: a connection that is silent for this long is dead. */
const silenceMs = 40_000
const connectMs = 10_000

/** Parses blocks of `id:` and `data:` lines. Comments and other fields are ignored. */
async function* eventsOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<SentEvent, void, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const blocks = rest.split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split(/\r?\n/)
      const valuesOf = (field: string) =>
        lines
          .filter((line) => line.startsWith(`${field}:`))
          .map((line) => line.slice(field.length + 1).replace(/^ /, ''))
      const data = valuesOf('data')
      if (data.length > 0) yield { id: valuesOf('id').at(-1) ?? '', data: data.join('\n') }
    }
  }
}

export const makeUndiciApiClient = ({ server, headers, caFile }: ApiClientOptions): ApiClient => {
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  const dispatcher = new Agent({
    connect: { timeout: connectMs, ...definedFields({ ca }) },
    bodyTimeout: silenceMs,
    headersTimeout: silenceMs,
  })
  return {
    async send(asked) {
      const reply = await request(new URL(asked.path, server), {
        method: asked.method as 'GET',
        headers: { ...asked.headers, ...headers },
        dispatcher,
        ...definedFields({ body: asked.body }),
      })
      return { status: reply.statusCode, headers: reply.headers, body: await reply.body.text() }
    },
    async openEvents(path, lastEventId, signal) {
      const reply = await request(new URL(path, server), {
        headers: { ...headers, accept: 'text/event-stream', ...definedFields({ 'last-event-id': lastEventId }) },
        dispatcher,
        signal,
      })
      const body = reply.statusCode === 200 ? '' : await reply.body.text()
      return { status: reply.statusCode, body, events: eventsOf(reply.body) }
    },
    close: () => dispatcher.destroy(),
  }
}
