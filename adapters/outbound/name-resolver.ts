import dns from 'node:dns'
import { readFileSync, statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import { makeAccountLimiter } from './account-limiter.ts'

/** Passes the addresses of a name, or an error with the codes of `getaddrinfo`. */
export type Resolver = (
  hostname: string,
  options: { readonly all: true; readonly family?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void

/**
 * Looks up host names over DNS sockets. The system's own function, `getaddrinfo`, occupies one of the few threads on
 * which files are read and secrets are hashed for as long as a DNS server is silent.
 */
export interface NameResolver {
  readonly lookup: Resolver
  /** The number of look-ups under way, and of those that wait. */
  load(): PoolLoad
}

export interface NameResolverOptions {
  /** Returns the account for which a name is looked up. Its look-ups are limited apart from those of others. */
  readonly account?: () => AccountKey
  readonly hostsFile?: string
  readonly configurationFile?: string
  /** DNS servers in place of those of the system, as `address:port`. */
  readonly servers?: readonly string[]
  /** For one look-up. */
  readonly deadlineMilliseconds?: number
  /** How long the look-up of one family waits for the other after the first has answered. */
  readonly otherFamilyMilliseconds?: number
}

const limits = { pool: 'names', inAll: 256, perAccount: 32, waitingPerAccount: 256, waitMilliseconds: 5_000 }
/** A name with more addresses is connected to by the first ones. */
const maxAddresses = 32

type Address = dns.LookupAddress

/** Fails like `getaddrinfo`. */
const failure = (code: 'ENOTFOUND' | 'EAI_AGAIN', hostname: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code, syscall: 'getaddrinfo', hostname })

/** Returns the addresses of each name of a hosts file, in lower case. @internal */
export const readHosts = (text: string): ReadonlyMap<string, readonly Address[]> => {
  const found = new Map<string, Address[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    const family = isIP(address)
    // An address with a zone belongs to one interface.
    if (family === 0 || address.includes('%')) continue
    for (const name of names)
      found.set(name.toLowerCase(), [...(found.get(name.toLowerCase()) ?? []), { address, family }])
  }
  return found
}

/** What of the system's resolver configuration changes names. */
export interface SearchRules {
  readonly domains: readonly string[]
  /** A name with fewer dots is looked up in the domains first. */
  readonly dots: number
}

/** Reads `resolv.conf`. The last of several `search` and `domain` lines counts. @internal */
export const readSearchRules = (text: string): SearchRules => {
  let domains: readonly string[] = []
  let dots = 1
  for (const line of text.split('\n')) {
    const [word = '', ...values] = (line.split(/[#;]/)[0] ?? '').trim().split(/\s+/)
    if (word === 'search' || word === 'domain')
      domains = values.map((value) => value.replace(/\.$/, '')).filter((value) => value !== '')
    const given =
      word === 'options'
        ? values.map((value) => /^ndots:(\d{1,2})$/.exec(value)?.[1]).find((each) => each !== undefined)
        : undefined
    if (given !== undefined) dots = Math.min(Number(given), 15)
  }
  return { domains, dots }
}

/** Returns the names to ask for, in their order, each without a final dot. @internal */
export const candidates = (hostname: string, { domains, dots }: SearchRules): readonly string[] => {
  const name = hostname.replace(/\.$/, '')
  if (name !== hostname) return [name]
  const searched = domains.map((domain) => `${name}.${domain}`)
  return name.split('.').length - 1 >= dots ? [name, ...searched] : [...searched, name]
}

/**
 * Reads a file again when it has changed. A file that is absent is empty. It is read at once: file work of others may
 * be slow.
 */
const watched = <A>(file: string, read: (text: string) => A, onChange: () => void = () => undefined): (() => A) => {
  let known: { readonly mark: string; readonly value: A } | undefined
  const markOf = (): string => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`
  }
  return () => {
    try {
      const mark = markOf()
      if (known?.mark === mark) return known.value
      if (known !== undefined) onChange()
      known = { mark, value: read(mark === '' ? '' : readFileSync(file, 'utf8')) }
      return known.value
    } catch {
      return known?.value ?? read('')
    }
  }
}

/** The system has no such file on Windows, where its DNS servers are found in another way. */
const systemFiles =
  process.platform === 'win32'
    ? { hosts: `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts`, configuration: '' }
    : { hosts: '/etc/hosts', configuration: '/etc/resolv.conf' }

/** Reports whether this machine has an IPv6 address from which others can be reached. */
const reachesByIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe[89ab]/i.test(address)),
  )

/** IPv6 comes first where this machine has it. Callers that connect try the other family if the first one is slow. */
const inOrder = (addresses: readonly Address[]): Address[] => {
  const first = reachesByIpv6() ? 6 : 4
  const unique = addresses.filter(({ address }, at) => addresses.findIndex((other) => other.address === address) === at)
  return [...unique.filter(({ family }) => family === first), ...unique.filter(({ family }) => family !== first)].slice(
    0,
    maxAddresses,
  )
}

const isLocal = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')
const loopback: readonly Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** The name does not exist, or has no address of that family. */
const isAbsent = (error: unknown): boolean =>
  ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME'].includes((error as NodeJS.ErrnoException).code ?? '')

/** The answer of one DNS question: addresses, none, or no answer. */
type Answered =
  | { readonly kind: 'addresses'; readonly addresses: readonly Address[] }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed' }

const combined = (answers: readonly Answered[]): Answered => {
  const addresses = answers.flatMap((each) => (each.kind === 'addresses' ? each.addresses : []))
  if (addresses.length > 0) return { kind: 'addresses', addresses }
  return answers.every(({ kind }) => kind === 'absent') ? { kind: 'absent' } : { kind: 'failed' }
}

/** One look-up. Its questions end with it. */
class LookUp {
  readonly #channel = new dns.promises.Resolver({ timeout: 1_500, tries: 2, maxTimeout: 3_000 })
  readonly #otherFamilyMilliseconds: number
  #isOver = false

  constructor(servers: readonly string[] | undefined, otherFamilyMilliseconds: number) {
    if (servers !== undefined) this.#channel.setServers(servers)
    this.#otherFamilyMilliseconds = otherFamilyMilliseconds
  }

  /** Ends the questions that have no answer yet. */
  stop(): void {
    this.#isOver = true
    this.#channel.cancel()
  }

  async #askOne(name: string, family: 4 | 6): Promise<Answered> {
    try {
      const found = await (family === 4 ? this.#channel.resolve4(name) : this.#channel.resolve6(name))
      const addresses = found.filter((address) => isIP(address) === family).map((address) => ({ address, family }))
      return addresses.length === 0 ? { kind: 'absent' } : { kind: 'addresses', addresses }
    } catch (error) {
      return { kind: isAbsent(error) ? 'absent' : 'failed' }
    }
  }

  /** Some servers never answer for a family that a name does not have. */
  async #askBoth(name: string): Promise<Answered> {
    const both = [this.#askOne(name, 4), this.#askOne(name, 6)]
    const first = await Promise.race(both)
    if (first.kind !== 'addresses') return combined(await Promise.all(both))
    return combined(
      await Promise.race([Promise.all(both), delay(this.#otherFamilyMilliseconds, [first], { ref: false })]),
    )
  }

  /** Asks for each name until one has an address. */
  async of(names: readonly string[], family: number): Promise<Answered> {
    const answers: Answered[] = []
    for (const name of names) {
      if (this.#isOver) return { kind: 'failed' }
      const answer = await (family === 4 || family === 6 ? this.#askOne(name, family) : this.#askBoth(name))
      if (answer.kind === 'addresses') return answer
      answers.push(answer)
    }
    return combined(answers)
  }
}

/** Returns a resolver that asks DNS servers for what the hosts file does not have. */
export const makeNameResolver = (options: NameResolverOptions = {}): NameResolver => {
  const { account = () => undefined, servers, deadlineMilliseconds = 5_000, otherFamilyMilliseconds = 500 } = options
  const limiter = makeAccountLimiter(limits)
  const hosts = watched(options.hostsFile ?? systemFiles.hosts, readHosts)
  const rules = watched(options.configurationFile ?? systemFiles.configuration, readSearchRules)

  const withoutDns = (hostname: string, family: number): readonly Address[] => {
    const literal = isIP(hostname)
    const name = hostname.toLowerCase().replace(/\.$/, '')
    const known =
      literal === 0 ? (hosts().get(name) ?? (isLocal(name) ? loopback : [])) : [{ address: hostname, family: literal }]
    return family === 0 ? known : known.filter((each) => each.family === family)
  }

  const ask = async (hostname: string, family: number): Promise<Answered> => {
    const lookUp = new LookUp(servers, otherFamilyMilliseconds)
    const timer = setTimeout(() => lookUp.stop(), deadlineMilliseconds)
    try {
      return await lookUp.of(candidates(hostname, rules()), family)
    } finally {
      clearTimeout(timer)
      lookUp.stop()
    }
  }

  const find = async (hostname: string, family: number): Promise<Address[]> => {
    const known = withoutDns(hostname, family)
    if (known.length > 0) return inOrder(known)
    if (isIP(hostname) !== 0 || isLocal(hostname.toLowerCase().replace(/\.$/, ''))) throw failure('ENOTFOUND', hostname)
    const answer = await limiter
      .run({ account: account() }, () => ask(hostname, family))
      .catch((): Answered => ({ kind: 'failed' }))
    if (answer.kind !== 'addresses') throw failure(answer.kind === 'absent' ? 'ENOTFOUND' : 'EAI_AGAIN', hostname)
    return inOrder(answer.addresses)
  }

  return {
    load: limiter.load,
    lookup: (hostname, { family = 0 }, done) => {
      // The callback is called outside of the promise, so that what it throws is not lost.
      find(hostname, family).then(
        (addresses) => setImmediate(done, null, addresses),
        (error: NodeJS.ErrnoException) => setImmediate(done, error, []),
      )
    },
  }
}

type LookupOptions = Pick<dns.LookupOptions, 'family' | 'all'>
type LookupDone = (error: NodeJS.ErrnoException | null, address?: string | Address[], family?: number) => void

const familyOf = ({ family }: LookupOptions): number =>
  family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0

/**
 * Makes this resolver the one of the process, for packages that look up names themselves: the drivers of the database,
 * of mail and of the message bus.
 * @returns a function that undoes it.
 */
export const useForAllNames = ({ lookup }: NameResolver): (() => void) => {
  const [callbackForm, promiseForm] = [dns.lookup, dns.promises.lookup]
  const replaced = (hostname: string, second: LookupOptions | number | LookupDone, third?: LookupDone): void => {
    const options = typeof second === 'number' ? { family: second } : typeof second === 'function' ? {} : second
    const done = (typeof second === 'function' ? second : third) as LookupDone
    lookup(hostname, { all: true, family: familyOf(options) }, (error, addresses) => {
      const [first] = addresses
      if (error !== null || first === undefined) return done(error ?? failure('ENOTFOUND', hostname))
      return options.all === true ? done(null, addresses) : done(null, first.address, first.family)
    })
  }
  const asPromise = (hostname: string, options: LookupOptions | number = {}): Promise<Address | Address[]> =>
    new Promise((resolve, reject) => {
      const given = typeof options === 'number' ? { family: options } : options
      lookup(hostname, { all: true, family: familyOf(given) }, (error, addresses) => {
        const [first] = addresses
        if (error !== null || first === undefined) reject(error ?? failure('ENOTFOUND', hostname))
        else resolve(given.all === true ? addresses : first)
      })
    })
  Object.assign(dns, { lookup: Object.assign(replaced, { [promisify.custom]: asPromise }) })
  Object.assign(dns.promises, { lookup: asPromise })
  syncBuiltinESMExports()
  return () => {
    Object.assign(dns, { lookup: callbackForm })
    Object.assign(dns.promises, { lookup: promiseForm })
    syncBuiltinESMExports()
  }
}
