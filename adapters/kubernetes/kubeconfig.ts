import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { decodeJwt } from 'jose'
import { CORE_SCHEMA, load } from 'js-yaml'
import type { ClusterInfoReader } from '../../core/clusters/hubs/ports.ts'
import type { CredentialCodec, KubeconfigParser } from '../../core/clusters/ports.ts'
import { AccessConfigRefused } from '../../core/clusters/ports.ts'
import type { ClusterCredential, ClusterIdentity } from '../../core/clusters/types.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { toWireJson } from '../../core/kernel/json.ts'

type Parsed<A> = Either<Failure<'AccessConfigRefused'>, A>
const refuse = (message: string): Parsed<never> => left(AccessConfigRefused(message))

/** In bytes. A kubeconfig with inline certificates is about 6 KB. */
const maxBytes = 256 * 1024
/** The length of the record's column. */
const maxServerLength = 512
/** A kubeconfig needs none. */
const maxAliases = 10
/** The extensions of a context may be of any form. */
const maxDepth = 50
/** A handshake signs with the key on the main thread. */
const maxRsaBits = 8192

const Entry = t.record(t.string, t.unknown)
const File = t.intersection([
  t.type({
    clusters: t.array(t.type({ name: t.string, cluster: Entry })),
    users: t.array(t.type({ name: t.string, user: Entry })),
    contexts: t.array(t.type({ name: t.string, context: t.type({ cluster: t.string, user: t.string }) })),
  }),
  t.partial({ 'current-context': t.union([t.string, t.null]) }),
])
type File = t.TypeOf<typeof File>

/** Keys that would make the service read files, run programs, skip verification, or use another route. */
const refusedInCluster: Readonly<Record<string, string>> = {
  'certificate-authority': 'a certificate file; put its content into certificate-authority-data',
  'insecure-skip-tls-verify': 'a connection whose server is not verified',
  'proxy-url': 'a connection through a proxy',
}
const refusedInUser: Readonly<Record<string, string>> = {
  exec: 'a program that makes credentials; create a service account token for this platform instead',
  'auth-provider': 'an authentication plugin; create a service account token for this platform instead',
  'client-certificate': 'a certificate file; put its content into client-certificate-data',
  'client-key': 'a key file; put its content into client-key-data',
  tokenFile: 'a token file; put its content into token',
  username: 'a user name and password',
  password: 'a user name and password',
  as: 'impersonation',
  'as-uid': 'impersonation',
  'as-groups': 'impersonation',
  'as-user-extra': 'impersonation',
}

const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0)

const refusedKey = (
  entry: Readonly<Record<string, unknown>>,
  refused: Readonly<Record<string, string>>,
): string | undefined => {
  const key = Object.keys(refused).find((name) => isSet(entry[name]))
  return key === undefined ? undefined : `\`${key}\` is not accepted: it asks for ${refused[key]}.`
}

const readYaml = (text: string): Parsed<File> => {
  if (Buffer.byteLength(text) > maxBytes) return refuse('The access config is larger than 256 KiB.')
  let value: unknown
  try {
    value = load(text, { schema: CORE_SCHEMA, maxAliases, maxDepth })
  } catch {
    return refuse('The access config is not valid YAML, or it uses more aliases or nesting than a kubeconfig.')
  }
  const decoded = File.decode(value)
  return isLeft(decoded)
    ? refuse('The access config is not a kubeconfig: it needs clusters, users and contexts.')
    : right(decoded.right)
}

interface Chosen {
  readonly cluster: Readonly<Record<string, unknown>>
  readonly user: Readonly<Record<string, unknown>>
}

/** Returns the first list in which a name occurs twice. kubectl refuses such a file, whichever entry is used. */
const listWithRepeatedName = (file: File): string | undefined =>
  (['clusters', 'users', 'contexts'] as const).find(
    (list) => new Set(file[list].map(({ name }) => name)).size < file[list].length,
  )

const choose = (file: File): Parsed<Chosen> => {
  const repeated = listWithRepeatedName(file)
  if (repeated !== undefined) return refuse(`Two of the ${repeated} of the access config have the same name.`)
  const wanted = file['current-context']
  const named = file.contexts.find((each) => each.name === wanted)
  const only = file.contexts.length === 1 ? file.contexts[0] : undefined
  const context = named ?? (isSet(wanted) ? undefined : only)
  if (context === undefined)
    return refuse('The access config does not say which of its contexts to use: set current-context.')
  const cluster = file.clusters.find((each) => each.name === context.context.cluster)
  const user = file.users.find((each) => each.name === context.context.user)
  if (cluster === undefined) return refuse('The context names a cluster that the access config does not contain.')
  if (user === undefined) return refuse('The context names a user that the access config does not contain.')
  return right({ cluster: cluster.cluster, user: user.user })
}

