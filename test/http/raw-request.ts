import { connect } from 'node:net'

/** What came back on a raw connection until it closed or fell silent. */
export interface RawReply {
  readonly text: string
  readonly status: number
  readonly closed: boolean
}

/** Sends bytes as they are, and reads until the peer closes or `quietMs` pass after the last byte. */
export const rawRequest = (port: number, payload: string | Uint8Array, quietMs = 300): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const chunks: Buffer[] = []
    let timer: NodeJS.Timeout | undefined
    const finish = (closed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      const text = Buffer.concat(chunks).toString('latin1')
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), closed })
    }
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      clearTimeout(timer)
      timer = setTimeout(() => finish(false), quietMs)
    })
    socket.on('close', () => finish(true))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.write(payload)
  })
