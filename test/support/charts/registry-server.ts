import type { IncomingMessage, ServerResponse } from 'node:http'
import { sha256, type ServedChart } from './repository-server.ts'
import { reply, startServer, type TestServer } from './https-server.ts'

export interface RegistryOptions {
  readonly isPlain?: boolean
  /** What the token endpoint wants. */
  readonly authorization?: string
  /** Where clients are sent for a token, instead of this server. */
  readonly realm?: string
  /** Basic instead of tokens. */
  readonly isBasic?: boolean
  /** Tags of one page. The next one is found by its link alone. */
  readonly pageSize?: number
  /** The Link header of every page, from the address of the next one. */
  readonly link?: (next: string) => string
  readonly blobRedirect?: string
  /** Answers other bytes than the manifest names. */
  readonly isLying?: boolean
}

const token = 'a-token-of-the-registry'
const chartType = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'

/** A small registry with charts below `/team`. */
export const startRegistry = async (
  charts: readonly ServedChart[],
  options: RegistryOptions = {},
): Promise<TestServer> => {
  const manifestOf = ({ bytes }: ServedChart): string =>
    JSON.stringify({
      schemaVersion: 2,
      config: { mediaType: 'application/vnd.cncf.helm.config.v1+json', digest: `sha256:${'0'.repeat(64)}`, size: 2 },
      layers: [{ mediaType: chartType, digest: `sha256:${sha256(bytes)}`, size: bytes.length }],
    })

  const isLetIn = (request: IncomingMessage): boolean =>
    options.authorization === undefined ||
    request.headers.authorization === (options.isBasic === true ? options.authorization : `Bearer ${token}`)

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? '', 'http://registry')
    if (url.pathname === '/token') {
      if (request.headers.authorization !== options.authorization) return reply(response, 401)
      return void response.end(JSON.stringify({ token }))
    }
    if (!isLetIn(request)) {
      const realm =
        options.realm ?? `${options.isPlain === true ? 'http' : 'https'}://${request.headers.host ?? ''}/token`
      const challenge =
        options.isBasic === true
          ? 'Basic realm="registry"'
          : `Bearer realm="${realm}",service="registry",scope="repository:team/web:pull"`
      return reply(response, 401, { 'www-authenticate': challenge })
    }
    const [, name = '', kind = '', reference = ''] =
      /^\/v2\/team\/([^/]+)\/(manifests|blobs|tags)\/(.+)$/.exec(url.pathname) ?? []
    const versions = charts.filter((each) => each.name === name)
    if (kind === 'tags') return tagsPage(url, versions, response)
    const chart =
      kind === 'manifests'
        ? versions.find(({ version }) => version.replaceAll('+', '_') === reference)
        : versions.find(({ bytes }) => `sha256:${sha256(bytes)}` === reference)
    if (chart === undefined) return reply(response, 404)
    if (kind === 'manifests')
      return reply(response, 200, { 'content-type': 'application/vnd.oci.image.manifest.v1+json' }, manifestOf(chart))
    if (options.blobRedirect !== undefined) return reply(response, 307, { location: options.blobRedirect })
    response.end(options.isLying === true ? Buffer.concat([chart.bytes, Buffer.of(0)]) : chart.bytes)
  }

  const tagsPage = (url: URL, versions: readonly ServedChart[], response: ServerResponse): void => {
    if (versions.length === 0) return reply(response, 404)
    const tags = versions.map(({ version }) => version.replaceAll('+', '_')).sort()
    const size = options.pageSize ?? 1000
    // An opaque mark: what is asked otherwise gets the first page, as from registries that do not know `last`.
    const start = Number(Buffer.from(url.searchParams.get('next_page') ?? '', 'base64url').toString() || 0)
    const rest = tags.slice(start)
    const next = `/v2/team/web/tags/list?next_page=${Buffer.from(String(start + size)).toString('base64url')}&n=${size}`
    const write = options.link ?? ((address) => `<${address}>; rel="next"`)
    const link = rest.length > size ? { link: write(next) } : {}
    reply(response, 200, link, JSON.stringify({ name: 'team/web', tags: rest.slice(0, size) }))
  }

  return startServer(answer, options)
}
