import { createServer as createPlain, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeServerCertificate, type ServerCertificate } from '../server-certificate.ts'

interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly headers: IncomingMessage['headers']
}

/** One whole answer. In two calls: a service in the same process changes what the first one returns. */
export const reply = (
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: string | Uint8Array = '',
): void => {
  response.writeHead(status, headers)
  response.end(body)
}

let certificate: Promise<ServerCertificate> | undefined
/** For 127.0.0.1 and localhost; its own authority. */
const testCertificate = (): Promise<ServerCertificate> => (certificate ??= makeServerCertificate('charts'))

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly authorityPem: string
  readonly seen: SeenRequest[]
  close(): Promise<void>
}

/** A real server on loopback that notes what it was asked. */
export const startServer = async (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: { readonly isPlain?: boolean } = {},
): Promise<TestServer> => {
  const { certificatePem, keyPem } = await testCertificate()
  const seen: SeenRequest[] = []
  const listener: RequestListener = (request, response) => {
    seen.push({
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      headers: request.headers,
    })
    answer(request, response)
  }
  const server =
    options.isPlain === true ? createPlain(listener) : createServer({ cert: certificatePem, key: keyPem }, listener)
  await new Promise<void>((go) => server.listen(0, '127.0.0.1', go))
  const { port } = server.address() as AddressInfo
  return {
    port,
    seen,
    authorityPem: certificatePem,
    url: `${options.isPlain === true ? 'http' : 'https'}://localhost:${port}`,
    close: () =>
      new Promise((go) => {
        server.closeAllConnections()
        server.close(() => go())
      }),
  }
}
