import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { BucketDirectory, BucketFailure } from '../../core/clouds/ports.ts'
import { CloudUnreachable, maxBuckets } from '../../core/clouds/ports.ts'
import type { AzureKey, StorageKey } from '../../core/clouds/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import type { GoogleSdk } from './google-buckets.ts'
import { listGoogleBuckets, loadGoogle } from './google-buckets.ts'
import type { S3Sdk } from './s3-buckets.ts'
import { listS3Buckets, loadS3 } from './s3-buckets.ts'
import type { BlobServiceClient, HttpHeaders, IHttpClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { loadSdk, toCloudFailure } from './sdk.ts'

/** Endpoints set by the operator instead of the vendors' own. */
interface StorageEndpoints {
  readonly aws: string | undefined
  readonly azure: string | undefined
  readonly google: string | undefined
  readonly googleToken: string | undefined
}

export interface BucketDirectoryOptions {
  readonly endpoints: StorageEndpoints
  /** For vendors: public addresses by https. */
  readonly vendorEgress: EgressClient
  /** For endpoints set by the operator. */
  readonly operatorEgress: EgressClient
  readonly deadlineMilliseconds?: number
  /** Replaces the vendors' packages in tests. */
  readonly load?: {
    readonly s3?: () => Promise<S3Sdk>
    readonly azure?: () => Promise<AzureSdk>
    readonly google?: () => Promise<GoogleSdk>
  }
}

const defaultDeadlineMilliseconds = 10_000

/** BucketDirectory over the vendors' own packages, each loaded on the first use of a key of its kind. */
export const makeSdkBucketDirectory = (options: BucketDirectoryOptions): BucketDirectory => {
  const { endpoints, load = {} } = options
  const through = (endpoint: string | undefined): EgressClient =>
    endpoint === undefined ? options.vendorEgress : options.operatorEgress
  const at = (endpoint: string | undefined) => ({ endpoint, egress: through(endpoint) })

  const list = (key: StorageKey, signal: AbortSignal): Outcome<BucketFailure, readonly string[]> => {
    switch (key.kind) {
      case 's3':
        return listS3Buckets(load.s3 ?? loadS3, key, at(key.places.length === 0 ? endpoints.aws : undefined), signal)
      case 'azure':
        return listAzureContainers(load.azure ?? loadAzure, key, at(endpoints.azure), signal)
      case 'google':
        return listGoogleBuckets(
          load.google ?? loadGoogle,
          key,
          {
            ...at(endpoints.google),
            tokenEndpoint: endpoints.googleToken,
            tokenEgress: through(endpoints.googleToken),
          },
          signal,
        )
    }
  }

  return {
    async list(key, signal) {
      const deadline = AbortSignal.timeout(options.deadlineMilliseconds ?? defaultDeadlineMilliseconds)
      const stopped = AbortSignal.any([signal, deadline])
      const late = new Promise<Awaited<ReturnType<typeof list>>>((resolve) => {
        stopped.addEventListener('abort', () => resolve(left(CloudUnreachable('The cloud did not answer in time.'))), {
          once: true,
        })
      })
      const listed = await Promise.race([list(key, stopped), late])
      if (isLeft(listed) && stopped.aborted) return late
      return map((names: readonly string[]) => names.slice(0, maxBuckets))(listed)
    },
  }
}

interface AzureSdk {
  readonly BlobServiceClient: typeof BlobServiceClient
  readonly StorageSharedKeyCredential: typeof StorageSharedKeyCredential
}
const loadAzure = (): Promise<AzureSdk> => import('@azure/storage-blob')

const pageSize = 1000

/** Headers in the form of the package's own type. The package reads them through `toJson` only. */
const headersOf = (headers: Iterable<readonly [string, string]>): HttpHeaders => {
  const found = Object.fromEntries(headers)
  return { toJson: () => ({ ...found }), get: (name: string) => found[name.toLowerCase()] } as unknown as HttpHeaders
}

/** Sends the package's requests through the egress client: no proxy of the environment, and only to this origin. */
const clientThrough = (egress: EgressClient, origin: string, signal: AbortSignal): IHttpClient => ({
  async sendRequest(request) {
    if (new URL(request.url).origin !== origin) throw new Error('the cloud sent us elsewhere')
    const answer = await egress.fetch(request.url, {
      method: request.method,
      headers: Object.entries(request.headers.toJson()),
      signal,
    })
    return { request, status: answer.status, headers: headersOf(answer.headers), bodyAsText: await answer.text() }
  },
})

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text)

const errorOf = (error: unknown): Parameters<typeof toCloudFailure>[0] => {
  const { statusCode, code } = error as { readonly statusCode?: number; readonly code?: string }
  return { status: statusCode, code, cause: error }
}

/** Lists the containers of a storage account. The vendor's package signs each page request with the account's key. */
const listAzureContainers = async (
  load: () => Promise<AzureSdk>,
  key: AzureKey,
  at: { readonly endpoint: string | undefined; readonly egress: EgressClient },
  signal: AbortSignal,
): Outcome<BucketFailure, readonly string[]> => {
  const sdk = await loadSdk('@azure/storage-blob', load)
  if (isLeft(sdk)) return sdk
  const secretKey = key.key.reveal()
  if (!isBase64(secretKey)) return left(toCloudFailure({ status: 403, code: 'AuthenticationFailed', cause: undefined }))
  const url =
    at.endpoint === undefined ? `https://${key.account}.blob.core.windows.net` : `${at.endpoint}/${key.account}`
  try {
    const credential = new sdk.right.StorageSharedKeyCredential(key.account, secretKey)
    const client = new sdk.right.BlobServiceClient(url, credential, {
      httpClient: clientThrough(at.egress, new URL(url).origin, signal),
      retryOptions: { maxTries: 1 },
    })
    const names: string[] = []
    for await (const page of client.listContainers({ abortSignal: signal }).byPage({ maxPageSize: pageSize })) {
      names.push(...page.containerItems.map(({ name }) => name))
      if (names.length >= maxBuckets) break
    }
    return right(names)
  } catch (error) {
    return left(toCloudFailure(errorOf(error)))
  }
}