/** Returns an https address without a trailing slash. */
const readServer = (value: unknown): Parsed<string> => {
  // Checked before any pattern is applied: matching trailing slashes takes quadratic time.
  if (typeof value !== 'string' || value === '' || value.length > maxServerLength || !URL.canParse(value))
    return refuse("The cluster's `server` is not an address.")
  const url = new URL(value)
  if (url.protocol !== 'https:') return refuse("The cluster's `server` must be reached by https.")
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return refuse("The cluster's `server` must be an address without user name, query or fragment.")
  const server = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  // Percent-encoding makes the URL longer than the input.
  return server.length > maxServerLength ? refuse("The cluster's `server` is too long.") : right(server)
}

/** Returns the PEM text of a `*-data` key, or undefined if the key is absent. */
const readPem = (entry: Readonly<Record<string, unknown>>, key: string): Parsed<string | undefined> => {
  const value = entry[key]
  if (!isSet(value)) return right(undefined)
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/=\s]+$/.test(value)) return refuse(`\`${key}\` is not base64 text.`)
  const pem = Buffer.from(value, 'base64').toString('latin1')
  return pem.includes('-----BEGIN ') ? right(pem) : refuse(`\`${key}\` does not hold PEM.`)
}

const readable = (what: string, read: () => unknown): string | undefined => {
  try {
    read()
    return undefined
  } catch {
    return `\`${what}\` cannot be read.`
  }
}

const readIdentity = (user: Readonly<Record<string, unknown>>): Parsed<ClusterIdentity> => {
  const token = user.token
  const certificate = readPem(user, 'client-certificate-data')
  if (isLeft(certificate)) return certificate
  const key = readPem(user, 'client-key-data')
  if (isLeft(key)) return key
  if (isSet(token)) {
    // A header value: characters outside visible ASCII would be cut or refused later, with a worse message.
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
      return refuse('`token` is not a bearer token.')
    return right({ kind: 'token', token: secret(token) })
  }
  const [certificatePem, keyPem] = [certificate.right, key.right]
  if (certificatePem === undefined && keyPem === undefined)
    return refuse(
      'The user carries no credential: a token, or client-certificate-data with client-key-data, is needed.',
    )
  if (certificatePem === undefined || keyPem === undefined)
    return refuse('`client-certificate-data` and `client-key-data` are only accepted together.')
  const problem =
    readable('client-certificate-data', () => new X509Certificate(certificatePem)) ??
    readable('client-key-data', () => createPrivateKey(keyPem))
  if (problem !== undefined) return refuse(problem)
  if ((createPrivateKey(keyPem).asymmetricKeyDetails?.modulusLength ?? 0) > maxRsaBits)
    return refuse('`client-key-data` is a larger key than is accepted.')
  return right({ kind: 'certificate', certificatePem, keyPem: secret(keyPem) })
}

const readTlsServerName = (value: unknown): Parsed<string | undefined> => {
  if (!isSet(value)) return right(undefined)
  return typeof value === 'string' && /^[A-Za-z0-9.-]{1,253}$/.test(value)
    ? right(value)
    : refuse('`tls-server-name` is not a host name.')
}

const parse = (text: string): Parsed<ClusterCredential> => {
  const file = readYaml(text)
  if (isLeft(file)) return file
  const chosen = choose(file.right)
  if (isLeft(chosen)) return chosen
  const { cluster, user } = chosen.right
  const refused = refusedKey(cluster, refusedInCluster) ?? refusedKey(user, refusedInUser)
  if (refused !== undefined) return refuse(refused)
  const server = readServer(cluster.server)
  if (isLeft(server)) return server
  const authority = readPem(cluster, 'certificate-authority-data')
  if (isLeft(authority)) return authority
  const authorityPem = authority.right
  const unreadable =
    authorityPem === undefined
      ? undefined
      : readable('certificate-authority-data', () => new X509Certificate(authorityPem))
  if (unreadable !== undefined) return refuse(unreadable)
  const tlsServerName = readTlsServerName(cluster['tls-server-name'])
  if (isLeft(tlsServerName)) return tlsServerName
  const identity = readIdentity(user)
  if (isLeft(identity)) return identity
  return right({ server: server.right, authorityPem, tlsServerName: tlsServerName.right, identity: identity.right })
}

