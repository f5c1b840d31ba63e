import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Exchange } from '../../core/kernel/exchange.ts'

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/**
 * One request of helm's in the terms of the core.
 * @param path below the secret segment
 * @param onStatus is told what helm is answered
 */
export const loopbackExchange = (req: IncomingMessage, res: ServerResponse, path: string, query: string, onStatus: (status: number) => void): Exchange => ({
  method: req.method ?? 'GET',
  path,
  query,
  headers: req.headers,
  body: announcesBody(req) ? req : undefined,
  respond(status, headers) {
    if (res.destroyed || res.headersSent) return
    onStatus(status)
    res.writeHead(status, headers.flat())
  },
  write(chunk) {
    return res.destroyed ? true : res.write(chunk)
  },
  onDrain(listener) {
    res.once('drain', listener)
  },
  end() {
    if (!res.destroyed) res.end()
  },
  abort() {
    res.destroy()
  },
  // A stop ends helm, and with it what it asks.
  onStop: () => undefined,
  get hasResponded() {
    return res.headersSent
  },
})

/** Answers as an API server refuses, so that helm shows the message. */
export const answerStatus = (res: ServerResponse, code: number, reason: string, message: string): void => {
  if (res.destroyed || res.headersSent) return void res.destroy()
  res.writeHead(code, ['content-type', 'application/json'])
  res.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }))
}
