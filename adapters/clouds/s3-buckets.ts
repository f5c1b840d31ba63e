import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ListBucketsCommand, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { maxBuckets, type BucketFailure } from '../../core/clouds/ports.ts'
import type { S3Key } from '../../core/clouds/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import { toCloudFailure, loadSdk } from './sdk.ts'
import { definedFields } from '../../core/kernel/json.ts'

export interface S3Sdk {
  readonly S3Client: typeof S3Client
  readonly ListBucketsCommand: typeof ListBucketsCommand
}
export const loadS3 = (): Promise<S3Sdk> => import('@aws-sdk/client-s3')

const vendor = { endpoint: 'https://s3.us-east-1.amazonaws.com', region: 'us-east-1' }
const pageSize = 1000

type Place = S3Key['places'][number]

/** Sets everything that the package would otherwise read from the environment or from files in the home folder. */
export const s3ConfigOf = (
  key: Omit<S3Key, 'kind' | 'places'>,
  { endpoint, region }: Place,
  egress: EgressClient,
): S3ClientConfig => ({
  endpoint,
  region,
  forcePathStyle: true,
  credentials: {
    accessKeyId: key.accessKeyId,
    secretAccessKey: key.secretAccessKey.reveal(),
    ...definedFields({ sessionToken: key.sessionToken?.reveal() }),
  },
  requestHandler: { ...egress.agents, connectionTimeout: 5_000, requestTimeout: 10_000 },
  maxAttempts: 1,
  retryMode: 'standard',
  defaultsMode: 'standard',
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  useArnRegion: false,
  followRegionRedirects: false,
  disableS3ExpressSessionAuth: true,
  disableMultiregionAccessPoints: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
  authSchemePreference: ['sigv4'],
  sigv4aSigningRegionSet: [region],
  userAgentAppId: 'moorage',
})

const errorOf = (error: unknown): Parameters<typeof toCloudFailure>[0] => {
  const { name, $metadata } = error as {
    readonly name?: string
    readonly $metadata?: { readonly httpStatusCode?: number }
  }
  return { status: $metadata?.httpStatusCode, code: name, cause: error }
}

const listAt = async (
  sdk: S3Sdk,
  key: S3Key,
  place: Place,
  egress: EgressClient,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  egress.check(new URL(place.endpoint))
  const client = new sdk.S3Client(s3ConfigOf(key, place, egress))
  const names: string[] = []
  // Other vendors return everything, and some refuse an unknown parameter.
  const paging = key.places.length === 0 ? { MaxBuckets: pageSize } : {}
  // The client is not destroyed: that would destroy the agents, and with them the connections of other lists.
  for (
    let token: string | undefined, isFirst = true;
    (isFirst || token !== undefined) && names.length < maxBuckets;
    isFirst = false
  ) {
    const page = await client.send(
      new sdk.ListBucketsCommand({ ...paging, ...definedFields({ ContinuationToken: token }) }),
      { abortSignal: signal },
    )
    names.push(...(page.Buckets ?? []).flatMap(({ Name }) => (Name === undefined ? [] : [Name])))
    token = page.ContinuationToken
  }
  return names
}

/** Lists buckets by the S3 protocol. The vendor's package signs each page request. */
export const listS3Buckets = async (
  load: () => Promise<S3Sdk>,
  key: S3Key,
  at: { readonly endpoint: string | undefined; readonly egress: EgressClient },
  signal: AbortSignal,
): Outcome<BucketFailure, readonly string[]> => {
  const sdk = await loadSdk('@aws-sdk/client-s3', load)
  if (isLeft(sdk)) return sdk
  const own = { ...vendor, ...definedFields({ endpoint: at.endpoint }) }
  try {
    const found = await Promise.all(
      (key.places.length === 0 ? [own] : key.places).map((place) => listAt(sdk.right, key, place, at.egress, signal)),
    )
    return right(found.flat())
  } catch (error) {
    return left(toCloudFailure(errorOf(error)))
  }
}