/** Parses kubeconfigs by the rules of `KubeconfigParser`. No message repeats the content. */
export const makeKubeconfigParser = (): KubeconfigParser => ({ parse })

/** In characters. A kubeconfig of one cluster is about 3 KB. */
const maxLength = 256 * 1024
const ClusterInfoFile = t.type({ clusters: t.array(t.type({ cluster: t.record(t.string, t.unknown) })) })

const loaded = (text: string): unknown => {
  try {
    return load(text, { schema: CORE_SCHEMA, maxAliases: 10, maxDepth: 50 })
  } catch {
    return undefined
  }
}

/** Reads published kubeconfigs as `ClusterInfoReader` describes. */
export const clusterInfoReader: ClusterInfoReader = {
  addressOf(kubeconfig) {
    const file =
      kubeconfig.length > maxLength ? ClusterInfoFile.decode(undefined) : ClusterInfoFile.decode(loaded(kubeconfig))
    const cluster = isLeft(file) ? undefined : file.right.clusters[0]?.cluster
    if (cluster === undefined) return undefined
    const [server, authority] = [readServer(cluster['server']), readPem(cluster, 'certificate-authority-data')]
    return isLeft(server)
      ? undefined
      : { server: server.right, authorityPem: isLeft(authority) ? undefined : authority.right }
  },
}

const StoredCredential = t.intersection([
  t.type({
    format: t.literal(1),
    server: t.string,
    identity: t.union([
      t.type({ kind: t.literal('token'), token: t.string }),
      t.type({ kind: t.literal('certificate'), certificatePem: t.string, keyPem: t.string }),
    ]),
  }),
  t.partial({
    authorityPem: t.string,
    tlsServerName: t.string,
    issuer: t.type({ id: t.number, uid: t.string }),
  }),
])

/** Tokens of service accounts are JWTs; others tell nothing. The claims are not verified: the cluster does that. */
const tokenEnd = (token: string): Date | undefined => {
  try {
    const { exp } = decodeJwt(token)
    return typeof exp === 'number' && Number.isFinite(exp) ? new Date(exp * 1000) : undefined
  } catch {
    return undefined
  }
}

/** Encodes as JSON with a format number. Every format ever written must remain readable. */
export const jsonCredentialCodec: CredentialCodec = {
  encode({ server, authorityPem, tlsServerName, identity }) {
    // An earlier release reads a token that the cluster refuses, and not a form that it does not know.
    if (identity.kind === 'issued')
      return secret(
        toWireJson({
          format: 1,
          server,
          authorityPem,
          tlsServerName,
          identity: { kind: 'token', token: 'issued-for-each-user' },
          issuer: { id: identity.issuerId, uid: identity.issuerUid },
        }),
      )
    const revealed =
      identity.kind === 'token'
        ? { kind: identity.kind, token: identity.token.reveal() }
        : { kind: identity.kind, certificatePem: identity.certificatePem, keyPem: identity.keyPem.reveal() }
    return secret(toWireJson({ format: 1, server, authorityPem, tlsServerName, identity: revealed }))
  },
  decode(text) {
    const decoded = StoredCredential.decode(JSON.parse(text.reveal()))
    // The report of io-ts would quote the value.
    if (isLeft(decoded)) throw new Error('a stored cluster credential is not of the expected form')
    const { server, authorityPem, tlsServerName, identity, issuer } = decoded.right
    if (issuer !== undefined)
      return {
        server,
        authorityPem,
        tlsServerName,
        identity: { kind: 'issued', issuerId: issuer.id as AccountId, issuerUid: issuer.uid },
      }
    return {
      server,
      authorityPem,
      tlsServerName,
      identity:
        identity.kind === 'token'
          ? { kind: 'token', token: secret(identity.token) }
          : { kind: 'certificate', certificatePem: identity.certificatePem, keyPem: secret(identity.keyPem) },
    }
  },
  endOf({ identity }) {
    if (identity.kind === 'issued') return undefined
    return identity.kind === 'token'
      ? tokenEnd(identity.token.reveal())
      : new Date(new X509Certificate(identity.certificatePem).validTo)
  },
}
