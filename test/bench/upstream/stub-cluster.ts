import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { readFileSync } from 'node:fs'
import { announce, given } from '../twins/ready.ts'

// Answers like a Kubernetes API server where the service asks for the cluster's identity, and sends bytes elsewhere.

const { certificate, key } = given<{ certificate: string; key: string }>()

const text = (bytes: number): string => {
  const shell = JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'bench', namespace: 'default' },
    data: { text: '' },
  })
  return `${shell.slice(0, -3)}${'moorage '.repeat(Math.ceil(bytes / 8)).slice(0, bytes - shell.length)}"}}`
}
const small = Buffer.from(text(2048))
const large = Buffer.from(text(5 * 1024 * 1024))
const piece = Buffer.alloc(64 * 1024, 'm')
const event = `${JSON.stringify({ type: 'MODIFIED', object: JSON.parse(text(460)) as unknown })}\n`
const eventsOfAWatch = 2000

const json = { 'content-type': 'application/json' }
const discovery: Readonly<Record<string, unknown>> = {
  '/api/v1/namespaces/kube-system': {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: 'kube-system', uid: 'beac4000-0000-4000-8000-000000000001' },
  },
  '/version': { major: '1', minor: '33', gitVersion: 'v1.33.0' },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/apis/apps/v1': {
    kind: 'APIResourceList',
    groupVersion: 'apps/v1',
    resources: [{ name: 'deployments', kind: 'Deployment' }],
  },
  '/api/v1/nodes': { kind: 'NodeList', apiVersion: 'v1', metadata: {}, items: [] },
}

/** Writes pieces until there are enough, no faster than the reader takes them. */
const pour = (out: Duplex | ServerResponse, chunk: Buffer | string, count: number, done: () => void): void => {
  let left = count
  const more = (): void => {
    while (left > 0 && !out.destroyed) {
      left -= 1
      if (!out.write(chunk)) return void out.once('drain', more)
    }
    if (left <= 0) done()
  }
  more()
}

/** A watch that says something ten times a second for as long as it is open, and tells the bench when it is not. */
const endlessWatch = (res: ServerResponse): void => {
  res.writeHead(200, json)
  const timer = setInterval(() => res.write(event), 100)
  res.once('close', () => {
    clearInterval(timer)
    process.send?.({ kind: 'watch closed' })
  })
}

const answer = (req: IncomingMessage, res: ServerResponse): void => {
  const [path = ''] = (req.url ?? '').split('?')
  const isWatch = /[?&]watch=(?:1|true)/.test(req.url ?? '')
  if (path.endsWith('/configmaps/small'))
    return void res.writeHead(200, { ...json, 'content-length': small.length }).end(small)
  if (path.endsWith('/configmaps/large'))
    return void res.writeHead(200, { ...json, 'content-length': large.length }).end(large)
  if (path.endsWith('/configmaps/huge')) {
    res.writeHead(200, json)
    return pour(res, piece, 8192, () => res.end())
  }
  if (path.endsWith('/events') && isWatch) return endlessWatch(res)
  if (isWatch) {
    res.writeHead(200, json)
    return pour(res, event, eventsOfAWatch, () => res.end())
  }
  const found = discovery[path]
  const body = Buffer.from(
    path === '/readyz' ? 'ok' : JSON.stringify(found ?? { kind: 'Status', status: 'Failure', code: 404 }),
  )
  res
    .writeHead(path === '/readyz' || found !== undefined ? 200 : 404, { ...json, 'content-length': body.length })
    .end(body)
}

const server = createServer(
  { cert: readFileSync(certificate), key: readFileSync(key), ALPNProtocols: ['http/1.1'] },
  answer,
)
server.keepAliveTimeout = 120_000
server.on('upgrade', (req: IncomingMessage, socket: Duplex) => {
  socket.on('error', () => socket.destroy())
  const protocol = req.headers.upgrade ?? ''
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
  socket.resume()
  pour(socket, piece, Number.MAX_SAFE_INTEGER, () => undefined)
})
announce(server)
