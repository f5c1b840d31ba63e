import { isLeft, left, map } from 'fp-ts/lib/Either.js'
import { CloudUnreachable, maxBuckets, type BucketDirectory, type BucketFailure } from '../../core/clouds/ports.ts'
import type { StorageKey } from '../../core/clouds/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { listAzureContainers, loadAzure, type AzureSdk } from './azure-buckets.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import { listGoogleBuckets, loadGoogle, type GoogleSdk } from './google-buckets.ts'
import { listS3Buckets, loadS3, type S3Sdk } from './s3-buckets.ts'

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
