import type { LoadTarget } from './load/protocol.ts'

/** A GET with a bearer token as it goes over the wire. */
export const getRequest = (path: string, token: string, headers: readonly string[] = []): string =>
  [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, 'Accept: application/json', ...headers, '', ''].join('\r\n')

export const postRequest = (path: string, token: string | undefined, body: unknown): string => {
  const text = JSON.stringify(body)
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n')
}

export const upgradeRequest = (path: string, token: string): string =>
  [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0', '', ''].join('\r\n')

/** A load on loopback. */
export const loadOn = (
  id: string,
  port: number,
  request: string | readonly string[],
  connections: number,
  options: Partial<Pick<LoadTarget, 'ca' | 'kind' | 'pauseMilliseconds' | 'expectedStatus'>> = {},
): LoadTarget => ({ id, host: '127.0.0.1', port, request, connections, kind: 'answers', ...options })
