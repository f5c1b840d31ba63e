import { createHash } from 'node:crypto'
import { startEmulator, type Emulator, type Said, type SeenCall } from '../clouds/emulator.ts'
import { presignatureOf, signatureOf } from '../clouds/s3-emulator.ts'

const account = { accessKeyId: 'AKIAHARBOUR', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', buckets: [] }

/** An S3-compatible store with one account. */
export interface S3Store {
  readonly emulator: Emulator
  /** By path. */
  readonly objects: ReadonlyMap<string, { readonly body: string; readonly type: string }>
  /** As the setting for documents takes it. */
  readonly url: string
  readonly secretAccessKey: string
}

/**
 * Objects in memory, for requests and links whose signature is right and which have not expired by the clock of the
 * store.
 */
export const startS3Store = async (now: () => Date): Promise<S3Store> => {
  const objects = new Map<string, { readonly body: string; readonly type: string }>()
  const refusal = (status: number, code: string): Said => ({
    status,
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>vendor text</Message></Error>`,
  })
  const fault = async (call: SeenCall): Promise<string | undefined> => {
    if (call.url.searchParams.has('X-Amz-Signature')) {
      const query = call.url.searchParams
      const start = Date.parse(
        String(query.get('X-Amz-Date')).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
      )
      if (now().getTime() >= start + Number(query.get('X-Amz-Expires')) * 1000) return 'AccessDenied'
      return (await presignatureOf(call, account, 'eu-central-1')) === query.get('X-Amz-Signature')
        ? undefined
        : 'SignatureDoesNotMatch'
    }
    const [, signedHeaders = '', signature] =
      /SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(call.headers.authorization ?? '') ?? []
    const hash = call.headers['x-amz-content-sha256']
    if (
      call.method === 'PUT' &&
      hash !== 'UNSIGNED-PAYLOAD' &&
      hash !== createHash('sha256').update(call.body).digest('hex')
    )
      return 'XAmzContentSHA256Mismatch'
    return (await signatureOf(call, account, 'eu-central-1', signedHeaders.split(';'))) === signature
      ? undefined
      : 'SignatureDoesNotMatch'
  }
  const emulator: Emulator = await startEmulator(async (call) => {
    const wrong = await fault(call)
    if (wrong !== undefined) return refusal(403, wrong)
    const { pathname, searchParams } = call.url
    const found = objects.get(pathname)
    if (call.method === 'PUT') objects.set(pathname, { body: call.body, type: String(call.headers['content-type']) })
    if (call.method === 'DELETE') {
      objects.delete(pathname)
      return { status: 204 }
    }
    if (call.method === 'PUT') return { status: 200 }
    if (found === undefined) return call.method === 'HEAD' ? { status: 404 } : refusal(404, 'NoSuchKey')
    if (call.method === 'HEAD') return { status: 200, headers: { 'content-type': found.type } }
    return {
      status: 200,
      body: found.body,
      headers: {
        'content-type': searchParams.get('response-content-type') ?? found.type,
        'content-disposition': searchParams.get('response-content-disposition') ?? '',
      },
    }
  })
  const place = emulator.origin.replace(
    'http://',
    `s3://${account.accessKeyId}:${encodeURIComponent(account.secretAccessKey)}@`,
  )
  const url = `${place}/contracts/moorage/documents?region=eu-central-1&tls=off`
  return { emulator, objects, url, secretAccessKey: account.secretAccessKey }
}
