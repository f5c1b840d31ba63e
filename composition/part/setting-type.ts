import { isIP } from 'node:net'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { EgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

/** A value from the file or the environment. A list is a YAML list or comma-separated text. */
export type RawSetting = string | readonly string[]

/**
 * Converts the text of a setting to a value, and the value back for display. Left is a description of the expected
 * form.
 */
export interface SettingType<A> {
  parse(raw: RawSetting): Either<string, A>
  /** Returns what `moorage config print` shows; never a secret. */
  show(value: A): unknown
  /** The JSON Schema of the YAML form. */
  readonly schema: Readonly<Record<string, unknown>>
  readonly isSecret: boolean
}

/** The address that a listener binds to. Port 0 selects any free port. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const scalar = <A>(
  schema: Readonly<Record<string, unknown>>,
  parse: (text: string) => Either<string, A>,
  show: (value: A) => unknown = (value) => value,
): SettingType<A> => ({
  schema,
  isSecret: false,
  show,
  parse: (raw) => (typeof raw === 'string' ? parse(raw.trim()) : left('one value, not a list')),
})

/** Non-empty text. */
export const words = scalar<string>({ type: 'string', minLength: 1 }, (text) =>
  text === '' ? left('some text') : right(text),
)

export const matching = (pattern: RegExp, expected: string): SettingType<string> =>
  scalar({ type: 'string', pattern: pattern.source }, (text) => (pattern.test(text) ? right(text) : left(expected)))

export const yesNo = scalar<boolean>({ type: 'boolean' }, (text) => {
  const word = text.toLowerCase()
  if (word === 'true' || word === '1') return right(true)
  return word === 'false' || word === '0' ? right(false) : left('true or false')
})

export const wholeNumber = (minimum: number, maximum: number): SettingType<number> =>
  scalar({ type: 'integer', minimum, maximum }, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= minimum && value <= maximum ? right(value) : left(`a whole number from ${minimum} to ${maximum}`)
  })

export const wordOf = <W extends string>(...choices: readonly W[]): SettingType<W> =>
  scalar({ type: 'string', enum: choices }, (text) => {
    const found = choices.find((choice) => choice === text)
    return found === undefined ? left(`one of ${choices.join(', ')}`) : right(found)
  })

export const listOf = <A>(item: SettingType<A>): SettingType<readonly A[]> => ({
  schema: { type: 'array', items: item.schema },
  isSecret: item.isSecret,
  show: (values) => values.map((value) => item.show(value)),
  parse: (raw) => {
    const texts = (typeof raw === 'string' ? raw.split(',') : raw)
      .map((text) => text.trim())
      .filter((text) => text !== '')
    const values: A[] = []
    for (const text of texts) {
      const value = item.parse(text)
      if (value._tag === 'Left') return left(`a list in which each item is ${value.left}`)
      values.push(value.right)
    }
    return right(values)
  },
})

export const listenAddress = scalar<ListenAddress>(
  { type: 'string', pattern: '^(\\[[0-9a-fA-F:.]+\\]|[\\w.-]+):\\d{1,5}$' },
  (text) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text)
    const port = Number(match?.[3])
    const host = match?.[1] ?? match?.[2]
    // Links contain the address: 256.1.1.1 is no host of a URL.
    const isAddress =
      host !== undefined &&
      port <= 65_535 &&
      (match?.[1] === undefined || isIP(host) === 6) &&
      URL.canParse(`http://${text}`)
    return isAddress ? right({ host, port }) : left('host:port, as 127.0.0.1:3000 or [::1]:3000')
  },
  (address) => showAddress(address),
)

export const showAddress = ({ host, port }: ListenAddress): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** Returns the URL of a listener. One that is bound to every address is reached by the name of this machine. */
export const addressUrl = (address: ListenAddress): string =>
  `http://${showAddress(['0.0.0.0', '::'].includes(address.host) ? { ...address, host: 'localhost' } : address)}`

/** An address range in CIDR notation, or one address. */
export const addressRange = scalar<string>({ type: 'string' }, (text) => {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  const widest = family === 4 ? 32 : 128
  const isRange = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest)
  return family !== 0 && isRange && rest.length === 0 ? right(text) : left('an address or a range, as 10.0.0.0/8')
})

/** An origin: scheme and host, and nothing after it. */
export const origin = scalar<string>({ type: 'string', format: 'uri' }, (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.pathname === '/' &&
    url.search + url.hash + url.username === ''
  return isOrigin ? right(url.origin) : left('an http or https URL without a path, as https://platform.example.com')
})

/** A secret as plain text. */
export const secretWords: SettingType<Secret> = {
  schema: { type: 'string', minLength: 1, writeOnly: true },
  isSecret: true,
  show: () => '***',
  parse: (raw) => (typeof raw === 'string' && raw !== '' ? right(secret(raw)) : left('some text')),
}

/**
 * Removes the password of a URL. It extends to the last `@`, since a password that is not percent-encoded may contain
 * any character.
 */
const withoutPassword = (url: string): string =>
  url
    .replace(/\/\/([^:@/]*):.*@/s, '//$1:***@')
    .replace(/^(nats:\/\/)[^:@/]+@/, '$1***@')
    .replaceAll(/([?&]password=)[^&]*/g, '$1***')

/** A URL that may contain a password or, for NATS, a token in the position of the user. It is shown without either. */
export const secretUrl = (pattern: RegExp, expected: string): SettingType<Secret> => ({
  schema: { type: 'string', pattern: pattern.source },
  isSecret: true,
  show: (value) =>
    value
      .reveal()
      .split(/,(?=[\w+]+:\/\/)/)
      .map(withoutPassword)
      .join(','),
  parse: (raw) => {
    const text = (typeof raw === 'string' ? raw : raw.join(',')).trim()
    return pattern.test(text) ? right(secret(text)) : left(expected)
  },
})

/** One entry of MOORAGE_EGRESS_ALLOW. */
export const egressTarget: SettingType<EgressTarget> = {
  schema: { type: 'string', minLength: 1 },
  isSecret: false,
  show: ({ text }) => text,
  parse: (raw) => {
    const target = typeof raw === 'string' ? readEgressTarget(raw.trim()) : undefined
    return target === undefined
      ? left('a host (charts.example.com, charts.example.com:8443, *.example.com), an address or a range (10.0.0.0/8)')
      : right(target)
  },
}
