import { createServer } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A call of a stand-in, with its body parsed. */
export interface StandInCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}
export interface StandInAnswer {
  readonly status: number
  readonly json?: unknown
  /** Instead of JSON. */
  readonly html?: string
}

/** The answer to a call: `hang` is none, `drop` a closed connection, and undefined leaves it to the system. */
type Rule = (call: StandInCall) => StandInAnswer | 'hang' | 'drop' | undefined

/** A dashboard system on loopback: what it was asked, and how it is made to misbehave. */
export interface StandIn {
  readonly origin: string
  readonly calls: StandInCall[]
  /** Decides on calls before the system does, until the work has ended. */
  during<A>(rule: Rule, work: () => Promise<A>): Promise<A>
  stop(): Promise<void>
}

/** Not chained: restify, in the same process, replaces `writeHead` with one that returns nothing. */
const write = (res: ServerResponse, { status, json, html }: StandInAnswer): void => {
  const type = html === undefined ? 'application/json' : 'text/html'
  res.writeHead(status, json === undefined && html === undefined ? {} : { 'content-type': type })
  res.end(html ?? (json === undefined ? '' : JSON.stringify(json)))
}

/** Starts a stand-in. A body that is no JSON is answered 400 before `answer` is asked. */
export const startStandIn = async (answer: (call: StandInCall) => StandInAnswer): Promise<StandIn> => {
  const calls: StandInCall[] = []
  const rules = new Set<Rule>()
  const server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString('utf8')
      const url = new URL(req.url ?? '', 'http://stand-in')
      let body: unknown
      try {
        body = text === '' ? undefined : JSON.parse(text)
      } catch {
        return write(res, { status: 400, json: { message: 'bad request data' } })
      }
      const { method = '', headers } = req
      const call = { method, path: url.pathname, query: url.searchParams, headers, body }
      calls.push(call)
      const instead = [...rules].map((rule) => rule(call)).find((each) => each !== undefined)
      if (instead === 'hang') return undefined
      if (instead === 'drop') return void req.socket.destroy()
      return write(res, instead ?? answer(call))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const standIn: StandIn = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    during: async (rule, work) => {
      rules.add(rule)
      try {
        return await work()
      } finally {
        rules.delete(rule)
      }
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return standIn
}

/** Returns the value at a path of keys in JSON. */
export const valueAt = (json: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    json,
  )
export const wordAt = (json: unknown, ...keys: readonly string[]): string => {
  const value = valueAt(json, ...keys)
  return typeof value === 'string' ? value : ''
}
