import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reply, startServer, type TestServer } from './https-server.ts'

export interface ServedChart {
  readonly name: string
  readonly version: string
  readonly bytes: Uint8Array
  /** Instead of the right one. */
  readonly digest?: string
  /** Instead of `charts/<name>-<version>.tgz`. */
  readonly url?: string
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const fileOf = ({ name, version }: ServedChart): string => `charts/${name}-${version}.tgz`

const indexText = (charts: readonly ServedChart[]): string => {
  const names = [...new Set(charts.map(({ name }) => name))]
  const entries = names.map((name) => {
    const versions = charts.filter((each) => each.name === name)
    return `  ${name}:\n${versions.map((each) => `  - name: ${name}\n    version: ${each.version}\n    appVersion: "1.0"\n    created: "2026-11-21T08:00:00Z"\n    digest: ${each.digest ?? sha256(each.bytes)}\n    icon: http://127.0.0.1:1/icon.png\n    urls: ["${each.url ?? fileOf(each)}"]\n`).join('')}`
  })
  return `apiVersion: v1\nentries:\n${entries.join('')}`
}

export interface RepositoryServer extends TestServer {
  /** From now on these instead. */
  serve(charts: readonly ServedChart[]): void
}

/** A real repository below `/stable`, for who has these credentials where there are any. */
export const startRepository = async (
  charts: readonly ServedChart[],
  options: { readonly isPlain?: boolean; readonly authorization?: string } = {},
): Promise<RepositoryServer> => {
  const state = { charts }
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (options.authorization !== undefined && request.headers.authorization !== options.authorization)
      return reply(response, 401)
    const path = request.url?.split('?')[0] ?? ''
    if (path === '/stable/index.yaml') {
      const text = indexText(state.charts)
      const etag = `"${sha256(Buffer.from(text)).slice(0, 16)}"`
      if (request.headers['if-none-match'] === etag) return reply(response, 304)
      return reply(response, 200, { etag }, text)
    }
    const found = state.charts.find((each) => path === `/stable/${fileOf(each)}`)
    if (found === undefined) return reply(response, 404)
    response.end(found.bytes)
  }
  const server = await startServer(answer, options)
  return {
    ...server,
    serve: (next) => {
      state.charts = next
    },
  }
}
