import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { secret } from '../kernel/secret.ts'
import type { Cloud, CloudName } from './clouds.ts'
import { hetznerLocations } from './clouds.ts'
import { httpsUrl } from './credential-form.ts'
import type { ServiceAccountReader } from './ports.ts'
import { BucketSourceRefused } from './ports.ts'
import type { CredentialSpec, S3Key, StorageKey } from './types.ts'

type Made = Either<Failure<'BucketSourceRefused'>, StorageKey>
const refuse = (message: string): Made => left(BucketSourceRefused(message))

/** The request's additions to a key. */
export interface KeyWish {
  readonly gceProject: string | undefined
}

/** Decoded values of a Secret. */
export type SecretData = Readonly<Record<string, string>>

const accountPattern = /^[a-z0-9]{3,24}$/
const projectPattern = /^(?:[a-z0-9.-]{1,128}:)?[a-z0-9-]{1,128}$/
const r2AccountPattern = /^[0-9a-f]{32}$/

const s3Key = (places: S3Key['places'], accessKeyId: string, secretAccessKey: string, sessionToken: string | undefined): StorageKey => ({
  kind: 's3',
  places,
  accessKeyId,
  secretAccessKey: secret(secretAccessKey),
  sessionToken: sessionToken === undefined || sessionToken === '' ? undefined : secret(sessionToken),
})

const azureKey = (account: string, key: string): Made =>
  accountPattern.test(account)
    ? right({ kind: 'azure', account, key: secret(key) })
    : refuse('The name of the storage account must be 3 to 24 lower-case letters and digits.')

/** Returns the endpoint in a secret. Only hosts that the vendor documents are accepted, so that a secret cannot direct requests elsewhere. */
const placesOf = (name: CloudName, cloud: Cloud, endpoint: string): Either<Failure<'BucketSourceRefused'>, S3Key['places']> => {
  if (endpoint === '' && name === 'aws') return right([])
  const url = httpsUrl(endpoint)
  const found = url === undefined || cloud.endpointHosts === undefined ? null : cloud.endpointHosts.exec(url.slice('https://'.length))
  if (url !== undefined && found !== null) return right([{ endpoint: url, region: found[1] ?? 'auto' }])
  return left(BucketSourceRefused(`AWS_ENDPOINT in the secret must be ${cloud.endpointHosts === undefined ? 'absent' : `https and a documented host of ${name}`}.`))
}

/** Makes the keys of the clouds from stored credentials and from secrets. */
export const makeStorageKeys = (deps: { readonly serviceAccounts: ServiceAccountReader }) => {
  const googleKey = (text: string, projects: readonly (string | undefined)[]): Made => {
    const account = deps.serviceAccounts.read(secret(text))
    if (isLeft(account)) return refuse(account.left.message)
    const projectId = [...projects, account.right.projectId].find((project) => project !== undefined && project !== '') ?? ''
    if (!projectPattern.test(projectId)) return refuse('gce_project, or the project of the service account, must be the id of a project.')
    return right({ ...account.right, kind: 'google', projectId })
  }

  /** From a stored credential of a type that the cloud supports. */
  const ofCredential = ({ type, fields }: CredentialSpec, wish: KeyWish): Made => {
    const text = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '')
    const keys = [text('accessKeyID'), text('secretAccessKey')] as const
    switch (type) {
      case 'Aws':
        return right(s3Key([], ...keys, text('sessionToken')))
      case 'CloudflareStorage':
        return r2AccountPattern.test(text('accountID'))
          ? right(s3Key([{ endpoint: `https://${text('accountID')}.r2.cloudflarestorage.com`, region: 'auto' }], ...keys, undefined))
          : refuse('The accountID of the credential must be 32 hexadecimal digits.')
      case 'HetznerStorage':
        return right(s3Key(hetznerLocations.map((location) => ({ endpoint: `https://${location}.your-objectstorage.com`, region: location })), ...keys, undefined))
      case 'AzureStorage':
        return azureKey(text('account'), text('key'))
      case 'GoogleCloud':
        return googleKey(text('serviceAccount'), [wish.gceProject, text('projectID')])
      default:
        return refuse('A credential of this type has no key for buckets.')
    }
  }

  /** From a secret of a member cluster, with the key names that backup tools use. */
  const ofSecret = (name: CloudName, cloud: Cloud, data: SecretData, wish: KeyWish): Made => {
    const value = (key: string): string => (Object.hasOwn(data, key) ? (data[key] ?? '').trim() : '')
    const missing = (...keys: readonly string[]): string | undefined => keys.find((key) => value(key) === '')
    const needed = { s3: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'], azure: ['AZURE_ACCOUNT_NAME', 'AZURE_ACCOUNT_KEY'], google: ['GOOGLE_SERVICE_ACCOUNT_JSON_KEY'] }
    const absent = missing(...needed[cloud.storage])
    if (absent !== undefined) return refuse(`The secret has no ${absent}.`)
    if (cloud.storage === 'azure') return azureKey(value('AZURE_ACCOUNT_NAME'), value('AZURE_ACCOUNT_KEY'))
    if (cloud.storage === 'google') return googleKey(value('GOOGLE_SERVICE_ACCOUNT_JSON_KEY'), [wish.gceProject, value('GOOGLE_PROJECT_ID')])
    const places = placesOf(name, cloud, value('AWS_ENDPOINT'))
    if (isLeft(places)) return places
    return right(s3Key(places.right, value('AWS_ACCESS_KEY_ID'), value('AWS_SECRET_ACCESS_KEY'), value('AWS_SESSION_TOKEN')))
  }

  return { ofCredential, ofSecret }
}
export type StorageKeys = ReturnType<typeof makeStorageKeys>

const decodeBase64 = (text: string): string | undefined => {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Returns the values of a Kubernetes Secret as text; values that are not text are omitted. Undefined if the response is not a Secret. */
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
