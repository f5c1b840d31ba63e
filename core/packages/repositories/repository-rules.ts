import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { definedFields, toWireJson } from '../../kernel/json.ts'
import type { Entropy, SealedPlace, SecretBox } from '../../kernel/secret.ts'
import { hex, optionalSecret, secret } from '../../kernel/secret.ts'
import type { PemReader } from './ports.ts'
import { ChartRepositoryRefused } from './ports.ts'
import type { RepositoryCredentials, SealedChartRepository } from './types.ts'

/** The fields of a request. An absent field keeps its value; an empty one clears it. */
export interface RepositoryClaim {
  readonly url?: string | undefined
  readonly plainHttp?: boolean | undefined
  readonly description?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly token?: string | undefined
  readonly ca?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}

type Checked<A> = Either<Failure<'ChartRepositoryRefused'>, A>
const refuse = (message: string): Checked<never> => left(ChartRepositoryRefused(message))

/** The width of the columns. */
const maxUrlLength = 512
const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export const checkRepositoryName = (name: string): Checked<string> =>
  namePattern.test(name)
    ? right(name)
    : refuse('name must be 1 to 63 small letters, digits and hyphens, and begin and end with a letter or digit.')

/** Returns the normalised address, without a trailing slash; undefined if it is invalid. */
export const repositoryUrl = (text: string): string | undefined => {
  const isRegistry = text.startsWith('oci://')
  const written = isRegistry ? `https://${text.slice('oci://'.length)}` : text
  if (text.length > maxUrlLength || !URL.canParse(written)) return undefined
  const url = new URL(written)
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '' || url.hash !== '') return undefined
  if (isRegistry && url.search !== '') return undefined
  const path = url.pathname.replace(/\/+$/, '')
  const whole = `${isRegistry ? `oci://${url.host}` : url.origin}${path}${url.search}`
  return whole.length > maxUrlLength ? undefined : whole
}

/** Returns the scope of credentials: scheme, host and port. */
const originOf = (url: string): string => {
  const { protocol, host } = new URL(url.replace(/^oci:/, 'https:'))
  return url.startsWith('oci:') ? `oci://${host}` : `${protocol}//${host}`
}

const headerText = /^[\x20-\x7e\u00a0-\u{10ffff}]*$/u
const tokenText = /^[\x21-\x7e]{1,8192}$/

const choose = (sent: string | undefined, before: string | undefined): string | undefined => {
  const value = sent ?? before
  return value === '' ? undefined : value
}

/** Returns the credentials to store: those of the request, and the previous ones that the request does not mention. */
const mergedCredentials = (
  pem: PemReader,
  claim: RepositoryClaim,
  before: RepositoryCredentials,
): Checked<RepositoryCredentials> => {
  const username = choose(claim.username, before.username)
  const password = choose(claim.password, before.password?.reveal())
  const token = choose(claim.token, before.token?.reveal())
  const ca = choose(claim.ca, before.authorityPem)
  const certificate = choose(claim.certificate, before.certificatePem)
  const key = choose(claim.key, before.keyPem?.reveal())
  if (username !== undefined && (username.includes(':') || !headerText.test(username)))
    return refuse('username must be a line of text without a colon.')
  if (password !== undefined && !headerText.test(password)) return refuse('password must be a line of text.')
  if (password !== undefined && username === undefined) return refuse('password goes with a username.')
  if (token !== undefined && !tokenText.test(token)) return refuse('token must be visible ASCII characters.')
  if (token !== undefined && username !== undefined) return refuse('Give a username with its password, or a token.')
  if (ca !== undefined && !pem.isCertificates(ca)) return refuse('ca must be certificates in PEM.')
  if ((certificate === undefined) !== (key === undefined)) return refuse('certificate and key go together.')
  if (certificate !== undefined && key !== undefined && !pem.isPair(certificate, key))
    return refuse('certificate and key must be PEM, and belong together.')
  return right({
    ...definedFields({
      username,
      password: optionalSecret(password),
      token: optionalSecret(token),
      authorityPem: ca,
      certificatePem: certificate,
      keyPem: optionalSecret(key),
    }),
  })
}

