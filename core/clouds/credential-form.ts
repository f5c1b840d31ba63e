import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { parseInstant } from '../kernel/clock.ts'
import type { Failure } from '../kernel/failure.ts'
import type { AccountId, UserId } from '../kernel/ids.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import { CloudCredentialRefused } from './ports.ts'
import type { CredentialForm, CredentialSpec, FieldValue, StoredCredential } from './types.ts'

/** Returns the normalised URL, without a trailing slash; undefined if it is not a plain https URL. */
export const httpsUrl = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    url.protocol !== 'https:' ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== ''
  )
    return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** One field of a credential's block. */
export interface CredentialField {
  readonly kind: 'text' | 'list' | 'instant' | 'https-url' | 'service-account' | 'kubeconfig'
  /** Never shown again. */
  readonly isSecret: boolean
  readonly isRequired: boolean
}

/** The definition of a type of credential. The fields are shown in this order. */
export interface CredentialType {
  /** The key that contains the fields. */
  readonly block: string
  readonly fields: Readonly<Record<string, CredentialField>>
}

type Kind = CredentialField['kind']
const shown = (kind: Kind = 'text'): CredentialField => ({ kind, isSecret: false, isRequired: true })
const secret = (kind: Kind = 'text'): CredentialField => ({ kind, isSecret: true, isRequired: true })
const maybe = (field: CredentialField): CredentialField => ({ ...field, isRequired: false })

const tokenOf = (block: string): CredentialType => ({ block, fields: { token: secret() } })

/** Every type of credential, by its word in `type`. The words are part of the interface. */
export const credentialTypes: Readonly<Record<string, CredentialType>> = {
  Aws: { block: 'aws', fields: { accessKeyID: shown(), secretAccessKey: secret(), sessionToken: maybe(secret()) } },
  Azure: {
    block: 'azure',
    fields: { tenantID: shown(), subscriptionID: shown(), clientID: shown(), clientSecret: secret() },
  },
  AzureStorage: { block: 'azureStorage', fields: { account: shown(), key: secret() } },
  CloudflareStorage: {
    block: 'cloudflareStorage',
    fields: { accountID: shown(), accessKeyID: shown(), secretAccessKey: secret() },
  },
  DigitalOcean: tokenOf('digitalocean'),
  GoogleCloud: {
    block: 'googleCloud',
    fields: { projectID: maybe(shown()), serviceAccount: secret('service-account') },
  },
  GoogleOAuth: {
    block: 'googleOAuth',
    fields: {
      accessToken: secret(),
      refreshToken: maybe(secret()),
      scopes: maybe(shown('list')),
      expiry: maybe(shown('instant')),
    },
  },
  Hetzner: { block: 'hetzner', fields: { sshKeyName: maybe(shown()), token: secret() } },
  HetznerStorage: { block: 'hetznerStorage', fields: { accessKeyID: shown(), secretAccessKey: secret() } },
  KubeVirt: { block: 'kubevirt', fields: { kubeConfig: secret('kubeconfig') } },
  Linode: tokenOf('linode'),
  Packet: { block: 'packet', fields: { projectID: shown(), apiKey: secret() } },
  Rancher: {
    block: 'rancher',
    fields: { accessKeyID: shown(), secretAccessKey: secret(), endpoint: shown('https-url') },
  },
  Scaleway: { block: 'scaleway', fields: { organization: shown(), token: secret() } },
  Swift: {
    block: 'swift',
    fields: {
      username: shown(),
      password: secret(),
      tenantName: maybe(shown()),
      tenantAuthURL: shown('https-url'),
      domain: maybe(shown()),
      region: maybe(shown()),
      tenantID: maybe(shown()),
      tenantDomain: maybe(shown()),
    },
  },
  Vultr: tokenOf('vultr'),
}

export const credentialTypeWords: readonly string[] = Object.keys(credentialTypes)

/** The type of a fleet manager's credentials, which are found by its endpoint. */
export const fleetType = 'Rancher'

/** Returns the type of that word, or undefined; inherited property names do not match. */
export const credentialTypeNamed = (word: string): CredentialType | undefined =>
  Object.hasOwn(credentialTypes, word) ? credentialTypes[word] : undefined

/** A credential as sent: a missing or empty secret field keeps its value, `null` removes it. */
export interface SentCredential {
  readonly name: string
  readonly type: string
  readonly ownerId: AccountId
  readonly fields: Readonly<Record<string, FieldValue>>
  /** Secret fields that were sent as null. */
  readonly removed: readonly string[]
}

type Refused = Failure<'CloudCredentialRefused'>
type Read<A> = Either<Refused, A>
const refuse = <A>(message: string): Read<A> => left(CloudCredentialRefused(message))

const dnsName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
/** Keys of a response besides the block; a form that was read may be sent back unchanged. */
const commonKeys: readonly string[] = ['name', 'type', 'ownerID', 'creationTimestamp']
const blocks: readonly string[] = Object.values(credentialTypes).map(({ block }) => block)

