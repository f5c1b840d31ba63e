import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What reached the upstream of the proxy. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly tenant: string | undefined
  readonly authorization: string | undefined
  readonly cookie: string | undefined
  readonly body: string
}

export interface Upstream {
  readonly port: number
  readonly seen: readonly Seen[]
  stop(): void
}

const textOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.join()

/** Answers the tenant that a request names, as an upstream with tenants would answer its metrics. */
export const startUpstream = async (): Promise<Upstream> => {
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      const tenant = textOf(req.headers['x-scope-orgid'])
      const { method = '', url = '', headers } = req
      const { authorization, cookie } = headers
      seen.push({ method, url, tenant, authorization, cookie, body: Buffer.concat(chunks).toString('utf8') })
      res.writeHead(tenant === undefined ? 401 : 200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ status: 'success', data: { metricsOf: tenant } }))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The example, with the addresses of a test. */
export const exampleFor = (servicePort: string, upstreamPort: number, port: number): string => {
  const example = readFileSync(new URL('../../deploy/metrics/nginx.conf', import.meta.url), 'utf8')
  return example
    .replace('server 127.0.0.1:3000;', `server 127.0.0.1:${servicePort};`)
    .replace('server 127.0.0.1:9090;', `server 127.0.0.1:${upstreamPort};`)
    .replace('listen 127.0.0.1:9091;', `listen 127.0.0.1:${port};`)
}

