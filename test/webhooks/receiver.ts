import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A request that a receiver got. */
export interface ReceivedEvent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Receiver {
  url(path: string): string
  /** What came to a path so far. */
  at(path: string): readonly ReceivedEvent[]
  stop(): void
}

/**
 * An HTTP server that keeps what it gets. The last segment of a path says how it answers: a status; `redirect`, to the
 * path `/elsewhere`; `hang`, never; `flood`, a body without an end.
 */
export const startReceiver = async (): Promise<Receiver> => {
  const received: ReceivedEvent[] = []
  const server = createServer(async (req, res) => {
    const path = req.url ?? ''
    received.push({ path, headers: req.headers as Record<string, string>, body: await text(req) })
    const how = path.split('/').at(-1) ?? ''
    if (how === 'hang') return
    // restify, which the process of the test has loaded, lets `writeHead` return nothing.
    if (how === 'redirect') res.setHeader('location', '/elsewhere')
    if (how === 'flood') {
      const pour = (): void => {
        while (!res.destroyed && res.write('x'.repeat(65_536)));
      }
      res.on('drain', pour)
      return pour()
    }
    res.statusCode = how === 'redirect' ? 302 : /^[2-5]\d\d$/.test(how) ? Number(how) : 200
    res.end(`answer of ${path}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    at: (path) => received.filter((each) => each.path === path),
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Verifies an event with the library for receivers. Returns the body; throws if no signature matches. */
export const verified = (secret: string, { body, headers }: ReceivedEvent): Readonly<Record<string, unknown>> =>
  new Webhook(secret).verify(body, headers) as Readonly<Record<string, unknown>>