/** In UTF-16 units. A kubeconfig contains certificates; the size of the whole body is limited too. */
const longest: Readonly<Record<CredentialField['kind'], number>> = {
  text: 8192,
  list: 2048,
  instant: 64,
  'https-url': 512,
  'service-account': 32_768,
  kubeconfig: 200_000,
}
const longestList = 100

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length <= max && !value.includes('\0') && value.isWellFormed()

const readName = (value: Json | undefined): Read<string> =>
  isText(value, 253) && dnsName.test(value)
    ? right(value)
    : refuse(
        'name must be 1 to 253 lower-case letters, digits, hyphens and dots, as a DNS name: each part ' +
          'begins and ends with a letter or digit.',
      )

/** Credentials belong to people; credentials of an organization are not supported yet. */
const readOwner = (value: Json | undefined, userId: UserId): Read<AccountId> =>
  value === undefined || value === null || value === 0 || value === userId
    ? right(userId)
    : refuse('ownerID must be your own id, or absent.')

const readList = (path: string, value: Json): Read<FieldValue> =>
  Array.isArray(value) && value.length <= longestList && value.every((item) => isText(item, longest.list))
    ? right(value as readonly string[])
    : refuse(`${path} must be a list of at most ${longestList} texts.`)

const readField = (path: string, { kind }: CredentialField, value: Json): Read<FieldValue> => {
  if (kind === 'list') return readList(path, value)
  if (!isText(value, longest[kind])) return refuse(`${path} must be a text of at most ${longest[kind]} characters.`)
  if (kind === 'instant' && parseInstant(value) === undefined) return refuse(`${path} must be an RFC 3339 date-time.`)
  if (kind !== 'https-url') return right(value)
  const url = httpsUrl(value)
  return url === undefined
    ? refuse(`${path} must be an https URL without user name, password, query and fragment.`)
    : right(url)
}

const isAbsent = (value: Json | undefined): boolean => value === undefined || value === null || value === ''

const readBlock = (type: CredentialType, value: Json | undefined): Read<Pick<SentCredential, 'fields' | 'removed'>> => {
  const names = Object.keys(type.fields)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse(`The block ${type.block} is missing; it has the fields ${names.join(', ')}.`)
  const block = value as FreeObject
  // An unknown key is not repeated in the response, because it may contain the secret.
  if (Object.keys(block).some((key) => !Object.hasOwn(type.fields, key)))
    return refuse(`The block ${type.block} has an unknown field; its fields are ${names.join(', ')}.`)
  const fields: Record<string, FieldValue> = {}
  for (const [name, field] of Object.entries(type.fields)) {
    const sent = Object.hasOwn(block, name) ? block[name] : undefined
    if (sent === undefined || isAbsent(sent)) continue
    const read = readField(`${type.block}.${name}`, field, sent)
    if (isLeft(read)) return read
    fields[name] = read.right
  }
  const removed = Object.entries(type.fields).filter(
    ([name, field]) => field.isSecret && Object.hasOwn(block, name) && block[name] === null,
  )
  return right({ fields, removed: removed.map(([name]) => name) })
}

/**
 * Reads the body of a request: name, type, owner and exactly one block, which the type names. Unknown keys and types,
 * blocks and fields of other types are rejected, with messages that repeat nothing of what was sent.
 */
export const readCredential = (body: FreeObject, userId: UserId): Read<SentCredential> => {
  const name = readName(body['name'])
  if (isLeft(name)) return name
  const word = body['type']
  const type = typeof word === 'string' ? credentialTypeNamed(word) : undefined
  if (typeof word !== 'string' || type === undefined)
    return refuse(`type must be one of ${credentialTypeWords.join(', ')}.`)
  const foreign = Object.keys(body).filter(
    (key) => !commonKeys.includes(key) && key !== type.block && !(blocks.includes(key) && isAbsent(body[key])),
  )
  if (foreign.some((key) => blocks.includes(key)))
    return refuse(`A credential of type ${word} has one block, ${type.block}.`)
  if (foreign.length > 0)
    return refuse(`Unknown field; a credential of type ${word} has name, type, ownerID and ${type.block}.`)
  const owner = readOwner(body['ownerID'], userId)
  if (isLeft(owner)) return owner
  return pipe(
    readBlock(type, body[type.block]),
    map((block) => ({ name: name.right, type: word, ownerId: owner.right, ...block })),
  )
}

/**
 * Returns the displayed form of a credential. A stored secret is an empty text, which can be sent back to keep the
 * secret.
 */
export const toCredentialForm = (stored: StoredCredential, spec: CredentialSpec): CredentialForm => {
  const type = credentialTypeNamed(spec.type)
  const shown = Object.entries(type?.fields ?? {}).flatMap(
    ([name, field]): readonly (readonly [string, FieldValue])[] => {
      const value = spec.fields[name]
      return value === undefined ? [] : [[name, field.isSecret ? '' : value]]
    },
  )
  return {
    name: stored.name,
    type: stored.type,
    ownerId: stored.ownerId,
    createdAt: stored.createdAt,
    block: type?.block ?? '',
    fields: Object.fromEntries(shown),
  }
}
