import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import { pageOf, startEmulator, type Emulator, type Said, type SeenCall } from './emulator.ts'

export interface S3Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly buckets: readonly string[]
}

class Sha256 {
  readonly #hash: Hash | Hmac
  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    const bytes = key === undefined || typeof key === 'string' ? key : Buffer.from(key as Uint8Array)
    this.#hash = bytes === undefined ? createHash('sha256') : createHmac('sha256', bytes)
  }
  update(data: string | Uint8Array): void {
    this.#hash.update(data)
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
  reset(): void {}
}

const refusal = (status: number, code: string): Said => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>vendor text that must not come through</Message></Error>`,
})

/** The signature that the account's secret makes of the request, by the vendor's library. */
export const signatureOf = async (
  call: SeenCall,
  account: S3Account,
  region: string,
  signedHeaders: readonly string[],
): Promise<string> => {
  const signer = new SignatureV4({
    credentials: account,
    region,
    service: 's3',
    sha256: Sha256,
    applyChecksum: false,
    uriEscapePath: false,
  })
  const headers = Object.fromEntries(
    signedHeaders
      .filter((name) => name !== 'x-amz-security-token')
      .map((name) => [name, String(call.headers[name] ?? '')]),
  )
  const date = String(call.headers['x-amz-date']).replace(
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
    '$1-$2-$3T$4:$5:$6Z',
  )
  const signed = await signer.sign(
    {
      method: call.method,
      protocol: 'http:',
      hostname: call.url.hostname,
      path: call.url.pathname,
      query: Object.fromEntries(call.url.searchParams),
      headers,
    },
    { signingDate: new Date(date) },
  )
  return /Signature=([0-9a-f]+)/.exec(String(signed.headers['authorization']))?.[1] ?? 'none'
}

/** The signature that the account's secret makes of a link, by the vendor's library. */
export const presignatureOf = async (call: SeenCall, account: S3Account, region: string): Promise<string> => {
  const signer = new SignatureV4({
    credentials: account,
    region,
    service: 's3',
    sha256: Sha256,
    applyChecksum: false,
    uriEscapePath: false,
  })
  const { 'X-Amz-Date': date = '', 'X-Amz-Expires': expires, ...rest } = Object.fromEntries(call.url.searchParams)
  const query = Object.fromEntries(
    Object.entries(rest).filter(
      ([name]) => !/^X-Amz-(Signature|Credential|Algorithm|SignedHeaders|Content-Sha256)$/.test(name),
    ),
  )
  const signed = await signer.presign(
    {
      method: call.method,
      protocol: 'http:',
      hostname: call.url.hostname,
      path: call.url.pathname,
      query,
      headers: { host: call.url.host, 'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD' },
    },
    {
      signingDate: new Date(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')),
      expiresIn: Number(expires),
    },
  )
  return String(signed.query?.['X-Amz-Signature'])
}

/** The S3 protocol's list of buckets, for accounts whose signature is right. */
export const startS3Emulator = (accounts: readonly S3Account[], pageSize: number): Promise<Emulator> =>
  startEmulator(async (call) => {
    const match =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        call.headers.authorization ?? '',
      )
    if (match === null) return refusal(400, 'AuthorizationHeaderMalformed')
    const [, id, , region = '', signedHeaders = '', signature] = match
    const account = accounts.find(({ accessKeyId }) => accessKeyId === id)
    if (account === undefined) return refusal(403, 'InvalidAccessKeyId')
    if (call.headers['x-amz-security-token'] !== account.sessionToken) return refusal(403, 'InvalidToken')
    if ((await signatureOf(call, account, region, signedHeaders.split(';'))) !== signature)
      return refusal(403, 'SignatureDoesNotMatch')
    const most = Number(call.url.searchParams.get('max-buckets') ?? pageSize)
    const { page, next } = pageOf(
      account.buckets,
      call.url.searchParams.get('continuation-token'),
      Math.min(most, pageSize),
    )
    const items = page
      .map((name) => `<Bucket><Name>${name}</Name><CreationDate>2026-11-21T08:00:00.000Z</CreationDate></Bucket>`)
      .join('')
    const token = next === undefined ? '' : `<ContinuationToken>${next}</ContinuationToken>`
    return {
      status: 200,
      body: `<?xml version="1.0"?><ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>1</ID></Owner><Buckets>${items}</Buckets>${token}</ListAllMyBucketsResult>`,
    }
  })
