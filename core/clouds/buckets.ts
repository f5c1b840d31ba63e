import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AsCallerFailure, ClustersAsCaller } from '../clusters/ports.ts'
import { ClusterUnreachable } from '../clusters/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import { httpsUrl } from './credential-form.ts'
import type { SealedCredentials } from './credentials.ts'
import type { BucketDirectory, BucketFailure, CloudCredentialStore, ServiceAccountReader } from './ports.ts'
import { BucketSourceRefused, CredentialMissing, SecretForbidden, SecretMissing } from './ports.ts'
import type { Cloud, CloudName, CloudWord, CredentialSpec, S3Key, StorageKey } from './types.ts'
import { cloudNamed, cloudOf, hetznerLocations } from './types.ts'

type Made = Either<Failure<'BucketSourceRefused'>, StorageKey>
const refuseKeys = (message: string): Made => left(BucketSourceRefused(message))

/** The request's additions to a key. */
export interface RequestedKey {
  readonly gceProject: string | undefined
}

/** Decoded values of a Secret. */
type SecretData = Readonly<Record<string, string>>

const accountPattern = /^[a-z0-9]{3,24}$/
const projectPattern = /^(?:[a-z0-9.-]{1,128}:)?[a-z0-9-]{1,128}$/
const r2AccountPattern = /^[0-9a-f]{32}$/

const s3Key = (
  places: S3Key['places'],
  accessKeyId: string,
  secretAccessKey: string,
  sessionToken: string | undefined,
): StorageKey => ({
  kind: 's3',
  places,
  accessKeyId,
  secretAccessKey: secret(secretAccessKey),
  sessionToken: sessionToken === undefined || sessionToken === '' ? undefined : secret(sessionToken),
})

const azureKey = (account: string, key: string): Made =>
  accountPattern.test(account)
    ? right({ kind: 'azure', account, key: secret(key) })
    : refuseKeys('The name of the storage account must be 3 to 24 lower-case letters and digits.')

/**
 * Returns the endpoint in a secret. Only hosts that the vendor documents are accepted, so that a secret cannot direct
 * requests elsewhere.
 */
const placesOf = (
  name: CloudName,
  cloud: Cloud,
  endpoint: string,
): Either<Failure<'BucketSourceRefused'>, S3Key['places']> => {
  if (endpoint === '' && name === 'aws') return right([])
  const url = httpsUrl(endpoint)
  const found =
    url === undefined || cloud.endpointHosts === undefined
      ? null
      : cloud.endpointHosts.exec(url.slice('https://'.length))
  if (url !== undefined && found !== null) return right([{ endpoint: url, region: found[1] ?? 'auto' }])
  return left(
    BucketSourceRefused(
      'AWS_ENDPOINT in the secret must be ' +
        `${cloud.endpointHosts === undefined ? 'absent' : `https and a documented host of ${name}`}.`,
    ),
  )
}

