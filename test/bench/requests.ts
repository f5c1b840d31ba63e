import type { LoadTarget } from './load/protocol.ts'

const authorization = (token: string | undefined): readonly string[] =>
  token === undefined ? [] : [`Authorization: Bearer ${token}`]

/** A GET as it goes over the wire, with a bearer token or without. */
export const getRequest = (path: string, token?: string): string =>
  [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...authorization(token), 'Accept: application/json', '', ''].join('\r\n')

const withBody = (method: string, path: string, token: string | undefined, body: unknown): string => {
  const text = JSON.stringify(body)
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...authorization(token),
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n')
}

/** A POST of a form, as clients of OAuth send it. */
export const formRequest = (
  path: string,
  { authorization: credential }: { readonly authorization: string },
  fields: Record<string, string>,
): string => {
  const text = new URLSearchParams(fields).toString()
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: ${credential}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n')
}

export const postRequest = (path: string, token: string | undefined, body: unknown): string =>
  withBody('POST', path, token, body)

export const patchRequest = (path: string, token: string | undefined, body: unknown): string =>
  withBody('PATCH', path, token, body)

export const upgradeRequest = (path: string, token: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n')

/** A load on loopback. */
export const loadOn = (
  id: string,
  port: number,
  request: string | readonly string[],
  connections: number,
  options: Partial<Pick<LoadTarget, 'ca' | 'kind' | 'pauseMilliseconds' | 'expectedStatus'>> = {},
): LoadTarget => ({ id, host: '127.0.0.1', port, request, connections, kind: 'answers', ...options })
