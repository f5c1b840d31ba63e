import { createPrivateKey } from 'node:crypto'
import type { GetBucketsRequest, Storage } from '@google-cloud/storage'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { BucketFailure, ServiceAccountReader } from '../../core/clouds/ports.ts'
import { CloudCredentialRefused, maxBuckets } from '../../core/clouds/ports.ts'
import type { GoogleKey } from '../../core/clouds/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import { loadSdk, toCloudFailure } from './sdk.ts'

export interface GoogleSdk {
  readonly Storage: typeof Storage
}
export const loadGoogle = (): Promise<GoogleSdk> => import('@google-cloud/storage')

const storageOrigin = 'https://storage.googleapis.com'
/** The package sends its assertion here, regardless of the key file. */
const tokenUrl = 'https://oauth2.googleapis.com/token'
const pageSize = 1000

export interface GooglePlaces {
  readonly endpoint: string | undefined
  readonly tokenEndpoint: string | undefined
  readonly egress: EgressClient
  readonly tokenEgress: EgressClient
}

/** Sends the package's requests through the doors, only to its token endpoint and its storage. */
const fetchThrough = (places: GooglePlaces, signal: AbortSignal): typeof fetch =>
  (async (input: string | URL, init: RequestInit = {}) => {
    const url = new URL(input)
    const { method, body } = init
    const sent = {
      method: method ?? 'GET',
      headers: [...new Headers(init.headers)],
      body: body === undefined || body === null ? null : String(body as URLSearchParams | string),
      signal,
    }
    if (url.href === tokenUrl)
      return places.tokenEgress.fetch(
        places.tokenEndpoint === undefined ? tokenUrl : `${places.tokenEndpoint}/token`,
        sent,
      )
    if (url.origin === storageOrigin)
      return places.egress.fetch(`${places.endpoint ?? storageOrigin}${url.pathname}${url.search}`, sent)
    throw new Error('the package asks for an address that is not needed')
  }) as unknown as typeof fetch

const codeOf = (data: unknown): string | undefined => {
  const error = (data as { readonly error?: unknown } | undefined)?.error
  if (typeof error === 'string') return error
  const { status, errors } = (error ?? {}) as {
    readonly status?: unknown
    readonly errors?: readonly { readonly reason?: unknown }[]
  }
  const code = errors?.[0]?.reason ?? status
  return typeof code === 'string' ? code : undefined
}

const errorOf = (error: unknown): Parameters<typeof toCloudFailure>[0] => {
  const { response } = error as { readonly response?: { readonly status?: number; readonly data?: unknown } }
  return { status: response?.status, code: codeOf(response?.data), cause: error }
}

/**
 * Returns a client whose requests are signed by the package and sent by us: the package's own transport follows
 * redirects and reads the environment.
 */
const clientFor = (sdk: GoogleSdk, key: GoogleKey, places: GooglePlaces, signal: AbortSignal): Storage => {
  const storage = new sdk.Storage({
    projectId: key.projectId,
    clientOptions: {
      transporterOptions: {
        fetchImplementation: fetchThrough(places, signal),
        retryConfig: { retry: 0, noResponseRetries: 0 },
      },
    },
  })
  // Equivalent to the option `credentials`, without the warning that it prints. Only these two keys of a file are ever
  // passed.
  storage.authClient.jsonContent = { client_email: key.clientEmail, private_key: key.privateKey.reveal() }
  storage.request = (asked, callback) => {
    const url = new URL(`${storageOrigin}/storage/v1${asked.uri}`)
    for (const [name, value] of Object.entries((asked.qs ?? {}) as Record<string, string | number>))
      url.searchParams.set(name, String(value))
    void storage.authClient
      .request<Record<string, unknown>>({ url: url.href, responseType: 'json', retry: false })
      .then(
        ({ data }) => callback(null, data),
        (error: Error) => callback(error),
      )
  }
  return storage
}

/** Lists the buckets of a project. The vendor's package makes and uses the assertion and the access token. */
export const listGoogleBuckets = async (
  load: () => Promise<GoogleSdk>,
  key: GoogleKey,
  places: GooglePlaces,
  signal: AbortSignal,
): Outcome<BucketFailure, readonly string[]> => {
  const sdk = await loadSdk('@google-cloud/storage', load)
  if (isLeft(sdk)) return sdk
  try {
    const storage = clientFor(sdk.right, key, places, signal)
    const names: string[] = []
    let query: GetBucketsRequest | null = { project: key.projectId, maxResults: pageSize, autoPaginate: false }
    while (query !== null && names.length < maxBuckets) {
      const [buckets, next]: readonly [readonly { readonly name: string }[], GetBucketsRequest | null, unknown] =
        await storage.getBuckets(query)
      names.push(...buckets.map(({ name }) => name))
      query = next === null ? null : { ...next, autoPaginate: false }
    }
    return right(names)
  } catch (error) {
    return left(toCloudFailure(errorOf(error)))
  }
}

const refuse = (message: string) => left(CloudCredentialRefused(message))
const least = 2048

const isUsableKey = (pem: string): boolean => {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    return key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= least
  } catch {
    return false
  }
}

const objectOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads key files of service accounts. Only the project, the address and the key are used; the endpoints in the file
 * never are.
 */
export const serviceAccountReader: ServiceAccountReader = {
  read(text) {
    const file = objectOf(text.reveal())
    if (file === undefined) return refuse('The service account must be the JSON text of its key file.')
    const said = (name: string): string => (typeof file[name] === 'string' ? file[name] : '')
    if (said('type') !== 'service_account')
      return refuse(
        'Only key files of type service_account are accepted: others fetch a credential elsewhere or run a program.',
      )
    if (file['universe_domain'] !== undefined && file['universe_domain'] !== 'googleapis.com')
      return refuse('The universe_domain of the service account must be googleapis.com.')
    if (!/^[^\s@]{1,128}@[a-z0-9.-]{1,190}$/i.test(said('client_email')))
      return refuse('The service account has no client_email.')
    if (!isUsableKey(said('private_key')))
      return refuse(
        `The private_key of the service account cannot be read: it must be an RSA key of at least ${least} ` +
          'bits in PEM, without a passphrase.',
      )
    return right({
      projectId: said('project_id'),
      clientEmail: said('client_email'),
      privateKey: secret(said('private_key')),
      privateKeyId: said('private_key_id') === '' ? undefined : said('private_key_id'),
    })
  },
}
