import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'ava'
import { stubRoutes } from './stub-routes.ts'
import { startStubServer } from './stub-server.ts'

test('pipelined requests beyond the limit of a connection get no answer', async (t) => {
  const server = await startStubServer(stubRoutes)
  t.teardown(() => server.stop())
  const socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  const request = 'GET /api/v1/things/1 HTTP/1.1\r\nHost: localhost\r\n\r\n'
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => void (text += piece))
  socket.write(request.repeat(1_003))
  await once(socket, 'close')
  const heads = text.split('HTTP/1.1 ').slice(1)
  t.is(heads.length, 1_000)
  t.is(new Set(heads.map((head) => head.slice(0, 3))).size, 1)
  t.false(text.includes('HTTP/1.1 503'))
  t.regex(heads.at(-1) ?? '', /\r\nConnection: close\r\n/)
})
