import { StorageSharedKeyCredential } from '@azure/storage-blob'
import { pageOf, startEmulator, type Emulator, type Said, type SeenCall } from './emulator.ts'

export interface AzureAccount {
  readonly account: string
  readonly key: string
  readonly containers: readonly string[]
}

const refusal = (status: number, code: string): Said => ({
  status,
  headers: { 'x-ms-error-code': code },
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>vendor text that must not come through</Message></Error>`,
})

/**
 * The string to sign of the Shared Key scheme for blobs, as the vendor documents it; Content-Length is empty when it is
 * 0.
 */
const stringToSign = (call: SeenCall, account: string): string => {
  const header = (name: string): string => String(call.headers[name] ?? '')
  const length = header('content-length') === '0' ? '' : header('content-length')
  const standard = [
    'content-encoding',
    'content-language',
    '',
    'content-md5',
    'content-type',
    'date',
    'if-modified-since',
    'if-match',
    'if-none-match',
    'if-unmodified-since',
    'range',
  ]
  const own = Object.keys(call.headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort()
  const query = [...call.url.searchParams].map(([name, value]) => `${name.toLowerCase()}:${value}`).sort()
  return [
    call.method,
    ...standard.map((name) =>
      name === '' ? length : name === 'date' && header('x-ms-date') !== '' ? '' : header(name),
    ),
    ...own.map((name) => `${name}:${header(name).trim()}`),
    [`/${account}${call.url.pathname}`, ...query].join('\n'),
  ].join('\n')
}

/** The list of containers of storage accounts, the account in the path, for requests signed with the account's key. */
export const startAzureEmulator = (accounts: readonly AzureAccount[], pageSize: number): Promise<Emulator> =>
  startEmulator(async (call) => {
    const [, name, signature] = /^SharedKey ([a-z0-9]+):(\S+)$/.exec(call.headers.authorization ?? '') ?? []
    const account = accounts.find((each) => each.account === name && call.url.pathname.split('/')[1] === name)
    if (account === undefined) return refusal(404, 'ResourceNotFound')
    const expected = new StorageSharedKeyCredential(account.account, account.key).computeHMACSHA256(
      stringToSign(call, account.account),
    )
    if (expected !== signature) return refusal(403, 'AuthenticationFailed')
    const { searchParams } = call.url
    if (searchParams.get('comp') !== 'list') return refusal(400, 'InvalidQueryParameterValue')
    const { page, next } = pageOf(
      account.containers,
      searchParams.get('marker'),
      Math.min(Number(searchParams.get('maxresults') ?? pageSize), pageSize),
    )
    const items = page.map(
      (container) =>
        `<Container><Name>${container}</Name><Properties><Last-Modified>Sat, 21 Nov 2026 08:00:00 GMT</Last-Modified><Etag>"0x1"</Etag></Properties></Container>`,
    )
    return {
      status: 200,
      body: `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://a/"><MaxResults>${pageSize}</MaxResults><Containers>${items.join('')}</Containers><NextMarker>${next ?? ''}</NextMarker></EnumerationResults>`,
    }
  })
