import { createServer, type AddressInfo } from 'node:net'

/** A socket on loopback that must not be reached; it counts who does. */
export const countingSocket = async (host = '127.0.0.1') => {
  let reached = 0
  const server = createServer((socket) => {
    reached += 1
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecret')
  })
  await new Promise<void>((go) => server.listen(0, host, go))
  return {
    port: (server.address() as AddressInfo).port,
    reached: () => reached,
    close: () => new Promise<void>((go) => void server.close(() => go())),
  }
}
