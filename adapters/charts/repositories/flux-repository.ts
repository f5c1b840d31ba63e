import { isLeft } from 'fp-ts/lib/Either.js'
import type { RepositoryAccess, RepositoryCredentials } from '../../../core/packages/repositories/types.ts'
import type { MemberCluster, MemberFailure } from '../../../core/clusters/ports.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { missing, refusedSource } from './source-errors.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** The cluster itself did not answer. */
export class MemberError extends Error {
  readonly failure: MemberFailure
  constructor(failure: MemberFailure) {
    super(failure.message)
    this.failure = failure
  }
}

type Fields = Readonly<Record<string, unknown>>

const dnsName = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
const apiVersions = ['v1', 'v1beta2']

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const get = async (
  cluster: MemberCluster,
  target: string,
  what: string,
  signal: AbortSignal,
): Promise<Fields | undefined> => {
  const answer = await cluster.request({ method: 'GET', target, limitBytes: 2 * 1024 * 1024, isReduced: true }, signal)
  if (isLeft(answer)) throw new MemberError(answer.left)
  const { status, json } = answer.right
  if (status === 404) return undefined
  if (status === 403) throw refusedSource(`The cluster does not let you read ${what}.`)
  if (status !== 200) throw refusedSource(`The cluster did not answer with ${what} (${status}).`)
  return fieldsOf(json)
}

const decoded = (data: Fields, key: string): string | undefined => {
  const text = textOf(data[key])
  return text === '' ? undefined : Buffer.from(text, 'base64').toString('utf8')
}

/** Returns the entry of a docker configuration for this host. */
const fromDockerConfig = (text: string | undefined, host: string): RepositoryCredentials => {
  if (text === undefined) return {}
  let auths: Fields
  try {
    auths = fieldsOf(fieldsOf(JSON.parse(text))['auths'])
  } catch {
    throw refusedSource('The Secret of the HelmRepository holds a docker configuration that cannot be read.')
  }
  const entry = fieldsOf(
    Object.entries(auths).find(([name]) => name.replace(/^https?:\/\//, '').split('/')[0] === host)?.[1],
  )
  const [, user = textOf(entry['username']), pass = textOf(entry['password'])] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(textOf(entry['auth']), 'base64').toString('utf8')) ?? []
  return user === '' ? {} : { username: user, password: secret(pass) }
}

const credentialsOf = (data: Fields, host: string): RepositoryCredentials => {
  const [username, password] = [decoded(data, 'username'), decoded(data, 'password')]
  const authorityPem = decoded(data, 'ca.crt') ?? decoded(data, 'caFile')
  const certificatePem = decoded(data, 'tls.crt') ?? decoded(data, 'certFile')
  const keyPem = decoded(data, 'tls.key') ?? decoded(data, 'keyFile')
  return {
    ...fromDockerConfig(decoded(data, '.dockerconfigjson'), host),
    ...definedFields({ username, password: username === undefined ? undefined : secret(password ?? '') }),
    ...definedFields({ authorityPem }),
    ...(certificatePem === undefined || keyPem === undefined ? {} : { certificatePem, keyPem: secret(keyPem) }),
  }
}

const secretData = async (
  cluster: MemberCluster,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Fields> => {
  if (name === '') return {}
  if (!dnsName.test(name)) throw refusedSource('The HelmRepository names a Secret by a name that none can have.')
  const found = await get(
    cluster,
    `/api/v1/namespaces/${namespace}/secrets/${name}`,
    `the Secret ${namespace}/${name} of the HelmRepository`,
    signal,
  )
  if (found === undefined)
    throw refusedSource(`The HelmRepository names the Secret ${namespace}/${name}, which is not there.`)
  return fieldsOf(found['data'])
}

const findObject = async (
  cluster: MemberCluster,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Fields> => {
  for (const version of apiVersions) {
    const target = `/apis/source.toolkit.fluxcd.io/${version}/namespaces/${namespace}/helmrepositories/${name}`
    const found = await get(cluster, target, `the HelmRepository ${namespace}/${name}`, signal)
    if (found !== undefined) return found
  }
  throw missing(`The cluster has no HelmRepository ${namespace}/${name}.`)
}

/**
 * Reads a Flux HelmRepository of the cluster and its credentials, with the caller's rights. Throws MemberError and the
 * errors that `toSourceFailure` handles.
 */
export const readFluxRepository = async (
  cluster: MemberCluster,
  at: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<RepositoryAccess> => {
  const namespace = at.namespace === '' ? 'default' : at.namespace
  if (!dnsName.test(namespace) || !dnsName.test(at.name))
    throw refusedSource('sourceNamespace and sourceName must be names as Kubernetes has them.')
  const spec = fieldsOf((await findObject(cluster, namespace, at.name, signal))['spec'])
  const provider = textOf(spec['provider'])
  if (provider !== '' && provider !== 'generic')
    throw refusedSource(
      `The HelmRepository wants credentials of the cloud ${provider}, which this service does not have. ` +
        'Give it a Secret.',
    )
  const url = textOf(spec['url']).replace(/\/+$/, '')
  const isRegistry = url.startsWith('oci://')
  if (!URL.canParse(url) || (textOf(spec['type']) === 'oci') !== isRegistry)
    throw refusedSource('The HelmRepository has no url that fits its type.')
  const host = new URL(url.replace(/^oci:/, 'https:')).host
  const credentials = [
    await secretData(cluster, namespace, textOf(fieldsOf(spec['secretRef'])['name']), signal),
    await secretData(cluster, namespace, textOf(fieldsOf(spec['certSecretRef'])['name']), signal),
  ].map((data) => credentialsOf(data, host))
  return {
    url,
    isPlainHttp: isRegistry && spec['insecure'] === true,
    credentials: Object.assign({}, ...credentials) as RepositoryCredentials,
  }
}
