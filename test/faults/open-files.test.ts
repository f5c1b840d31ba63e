// process: own - breaks what a service needs
import { connect, type Socket } from 'node:net'
import test from 'ava'
import { request } from 'undici'
import { connectionLimit } from '../../composition/runtime/http/connections.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

/** A service that may have few files open, and a client that opens as many connections as it can. */

const openFiles = 240

test('a third of the files is for clients, 20,000 connections at most', (t) => {
  const limits = (soft: string): string =>
    `Max processes             95000                95000                processes\nMax open files            ${soft} 1048576              files\n`
  t.is(connectionLimit(limits('1024')), 341)
  t.is(connectionLimit(limits('1048576')), 20_000)
  t.is(connectionLimit(limits('unlimited')), 20_000)
  t.is(connectionLimit(''), 20_000)
})

test('health and metrics answer while clients hold all connections', async (t) => {
  const service = await startServiceProcess({
    settings: { MOORAGE_TLS: 'false' },
    enter: ['sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`],
  })
  t.teardown(() => service.stop())
  const { hostname, port } = new URL(service.baseUrl)
  const sockets: Socket[] = []
  let cut = 0
  for (let count = 0; count < openFiles + 60; count += 1) {
    const socket = connect(Number(port), hostname)
    socket
      .on('error', () => undefined)
      .on('close', () => {
        cut += 1
      })
    socket.write('GET /api/v1/version HTTP/1.1\r\n')
    sockets.push(socket)
  }
  await until('the connections beyond the limit are closed', async () => cut >= openFiles + 60 - openFiles / 3)
  for (const path of ['/livez', '/readyz', '/metrics']) {
    const answer = await request(`${service.opsUrl}${path}`)
    await answer.body.dump()
    t.is(answer.statusCode, 200, path)
  }
  for (const socket of sockets) socket.destroy()
  await until(
    'the service answers again',
    async () => (await service.send('GET', '/api/v1/version').catch(() => undefined))?.status === 200,
  )
  t.is(service.stderr().includes('EMFILE'), false)
})
