import type { IncomingMessage, ServerResponse } from 'node:http'
import { stringify } from 'yaml'
import { reply, startServer } from '../support/charts/https-server.ts'
import type { TestChart } from './chart-archive.ts'

/** A chart repository on loopback, as `helm repo` knows them. */
export interface ChartServer {
  /** Without a trailing slash. */
  readonly url: string
  /** Method and path of each request, oldest first. */
  readonly requests: readonly string[]
  /** Names that the Authorization headers carried, `''` for none. */
  readonly authorizations: readonly string[]
  /** Offers one more chart. */
  add(chart: TestChart): void
  /** Offers none of that name any more. */
  remove(name: string): void
  /** One that is offered: the newest added of that name. */
  chart(name: string): TestChart
  /** Answers this path itself. */
  on(path: string, answer: (req: IncomingMessage, res: ServerResponse) => void): void
  /** As it was before `on`. */
  off(path: string): void
  stop(): Promise<void>
}

const fileOf = ({ name, version }: TestChart): string => `${name}-${version}.tgz`

export const startChartServer = async (...charts: readonly TestChart[]): Promise<ChartServer> => {
  let offered = [...charts]
  const own = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>()

  const index = (): string => {
    const entries: Record<string, object[]> = {}
    for (const chart of offered) {
      ;(entries[chart.name] ??= []).push({
        ...chart.metadata,
        urls: [fileOf(chart)],
        digest: chart.digest,
        created: '2026-01-01T00:00:00Z',
      })
    }
    return stringify({ apiVersion: 'v1', generated: '2026-01-01T00:00:00Z', entries })
  }

  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    const path = (req.url ?? '/').split('?')[0] ?? '/'
    const special = own.get(path)
    if (special !== undefined) return special(req, res)
    if (path === '/index.yaml') return reply(res, 200, { 'content-type': 'application/yaml' }, index())
    const chart = offered.find((each) => `/${fileOf(each)}` === path)
    if (chart === undefined) return reply(res, 404, { 'content-type': 'text/plain' }, 'not found')
    reply(res, 200, { 'content-type': 'application/gzip' }, chart.archive)
  }
  const server = await startServer(answer, { isPlain: true })
  return {
    url: server.url,
    get requests() {
      return server.seen.map(({ method, path }) => `${method} ${path}`)
    },
    get authorizations() {
      return server.seen.map(({ authorization }) => authorization ?? '')
    },
    chart: (name) => {
      const found = offered.findLast((each) => each.name === name)
      if (found === undefined) throw new Error(`the chart ${name} is not offered`)
      return found
    },
    remove: (name) => void (offered = offered.filter((chart) => chart.name !== name)),
    add: (chart) => void offered.push(chart),
    on: (path, special) => void own.set(path, special),
    off: (path) => void own.delete(path),
    stop: server.close,
  }
}
