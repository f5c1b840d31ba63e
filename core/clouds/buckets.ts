import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AsCallerFailure, ClustersAsCaller } from '../clusters/ports.ts'
import { ClusterUnreachable } from '../clusters/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { cloudNamed, cloudOf, type CloudWord } from './clouds.ts'
import type { SealedCredentials } from './credentials.ts'
import {
  BucketSourceRefused, CredentialMissing, SecretForbidden, SecretMissing,
  type BucketDirectory, type BucketFailure, type CloudCredentialStore,
} from './ports.ts'
import { readSecretData } from './storage-keys.ts'
import type { SecretData, StorageKeys } from './storage-keys.ts'
import type { StorageKey } from './types.ts'

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

type SourceFailure = Failure<'BucketSourceRefused'> | Failure<'CredentialMissing'> | Failure<'SecretForbidden'> | Failure<'SecretMissing'> | AsCallerFailure

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
  if (given(options.provider) && cloudNamed(options.provider) !== name) return 'provider, where it is given, must be the cloud in the path.'
  if (given(options.gceProject) && name !== 'google') return 'gce_project goes with the cloud gce only.'
  return undefined
}

/** Returns the names of the buckets that the caller's key can list. The key comes from one source and is used only for this request. */
export const makeListBuckets = (deps: Deps) => {
  const readSecret = async (call: SignedInCall, source: Extract<Source, { kind: 'secret' }>): Outcome<SourceFailure, SecretData> => {
    if (!dnsLabel.test(source.namespace) || !dnsName.test(source.name)) return refuse('secret_namespace and secret_name must be names as Kubernetes has them.')
    const target = `/api/v1/namespaces/${source.namespace}/secrets/${source.name}`
    const answer = await deps.clusters.request(call, source.clusterUid, { method: 'GET', target })
    if (isLeft(answer)) return answer
    if (answer.right.status === 403) return left(SecretForbidden('The cluster does not let you read that secret.'))
    if (answer.right.status === 404) return left(SecretMissing('The secret does not exist in the cluster.'))
    const data = answer.right.status === 200 ? readSecretData(answer.right.json) : undefined
    return data === undefined ? left(ClusterUnreachable('The cluster did not answer as a Kubernetes API server does.')) : right(data)
  }

  const keyOf = async (call: SignedInCall, word: CloudWord, options: BucketOptions, source: Source): Outcome<SourceFailure, StorageKey> => {
    const { name, cloud } = cloudOf(word)
    if (source.kind === 'secret') {
      const data = await readSecret(call, source)
      return isLeft(data) ? data : deps.keys.ofSecret(name, cloud, data.right, options)
    }
    const stored = await deps.credentials.find(call.principal.userId, source.name)
    if (stored === undefined) return left(CredentialMissing('The credential does not exist.'))
    if (!cloud.types.includes(stored.type)) {
      return refuse(cloud.types.length === 0 ? 'No type of credential has a key for buckets of this cloud; name a secret of a cluster.' : `This cloud takes a credential of type ${cloud.types.join(' or ')}.`)
    }
    return deps.keys.ofCredential(await deps.safe.open(stored), options)
  }

  return async (call: SignedInCall, { cloud: word, ...options }: ListBucketsInput): Outcome<SourceFailure | BucketFailure, readonly string[]> => {
    const problem = problemOf(word, options)
    if (problem !== undefined) return refuse(problem)
    const source = sourceOf(options)
    if (source === undefined) return refuse('Name either credential, or cluster_uid, secret_namespace and secret_name.')
    const key = await keyOf(call, word, options, source)
    return isLeft(key) ? key : deps.directory.list(key.right, call.signal)
  }
}
