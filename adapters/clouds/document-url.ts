import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

/** A bucket of an S3-compatible store. */
export interface S3Place {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Before each reference; empty, or ending in a slash. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: Secret
}

export type DocumentPlace =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 's3'; readonly s3: S3Place }

export const documentUrlForms = 'folder:PATH or s3://KEY_ID:SECRET@HOST/BUCKET/PREFIX?region=REGION'

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const knownParameters = new Set(['region', 'tls'])

/** Parses `folder:PATH` or `s3://`; key and secret are percent-decoded. Returns undefined for anything else. */
export const parseDocumentUrl = (url: string): DocumentPlace | undefined => {
  const folder = /^folder:(.+)$/s.exec(url)?.[1]
  if (folder !== undefined) return { kind: 'folder', path: folder }
  if (!url.startsWith('s3://') || !URL.canParse(url)) return undefined
  const { host, username, password, pathname, searchParams: query, hash } = new URL(url)
  const [bucket = '', ...prefix] = pathname
    .split('/')
    .slice(1)
    .filter((part) => part !== '')
  const tls = query.get('tls') ?? 'on'
  const region = query.get('region') ?? 'us-east-1'
  const [accessKeyId, key] = [decoded(username), decoded(password)]
  if (
    host === '' ||
    hash !== '' ||
    !bucketName.test(bucket) ||
    !['on', 'off'].includes(tls) ||
    !/^[a-z0-9-]{1,64}$/.test(region)
  )
    return undefined
  if (
    prefix.some((part) => !/^[\w.-]{1,100}$/.test(part)) ||
    [...query.keys()].some((name) => !knownParameters.has(name))
  )
    return undefined
  if (accessKeyId === undefined || key === undefined || accessKeyId === '' || key === '') return undefined
  const endpoint = `${tls === 'off' ? 'http' : 'https'}://${host}`
  return {
    kind: 's3',
    s3: {
      endpoint,
      region,
      bucket,
      prefix: prefix.map((part) => `${part}/`).join(''),
      accessKeyId,
      secretAccessKey: secret(key),
    },
  }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
