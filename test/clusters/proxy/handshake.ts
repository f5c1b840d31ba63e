import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'

/**
 * What a client of a websocket sees: the head of the answer, and the frames until the connection ends or goes quiet.
 */
export interface Handshake {
  readonly status: string
  /** The headers that belong to the handshake, by name. This service closes the connection of a refused one. */
  readonly headers: Readonly<Record<string, string>>
  /** The frames of the server: the opcode, with the code of a close; data is joined. */
  readonly frames: readonly string[]
  readonly data: string
}

/** Where the websocket is asked for, with the headers of the caller. */
export interface Asked {
  readonly url: string
  readonly path: string
  readonly headers: readonly string[]
}

const handshakeHeaders: readonly string[] = [
  'connection',
  'upgrade',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'content-type',
]

const framesOf = (bytes: Buffer): Pick<Handshake, 'frames' | 'data'> => {
  const frames: string[] = []
  let data = ''
  for (let at = 0; at + 2 <= bytes.length;) {
    const opcode = bytes[at]! & 0x0f
    const short = bytes[at + 1]! & 0x7f
    const [length, head] = short === 126 ? [bytes.readUInt16BE(at + 2), 4] : [short, 2]
    const payload = bytes.subarray(at + head, at + head + length)
    if (opcode === 8) frames.push(`close ${payload.length >= 2 ? payload.readUInt16BE(0) : 'without code'}`)
    else if (opcode === 10) frames.push(`pong ${payload.toString('latin1')}`)
    else if (opcode === 9) frames.push('ping')
    else data += payload.toString('latin1')
    at += head + length
  }
  return { frames, data }
}

/** A frame of a client, with a mask of zeros. */
export const clientFrame = (opcode: number, payload: Buffer | string): Buffer => {
  const body = Buffer.from(payload)
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | body.length, 0, 0, 0, 0]), body])
}

/** Opens a websocket and sends frames; returns when `isDone`, or when the server has closed the connection. */
export const openWebsocket = async (
  asked: Asked,
  sent: readonly Buffer[] = [],
  isDone: (seen: Handshake) => boolean = () => false,
): Promise<Handshake> => {
  const { protocol, hostname, port, host } = new URL(asked.url)
  const socket: Socket =
    protocol === 'https:'
      ? tlsConnect({ host: hostname, port: Number(port), rejectUnauthorized: false })
      : connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect')
  const key = 'dGhlIHNhbXBsZSBub25jZQ=='
  const head = [
    `GET ${asked.path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${key}`,
    ...asked.headers,
    '',
    '',
  ]
  socket.write(head.join('\r\n'))
  let bytes = Buffer.alloc(0)
  const seen = (): Handshake => {
    const end = bytes.indexOf('\r\n\r\n')
    const [status = '', ...lines] = bytes
      .subarray(0, end < 0 ? bytes.length : end)
      .toString('latin1')
      .split('\r\n')
    const headers = Object.fromEntries(
      lines
        .map(
          (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
        )
        .filter(([name]) => handshakeHeaders.includes(name) && (name !== 'connection' || status.includes(' 101 '))),
    )
    return {
      status,
      headers,
      ...(status.includes(' 101 ') ? framesOf(bytes.subarray(end + 4)) : { frames: [], data: '' }),
    }
  }
  let isSent = false
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk])
    if (!bytes.includes('\r\n\r\n')) continue
    if (!isSent) for (const frame of sent) socket.write(frame)
    isSent = true
    if (!seen().status.includes(' 101 ') || isDone(seen())) break
  }
  socket.destroy()
  return seen()
}

/** The subprotocol by which a browser sends its token. */
export const encodedToken = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