/** Returns the names of the stored credentials, for display. */
export const heldBy = (credentials: RepositoryCredentials): readonly string[] => [
  ...(credentials.password === undefined ? [] : ['password']),
  ...(credentials.token === undefined ? [] : ['token']),
  ...(credentials.authorityPem === undefined ? [] : ['ca']),
  ...(credentials.certificatePem === undefined ? [] : ['certificate']),
]

export interface RepositoryDraft {
  readonly url: string
  readonly isPlainHttp: boolean
  readonly description: string
  readonly credentials: RepositoryCredentials
}

const plainCredentials = ({
  username,
  password,
  token,
  authorityPem,
  certificatePem,
  keyPem,
}: RepositoryCredentials): readonly (string | undefined)[] => [
  username,
  password?.reveal(),
  token?.reveal(),
  authorityPem,
  certificatePem,
  keyPem?.reveal(),
]

/** Reports whether two drafts are equal. */
export const isSameDraft = (a: RepositoryDraft, b: RepositoryDraft): boolean => {
  const others = plainCredentials(b.credentials)
  return (
    a.url === b.url &&
    a.isPlainHttp === b.isPlainHttp &&
    a.description === b.description &&
    plainCredentials(a.credentials).every((text, i) => text === others[i])
  )
}

/**
 * Returns the repository that results from a request. Credentials do not move to another host: if the address changes
 * its origin, only those in the same request are kept.
 */
export const draftOf = (
  pem: PemReader,
  claim: RepositoryClaim,
  before: RepositoryDraft | undefined,
): Checked<RepositoryDraft> => {
  const url = claim.url === undefined ? before?.url : repositoryUrl(claim.url)
  if (url === undefined) return refuse('url must be an https:// or oci:// address without a user name.')
  const isPlainHttp = claim.plainHttp ?? before?.isPlainHttp ?? false
  if (isPlainHttp && !url.startsWith('oci://')) return refuse('plain_http goes with oci:// addresses.')
  const isSamePlace =
    before !== undefined && originOf(before.url) === originOf(url) && before.isPlainHttp === isPlainHttp
  const credentials = mergedCredentials(pem, claim, isSamePlace ? before.credentials : {})
  if (isLeft(credentials)) return credentials
  return right({
    url,
    isPlainHttp,
    description: claim.description ?? before?.description ?? '',
    credentials: credentials.right,
  })
}

interface Plain {
  readonly username?: string
  readonly password?: string
  readonly token?: string
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: string
}

const placeOf = (accountId: AccountId, ref: string): SealedPlace => ({
  table: 'chart_repositories',
  column: 'sealed_credentials',
  tenantId: accountId,
  rowRef: ref,
})

/** Seals all credentials of a repository in one box. */
export interface RepositorySafe {
  /** Seals under a new reference, so that an older box cannot replace it. No box if there are no credentials. */
  seal(
    accountId: AccountId,
    credentials: RepositoryCredentials,
  ): Promise<{ readonly ref: string; readonly box: Uint8Array | undefined }>
  /** Throws when the box was tampered with or moved. */
  open(stored: Pick<SealedChartRepository, 'accountId' | 'ref' | 'box'>): Promise<RepositoryCredentials>
}

export const makeRepositorySafe = (deps: {
  readonly secretBox: SecretBox
  readonly entropy: Entropy
}): RepositorySafe => ({
  async seal(accountId, { password, token, keyPem, ...rest }) {
    const ref = hex(deps.entropy.bytes(16))
    const plain: Plain = {
      ...rest,
      ...definedFields({ password: password?.reveal(), token: token?.reveal(), keyPem: keyPem?.reveal() }),
    }
    if (Object.keys(plain).length === 0) return { ref, box: undefined }
    return { ref, box: await deps.secretBox.seal(secret(toWireJson(plain)), placeOf(accountId, ref)) }
  },
  async open({ accountId, ref, box }) {
    if (box === undefined) return {}
    const { password, token, keyPem, ...rest } = JSON.parse(
      (await deps.secretBox.open(box, placeOf(accountId, ref))).reveal(),
    ) as Plain
    return {
      ...rest,
      ...definedFields({
        password: optionalSecret(password),
        token: optionalSecret(token),
        keyPem: optionalSecret(keyPem),
      }),
    }
  },
})
