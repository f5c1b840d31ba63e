import { left, right } from 'fp-ts/lib/Either.js'
import type {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { DocumentStore } from '../../core/contracts/ports.ts'
import { DocumentLinkRefused, DocumentStoreDown } from '../../core/contracts/ports.ts'
import type { ContractDocument } from '../../core/contracts/types.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { S3Place } from './document-url.ts'
import { s3ConfigOf } from './s3-buckets.ts'
import type { EgressClient } from '../outbound/egress-client.ts'

/** What is used of the vendor's packages. */
interface S3ObjectSdk {
  readonly S3Client: typeof S3Client
  readonly PutObjectCommand: typeof PutObjectCommand
  readonly HeadObjectCommand: typeof HeadObjectCommand
  readonly GetObjectCommand: typeof GetObjectCommand
  readonly DeleteObjectCommand: typeof DeleteObjectCommand
  readonly getSignedUrl: typeof getSignedUrl
}
const loadS3Objects = async (): Promise<S3ObjectSdk> => {
  const [client, { getSignedUrl: sign }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@aws-sdk/s3-request-presigner'),
  ])
  const {
    S3Client: Client,
    PutObjectCommand: Put,
    HeadObjectCommand: Head,
    GetObjectCommand: Get,
    DeleteObjectCommand: Delete,
  } = client
  return {
    S3Client: Client,
    PutObjectCommand: Put,
    HeadObjectCommand: Head,
    GetObjectCommand: Get,
    DeleteObjectCommand: Delete,
    getSignedUrl: sign,
  }
}

export interface S3DocumentsOptions {
  readonly place: S3Place
  readonly egress: EgressClient
  /** Returns the value of `Content-Disposition` of a download. */
  readonly dispositionOf: (fileName: string) => string
  readonly load?: () => Promise<S3ObjectSdk>
}

/** Returns only the code: the vendor's message may repeat what it was sent. */
const down = (error: unknown): Failure<'DocumentStoreDown'> => {
  const { name, code, $metadata } = error as {
    readonly name?: string
    readonly code?: string
    readonly $metadata?: { readonly httpStatusCode?: number }
  }
  if (code === 'ERR_MODULE_NOT_FOUND')
    return DocumentStoreDown(
      'This installation cannot store documents yet: its operator must run `npm install @aws-sdk/client-s3 ' +
        '@aws-sdk/s3-request-presigner`.',
    )
  const word = [$metadata?.httpStatusCode?.toString(), code, name].find(
    (each) => each !== undefined && /^\w{1,64}$/.test(each),
  )
  return DocumentStoreDown(`The store of documents does not work (${word ?? 'unknown'}).`)
}

/**
 * DocumentStore in a bucket. Its links are signed for the store itself, so a download does not pass this service. Their
 * end is exact to the second.
 */
export const makeS3Documents = ({
  place,
  egress,
  dispositionOf,
  load = loadS3Objects,
}: S3DocumentsOptions): DocumentStore => {
  // One client for all requests: the end of a client ends every request over its agents.
  let opened: Promise<readonly [S3ObjectSdk, S3Client]> | undefined
  const open = async (): Promise<readonly [S3ObjectSdk, S3Client]> => {
    const sdk = await load()
    const config = s3ConfigOf({ ...place, sessionToken: undefined }, place, egress)
    return [
      sdk,
      new sdk.S3Client({
        ...config,
        requestHandler: { ...egress.agents, connectionTimeout: 5_000, requestTimeout: 60_000 },
      }),
    ]
  }
  const within = async <A>(
    work: (sdk: S3ObjectSdk, client: S3Client) => Promise<A>,
  ): Outcome<Failure<'DocumentStoreDown'>, A> => {
    try {
      egress.check(new URL(place.endpoint))
      opened ??= open()
      return right(await work(...(await opened)))
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') opened = undefined
      return left(down(error))
    }
  }
  const objectOf = ({ ref }: Pick<ContractDocument, 'ref'>) => ({ Bucket: place.bucket, Key: `${place.prefix}${ref}` })
  return {
    put: (document, bytes) =>
      within(async (sdk, client) => {
        const put = new sdk.PutObjectCommand({
          ...objectOf(document),
          Body: bytes,
          ContentLength: bytes.length,
          ContentType: document.mediaType,
        })
        await client.send(put)
      }),
    read: (ref) =>
      within(async (sdk, client) => {
        try {
          const { Body } = await client.send(new sdk.GetObjectCommand(objectOf({ ref })))
          return await Body?.transformToByteArray()
        } catch (error) {
          if ((error as { readonly name?: string }).name === 'NoSuchKey') return undefined
          throw error
        }
      }),
    remove: (ref) =>
      within(async (sdk, client) => {
        await client.send(new sdk.DeleteObjectCommand(objectOf({ ref })))
      }),
    link: (document, now, until) =>
      within(async (sdk, client) => {
        await client.send(new sdk.HeadObjectCommand(objectOf(document)))
        const shown = {
          ResponseContentDisposition: dispositionOf(document.fileName),
          ResponseContentType: document.mediaType,
        }
        const expiresIn = Math.round((until.getTime() - now.getTime()) / 1000)
        return sdk.getSignedUrl(client, new sdk.GetObjectCommand({ ...objectOf(document), ...shown }), {
          expiresIn,
          signingDate: now,
        })
      }),
    open: async () => left(DocumentLinkRefused('The link to the document is not valid, or has expired.')),
  }
}