/** Makes the keys of the clouds from stored credentials and from secrets. */
export const makeStorageKeys = (deps: { readonly serviceAccounts: ServiceAccountReader }) => {
  const googleKey = (text: string, projects: readonly (string | undefined)[]): Made => {
    const account = deps.serviceAccounts.read(secret(text))
    if (isLeft(account)) return refuseKeys(account.left.message)
    const projectId =
      [...projects, account.right.projectId].find((project) => project !== undefined && project !== '') ?? ''
    if (!projectPattern.test(projectId))
      return refuseKeys('gce_project, or the project of the service account, must be the id of a project.')
    return right({ ...account.right, kind: 'google', projectId })
  }

  /** From a stored credential of a type that the cloud supports. */
  const ofCredential = ({ type, fields }: CredentialSpec, requested: RequestedKey): Made => {
    const text = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '')
    const keys = [text('accessKeyID'), text('secretAccessKey')] as const
    switch (type) {
      case 'Aws':
        return right(s3Key([], ...keys, text('sessionToken')))
      case 'CloudflareStorage':
        return r2AccountPattern.test(text('accountID'))
          ? right(
              s3Key(
                [{ endpoint: `https://${text('accountID')}.r2.cloudflarestorage.com`, region: 'auto' }],
                ...keys,
                undefined,
              ),
            )
          : refuseKeys('The accountID of the credential must be 32 hexadecimal digits.')
      case 'HetznerStorage':
        return right(
          s3Key(
            hetznerLocations.map((location) => ({
              endpoint: `https://${location}.your-objectstorage.com`,
              region: location,
            })),
            ...keys,
            undefined,
          ),
        )
      case 'AzureStorage':
        return azureKey(text('account'), text('key'))
      case 'GoogleCloud':
        return googleKey(text('serviceAccount'), [requested.gceProject, text('projectID')])
      default:
        return refuseKeys('A credential of this type has no key for buckets.')
    }
  }

  /** From a secret of a member cluster, with the key names that backup tools use. */
  const ofSecret = (name: CloudName, cloud: Cloud, data: SecretData, requested: RequestedKey): Made => {
    const value = (key: string): string => (Object.hasOwn(data, key) ? (data[key] ?? '').trim() : '')
    const missing = (...keys: readonly string[]): string | undefined => keys.find((key) => value(key) === '')
    const needed = {
      s3: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
      azure: ['AZURE_ACCOUNT_NAME', 'AZURE_ACCOUNT_KEY'],
      google: ['GOOGLE_SERVICE_ACCOUNT_JSON_KEY'],
    }
    const absent = missing(...needed[cloud.storage])
    if (absent !== undefined) return refuseKeys(`The secret has no ${absent}.`)
    if (cloud.storage === 'azure') return azureKey(value('AZURE_ACCOUNT_NAME'), value('AZURE_ACCOUNT_KEY'))
    if (cloud.storage === 'google')
      return googleKey(value('GOOGLE_SERVICE_ACCOUNT_JSON_KEY'), [requested.gceProject, value('GOOGLE_PROJECT_ID')])
    const places = placesOf(name, cloud, value('AWS_ENDPOINT'))
    if (isLeft(places)) return places
    return right(
      s3Key(places.right, value('AWS_ACCESS_KEY_ID'), value('AWS_SECRET_ACCESS_KEY'), value('AWS_SESSION_TOKEN')),
    )
  }

  return { ofCredential, ofSecret }
}
type StorageKeys = ReturnType<typeof makeStorageKeys>

const decodeBase64 = (text: string): string | undefined => {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Returns the values of a Kubernetes Secret as text; values that are not text are omitted. Undefined if the response is
 * not a Secret.
 *
 * @internal
 */
export const readSecretData = (json: unknown): SecretData | undefined => {
  if (typeof json !== 'object' || json === null || (json as { kind?: unknown }).kind !== 'Secret') return undefined
  const data = (json as { data?: unknown }).data ?? {}
  if (typeof data !== 'object' || data === null) return undefined
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) => {
      const text = typeof value === 'string' ? decodeBase64(value) : undefined
      return text === undefined ? [] : [[key, text]]
    }),
  )
}

/** The source of the key: a stored credential, or a secret of a member cluster. Empty texts count as absent. */
export interface BucketOptions {
  readonly credential: string | undefined
  readonly gceProject: string | undefined
  readonly clusterUid: string | undefined
  readonly secretNamespace: string | undefined
  readonly secretName: string | undefined
  readonly provider: string | undefined
}

export interface ListBucketsInput extends BucketOptions {
  readonly cloud: CloudWord
}

type SourceFailure =
  | Failure<'BucketSourceRefused'>
  | Failure<'CredentialMissing'>
  | Failure<'SecretForbidden'>
  | Failure<'SecretMissing'>
  | AsCallerFailure

interface Deps {
  readonly credentials: Pick<CloudCredentialStore, 'find'>
  readonly safe: SealedCredentials
  readonly keys: StorageKeys
  readonly clusters: ClustersAsCaller
  readonly directory: BucketDirectory
}

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const dnsName = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/

