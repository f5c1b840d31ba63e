import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { MetricsConfig } from './ports.ts'
import { MetricsRefused } from './ports.ts'

/** A service of the cluster, which its API server passes requests to. Empty texts are absent. */
export interface SentService {
  readonly scheme: string
  readonly name: string
  readonly namespace: string
  readonly port: string
  readonly path: string
  readonly query: string
}

/** Where metrics are read, as a request describes it: by a URL or by a service. */
export interface SentMetrics extends Omit<MetricsConfig, 'url'> {
  readonly url: string
  readonly service: SentService | undefined
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const portForm = /^[0-9]{1,5}$/

const serviceProblems = ({ scheme, name, namespace, port, path, query }: SentService): readonly string[] => [
  ...(scheme === '' || scheme === 'http' || scheme === 'https'
    ? []
    : ['metrics.service.scheme must be http or https.']),
  ...(label.test(name) ? [] : ['metrics.service.name must be the name of a service.']),
  ...(label.test(namespace) ? [] : ['metrics.service.namespace must be the name of a namespace.']),
  ...(port === '' || (portForm.test(port) && Number(port) <= 65_535)
    ? []
    : ['metrics.service.port must be a number from 0 to 65535.']),
  ...(/[?#\\]|(?:^|\/)\.{1,2}(?:\/|$)/.test(path)
    ? ['metrics.service.path must be a path, without "." and ".." in it.']
    : []),
  ...(/[#\\ ]/.test(query) ? ['metrics.service.query must be a query string.'] : []),
]

/** Returns the address at which the API server of a cluster passes requests to a service. */
const serviceUrl = (endpoint: string, { scheme, name, namespace, port, path, query }: SentService): string => {
  const service = port === '' ? (scheme === '' ? name : `${scheme}:${name}:`) : `${scheme}:${name}:${port}`
  const rest = path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => encodeURIComponent(segment))
    .join('/')
  const search = query === '' ? '' : `?${query.replace(/^\?/, '')}`
  return `${endpoint}/api/v1/namespaces/${namespace}/services/${service.replace(/^:/, '')}/proxy/${rest}${search}`
}

const urlProblems = (text: string): readonly string[] => {
  if (!URL.canParse(text)) return ['metrics.url must be an absolute URL.']
  const url = new URL(text)
  return [
    ...(url.protocol === 'http:' || url.protocol === 'https:' ? [] : ['metrics.url must begin with https:// or http://.']),
    ...(url.username !== '' || url.password !== ''
      ? ['metrics.url must not carry a user name or password: use metrics.basicAuth.']
      : []),
    ...(url.hash !== '' ? ['metrics.url must not have a fragment.'] : []),
  ]
}

const credentialProblems = ({ basicAuth, bearerToken, tls }: SentMetrics): readonly string[] => [
  ...(basicAuth !== undefined && bearerToken !== undefined
    ? ['metrics.basicAuth and metrics.bearerToken are given: send one.']
    : []),
  ...(tls !== undefined && (tls.cert === '') !== (tls.key === '')
    ? ['metrics.tls.cert and metrics.tls.key belong together.']
    : []),
]

/**
 * Returns where metrics are read: by exactly one of `url` and `service`. Failure: MetricsRefused, with every problem.
 * @param endpoint of the API server of the cluster; empty if its record has none.
 */
export const metricsOf = (
  sent: SentMetrics,
  endpoint: string,
): Either<Failure<'MetricsRefused'>, MetricsConfig> => {
  const { service, url, basicAuth, bearerToken, tls } = sent
  const isBoth = service !== undefined && url !== ''
  const isNone = service === undefined && url === ''
  const problems = [
    ...(isBoth || isNone ? ['metrics must have exactly one of url and service.'] : []),
    ...(service === undefined || isBoth ? [] : serviceProblems(service)),
    ...(service !== undefined && endpoint === ''
      ? ['metrics.service cannot be reached: the record of the cluster has no address; use metrics.url.']
      : []),
    ...(service === undefined && !isNone ? urlProblems(url) : []),
    ...credentialProblems(sent),
  ]
  if (problems.length > 0) return left(MetricsRefused(problems.join(' '), { errors: problems }))
  const target = service === undefined ? new URL(url).href : serviceUrl(endpoint, service)
  return right({ url: target, basicAuth, bearerToken, tls })
}
