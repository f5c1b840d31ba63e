import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'ava'
import type { RequestContext } from '../../composition/http/request-context.ts'
import { readBody } from '../../composition/http/body-reader.ts'
import { writeAnswer } from '../../composition/http/write-answer.ts'
import { rawRequest } from './raw-request.ts'
import { stubRoutes } from './stub-routes.ts'
import { startStubServer, type StubServer } from './stub-server.ts'

let server: StubServer
test.before(async () => {
  server = await startStubServer(stubRoutes)
})
test.after.always(() => server.stop())

const upgradeHead = (path: string, extra = ''): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`
const proxy = '/api/v1/c/acme/prod/proxy'
const linesOf = async (operation: string, status: number) => {
  for (let i = 0; i < 40; i += 1) {
    const found = server.lines.find(({ message, fields }) => message === 'request' && fields['operation'] === operation && fields['status'] === status)
    if (found !== undefined) return found
    await sleep(25)
  }
  return undefined
}

test('a connection that leaves HTTP has its line in the access log when it ends, and so has a refused one', async (t) => {
  const tunnel = connect(server.port, '127.0.0.1')
  tunnel.write(upgradeHead(`${proxy}/exec`, 'Authorization: Bearer good\r\n'))
  await once(tunnel, 'data')
  tunnel.destroy()
  t.like(await linesOf('stub.stream', 101), { fields: { userId: 7, method: 'GET' } })
  t.is((await rawRequest(server.port, upgradeHead(`${proxy}/exec`))).status, 401)
  t.like(await linesOf('stub.stream', 401), { fields: { code: 'NotAuthenticated' } })
  t.is((await rawRequest(server.port, upgradeHead(`${proxy}/refused`, 'Authorization: Bearer good\r\n'))).status, 403)
  t.truthy(await linesOf('stub.stream', 403))
})

test('escapes that are no UTF-8 in the path of an upgrade are not found, and are no error of ours', async (t) => {
  t.is((await rawRequest(server.port, upgradeHead('/api/v1/c/%ff/prod/proxy/exec'))).status, 404)
  t.deepEqual(server.lines.filter(({ level }) => level === 'error'), [])
})

test('a client that does not read its answer is given a limit; one that does is not', async (t) => {
  const timeouts: (number | undefined)[] = []
  const own = createServer((req, res) => {
    const size = req.url === '/large' ? 32 * 1024 * 1024 : 10
    writeAnswer(req, res, { requestId: 'r', setCookies: [] as readonly string[] } as RequestContext, { status: 200, headers: {}, body: Buffer.alloc(size) })
    timeouts.push(req.socket.timeout)
  })
  own.listen(0, '127.0.0.1')
  await once(own, 'listening')
  t.teardown(() => own.closeAllConnections())
  t.teardown(() => own.close())
  const port = (own.address() as AddressInfo).port
  const client = connect(port, '127.0.0.1')
  t.teardown(() => client.destroy())
  client.pause()
  client.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(own, 'request')
  await rawRequest(port, 'GET /small HTTP/1.1\r\nHost: a\r\n\r\n')
  t.true((timeouts[0] ?? 0) > 0)
  t.falsy(timeouts[1])
})

const typed = (type: string): Promise<boolean> =>
  readBody({ headers: { 'content-type': type, 'content-length': '2' }, on: () => undefined, off: () => undefined, pause: () => undefined } as unknown as IncomingMessage, 1).then(
    (read) => !read.ok && read.refusal.status === 413,
  )

test('content types of JSON are taken as clients write them, and none is searched through at length', async (t) => {
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"', 'application/merge-patch+json', 'application/json;']) t.true(await typed(type), type)
  for (const type of ['', 'text/plain', 'application/json; charset=utf-16', 'application/jsonx', `application/json${' '.repeat(9)};`]) t.false(await typed(type), type)
})