type Source =
  | { readonly kind: 'credential'; readonly name: string }
  | { readonly kind: 'secret'; readonly clusterUid: string; readonly namespace: string; readonly name: string }

const given = (text: string | undefined): text is string => text !== undefined && text !== ''

/** Returns the source if exactly one is given, completely. */
const sourceOf = (options: BucketOptions): Source | undefined => {
  const { credential, clusterUid, secretNamespace, secretName } = options
  const namesSecret = given(clusterUid) || given(secretNamespace) || given(secretName)
  if (given(credential)) return namesSecret ? undefined : { kind: 'credential', name: credential }
  return given(clusterUid) && given(secretNamespace) && given(secretName)
    ? { kind: 'secret', clusterUid, namespace: secretNamespace, name: secretName }
    : undefined
}

const refuse = (message: string) => left(BucketSourceRefused(message))

const problemOf = (word: CloudWord, options: BucketOptions): string | undefined => {
  const { name } = cloudOf(word)
  if (given(options.provider) && cloudNamed(options.provider) !== name)
    return 'provider, where it is given, must be the cloud in the path.'
  if (given(options.gceProject) && name !== 'google') return 'gce_project goes with the cloud gce only.'
  return undefined
}

/**
 * Returns the names of the buckets that the caller's key can list. The key comes from one source and is used only for
 * this request.
 */
export const makeListBuckets = (deps: Deps) => {
  const readSecret = async (
    call: SignedInCall,
    source: Extract<Source, { kind: 'secret' }>,
  ): Outcome<SourceFailure, SecretData> => {
    if (!dnsLabel.test(source.namespace) || !dnsName.test(source.name))
      return refuse('secret_namespace and secret_name must be names as Kubernetes has them.')
    const target = `/api/v1/namespaces/${source.namespace}/secrets/${source.name}`
    const answer = await deps.clusters.request(call, source.clusterUid, { method: 'GET', target })
    if (isLeft(answer)) return answer
    if (answer.right.status === 403) return left(SecretForbidden('The cluster does not let you read that secret.'))
    if (answer.right.status === 404) return left(SecretMissing('The secret does not exist in the cluster.'))
    const data = answer.right.status === 200 ? readSecretData(answer.right.json) : undefined
    return data === undefined
      ? left(ClusterUnreachable('The cluster did not answer as a Kubernetes API server does.'))
      : right(data)
  }

  const keyOf = async (
    call: SignedInCall,
    word: CloudWord,
    options: BucketOptions,
    source: Source,
  ): Outcome<SourceFailure, StorageKey> => {
    const { name, cloud } = cloudOf(word)
    if (source.kind === 'secret') {
      const data = await readSecret(call, source)
      return isLeft(data) ? data : deps.keys.ofSecret(name, cloud, data.right, options)
    }
    const stored = await deps.credentials.find(call.principal.userId, source.name)
    if (stored === undefined) return left(CredentialMissing('The credential does not exist.'))
    if (!cloud.types.includes(stored.type)) {
      return refuse(
        cloud.types.length === 0
          ? 'No type of credential has a key for buckets of this cloud; name a secret of a cluster.'
          : `This cloud takes a credential of type ${cloud.types.join(' or ')}.`,
      )
    }
    return deps.keys.ofCredential(await deps.safe.open(stored), options)
  }

  return async (
    call: SignedInCall,
    { cloud: word, ...options }: ListBucketsInput,
  ): Outcome<SourceFailure | BucketFailure, readonly string[]> => {
    const problem = problemOf(word, options)
    if (problem !== undefined) return refuse(problem)
    const source = sourceOf(options)
    if (source === undefined) return refuse('Name either credential, or cluster_uid, secret_namespace and secret_name.')
    const key = await keyOf(call, word, options, source)
    return isLeft(key) ? key : deps.directory.list(key.right, call.signal)
  }
}
