import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as t from 'io-ts'
import { isRight } from 'fp-ts/lib/Either.js'
import { dump, load } from 'js-yaml'
import { makeUndiciApiClient } from '../../../adapters/api-client/undici-api-client.ts'
import { getClientConfig } from '../../../plugins/clusters/clusters.routes.ts'
import type { CommandContext, ExitCode } from '../../part/command-context.ts'
import type { ServerOptions, TaskServer } from '../../part/server-connection.ts'
import { onServer, told } from '../../part/server-connection.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'

export interface KubeconfigOptions extends ServerOptions {
  /** The command by which kubectl runs this program. */
  readonly command: string
}

const execApi = 'client.authentication.k8s.io/v1'
const lifeSeconds = 3600
/** A credential that expires sooner than this is not reused. */
const leastMs = 60_000

/** The parts of a kubeconfig of the service that are read. */
const Kubeconfig = t.type({
  contexts: t.array(
    t.type({
      context: t.partial({ extensions: t.array(t.type({ extension: t.type({ expirationTimestamp: t.string }) })) }),
    }),
  ),
  users: t.array(t.type({ user: t.type({ token: t.string }) })),
})
const Credential = t.type({ status: t.type({ token: t.string, expirationTimestamp: t.string }) })
type Credential = t.TypeOf<typeof Credential>

interface Named {
  readonly owner: string
  readonly cluster: string
}

const named = (context: CommandContext, text: string): Named | undefined => {
  const [, owner, cluster] = /^([\w.-]+)\/([\w.-]+)$/.exec(text) ?? []
  if (owner !== undefined && cluster !== undefined) return { owner, cluster }
  context.say(`A cluster is named as OWNER/CLUSTER, as acme/prod, not ${text}.`)
  return undefined
}

/** Prints a kubeconfig whose user is the result of `moorage kubeconfig credential` when kubectl runs it. */
export const kubeconfigPrint = async (
  context: CommandContext,
  options: KubeconfigOptions,
  text: string,
): Promise<ExitCode> => {
  const params = named(context, text)
  if (params === undefined) return 2
  return onServer(context, options, async ({ client, url }) => {
    const answer = await client.call(getClientConfig, { params, query: { token: 'none' } })
    if (!answer.ok) return told(context, answer.error.message)
    const files = [
      ['--token-file', options.tokenFile],
      ['--ca-file', options.caFile],
    ] as const
    const exec = {
      apiVersion: execApi,
      command: options.command,
      args: [
        'kubeconfig',
        'credential',
        text,
        '--server',
        url,
        ...files.flatMap(([name, file]) => (file === undefined ? [] : [name, resolve(file)])),
      ],
      interactiveMode: 'Never',
      provideClusterInfo: false,
      installHint: 'Put moorage on the PATH, or make the kubeconfig again with --command and the path to it.',
    }
    const config = load(answer.value) as object
    context.print(dump({ ...config, users: [{ name: 'moorage', user: { exec } }] }, { lineWidth: -1 }).trimEnd())
    return 0
  })
}

/** Prints a credential for kubectl: the stored one while the server accepts it, or else a new one. */
export const kubeconfigCredential = async (
  context: CommandContext,
  options: ServerOptions,
  text: string,
): Promise<ExitCode> => {
  const params = named(context, text)
  if (params === undefined) return 2
  return onServer(context, options, async (server) => {
    const place = placeOf(context, server, params)
    const kept = place === undefined ? undefined : readKept(place)
    if (kept !== undefined && (await isAccepted(server, options, params, kept))) return printed(context, kept)
    const answer = await server.client.call(getClientConfig, { params, query: { expirationSeconds: lifeSeconds } })
    if (!answer.ok) return told(context, answer.error.message)
    const made = credentialOf(answer.value)
    if (made === undefined)
      return told(context, 'The server answered a kubeconfig without a token: is it of this version?')
    if (place !== undefined) keep(place, made)
    return printed(context, made)
  })
}

const printed = (context: CommandContext, { status }: Credential): ExitCode => {
  context.print(toWireJson({ apiVersion: execApi, kind: 'ExecCredential', status }))
  return 0
}

const credentialOf = (kubeconfig: string): Credential | undefined => {
  const read = Kubeconfig.decode(load(kubeconfig))
  if (!isRight(read)) return undefined
  const token = read.right.users[0]?.user.token
  const expirationTimestamp = read.right.contexts[0]?.context.extensions?.[0]?.extension.expirationTimestamp
  return token === undefined || expirationTimestamp === undefined
    ? undefined
    : { status: { token, expirationTimestamp } }
}

interface Place {
  readonly folder: string
  readonly file: string
}

/**
 * Returns the path of the stored credential of this caller, server and cluster. Returns undefined without a home
 * folder.
 */
const placeOf = (
  { environment }: CommandContext,
  { url, token }: TaskServer,
  { owner, cluster }: Named,
): Place | undefined => {
  const home = environment['HOME']
  const caches = environment['XDG_CACHE_HOME'] ?? (home === undefined ? undefined : join(home, '.cache'))
  if (caches === undefined) return undefined
  const folder = join(caches, 'moorage', 'credentials')
  const name = createHash('sha256').update([url, owner, cluster, token].join('\0')).digest('hex')
  return { folder, file: join(folder, `${name}.json`) }
}

const readKept = ({ file }: Place): Credential | undefined => {
  try {
    const read = Credential.decode(JSON.parse(readFileSync(file, 'utf8')))
    return isRight(read) && Date.parse(read.right.status.expirationTimestamp) - Date.now() > leastMs
      ? read.right
      : undefined
  } catch {
    return undefined
  }
}

/** Stores the credential for the next run of kubectl. Errors are ignored, since that run can do without it. */
const keep = ({ folder, file }: Place, credential: Credential): void => {
  const making = join(folder, `${randomUUID()}.making`)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(making, toWireJson(credential), { mode: 0o600, flag: 'wx' })
    renameSync(making, file)
  } catch {
    // Ignored: the next run can do without it.
  }
}

/**
 * Reports whether the server accepts a credential. A token may be revoked before it expires, and kubectl does not
 * report why it asks again.
 */
const isAccepted = async (
  { url }: TaskServer,
  { caFile }: ServerOptions,
  { owner, cluster }: Named,
  { status }: Credential,
): Promise<boolean> => {
  const headers = { authorization: `Bearer ${status.token}` }
  const api = makeUndiciApiClient({ server: url, headers, ...definedFields({ caFile }) })
  try {
    const answer = await api.send({
      method: 'GET',
      path: `/api/v1/clusters/${owner}/${cluster}/proxy/version`,
      headers: {},
      body: undefined,
    })
    return answer.status !== 401
  } finally {
    await api.close()
  }
}
