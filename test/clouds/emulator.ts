import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenCall {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
export interface Said {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A vendor on loopback: what it saw, and how it is made to misbehave. */
export interface Emulator {
  readonly origin: string
  readonly seen: readonly SeenCall[]
  /** Answers everything so, until it is set back. `silence` answers nothing. */
  instead: Said | 'silence' | undefined
  stop(): Promise<void>
}

/** A server whose answers are made by `answer`; a request that it throws at is a fault of the test and answered 599. */
export const startEmulator = async (answer: (call: SeenCall) => Promise<Said>): Promise<Emulator> => {
  const seen: SeenCall[] = []
  const say = (res: ServerResponse, said: Said): void => {
    res.writeHead(said.status, {
      'content-type': said.body?.startsWith('{') === true ? 'application/json' : 'application/xml',
      ...said.headers,
    })
    res.end(said.body ?? '')
  }
  const server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const call = {
        method: req.method ?? '',
        url: new URL(req.url ?? '', origin),
        headers: req.headers,
        body: Buffer.concat(chunks).toString(),
      }
      seen.push(call)
      if (emulator.instead === 'silence') return
      say(
        res,
        emulator.instead ?? (await answer(call).catch((error: unknown) => ({ status: 599, body: String(error) }))),
      )
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const emulator: Emulator = {
    origin,
    seen,
    instead: undefined,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return emulator
}

/** One page of names behind a cursor. */
export const pageOf = (
  names: readonly string[],
  from: string | null,
  size: number,
): { readonly page: readonly string[]; readonly next: string | undefined } => {
  const start = from === null || from === '' ? 0 : Number(from.replace('after-', ''))
  const end = start + size
  return { page: names.slice(start, end), next: end < names.length ? `after-${end}` : undefined }
}
