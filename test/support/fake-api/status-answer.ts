import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'

/** A call that ends with a Status of failure. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: string
  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

export const notFound = (resource: string, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${resource} "${name}" not found`)

export const statusOf = ({ code, reason, message }: StatusError): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
})

/** Not chained: restify, in the same process, replaces `writeHead` with one that answers nothing. */
export const sendBytes = (res: ServerResponse, status: number, contentType: string, body: string | Buffer): void => {
  if (res.writableEnded || res.destroyed) return
  res.writeHead(status, {
    'content-type': contentType,
    'audit-id': randomUUID(),
    'content-length': Buffer.byteLength(body),
  })
  res.end(body)
}

export const sendJson = (res: ServerResponse, status: number, body: unknown): void =>
  sendBytes(res, status, 'application/json', JSON.stringify(body))
