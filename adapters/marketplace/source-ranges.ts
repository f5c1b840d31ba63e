import { definedFields } from '../../core/kernel/json.ts'
import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import ipaddr from 'ipaddr.js'
import type { Log } from '../../core/kernel/log.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'

/** The file that the provider publishes, as far as it is used. */
const PublishedRanges = t.type({
  syncToken: t.string,
  createDate: t.string,
  prefixes: t.readonlyArray(t.type({ ip_prefix: t.string, service: t.string })),
  ipv6_prefixes: t.readonlyArray(t.type({ ipv6_prefix: t.string, service: t.string })),
})

/** Where installers run. */
const service = 'EC2'

/** The ranges of one published file. */
export interface Ranges {
  /** Grows with each file that is published: seconds since the epoch. */
  readonly syncToken: number
  /** The number of ranges. */
  readonly count: number
  has(address: string): boolean
}

/**
 * Parses a published file. Returns undefined if it is not one, or has no range. An address that is an IPv4 address
 * mapped to IPv6 counts as that. @internal
 */
export const parseRanges = (text: string): Ranges | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const decoded = PublishedRanges.decode(value)
  if (isLeft(decoded) || !/^\d{1,12}$/.test(decoded.right.syncToken)) return undefined
  const { syncToken, prefixes, ipv6_prefixes } = decoded.right
  const networks = [
    ...prefixes.filter((each) => each.service === service).map(({ ip_prefix }) => ip_prefix),
    ...ipv6_prefixes.filter((each) => each.service === service).map(({ ipv6_prefix }) => ipv6_prefix),
  ]
  if (networks.length === 0 || !networks.every(ipaddr.isValidCIDR)) return undefined
  const list = new BlockList()
  for (const network of networks) {
    const [address, bits] = ipaddr.parseCIDR(network)
    list.addSubnet(address.toString(), bits, address.kind())
  }
  return {
    syncToken: Number(syncToken),
    count: networks.length,
    has(address) {
      if (!ipaddr.isValid(address)) return false
      const parsed = ipaddr.process(address)
      return list.check(parsed.toString(), parsed.kind())
    },
  }
}

/**
 * Reports whether a file takes the place of the one in use: it is newer, and has at least half as many ranges. Anything
 * else is a fault of the publication. @internal
 */
export const isReplacement = (known: Ranges | undefined, found: Ranges): boolean =>
  known === undefined || (found.syncToken > known.syncToken && found.count * 2 >= known.count)

/** The ranges in use, kept up to date. */
export interface SourceRanges {
  /** False for every address if no ranges are known. */
  has(address: string): boolean
  /** Returns how old the ranges are in seconds; undefined if there are none. */
  ageSeconds(): number | undefined
  /** Asks for a newer file once. Never throws. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

export interface SourceRangesOptions {
  /** The URL of the published file; undefined: it is never requested. */
  readonly url: URL | undefined
  readonly fetch: GuardedFetch
  /** The folder that has the newest file that was used. */
  readonly folder: string
  readonly log: Log
  /** Writes a file that is whole or absent. */
  readonly write: (folder: string, name: string, bytes: Uint8Array) => Promise<void>
  /** Returns a number from 0 to 1. */
  readonly chance: () => number
  /** The time in milliseconds since the epoch. */
  readonly nowMs: () => number
  /** The text of the file that comes with this release. */
  readonly bundled?: () => string
}

const fileName = 'ip-ranges.json'
const limitBytes = 32 * 1024 * 1024
const hourMilliseconds = 3_600_000

const bundledText = (): string => readFileSync(new URL(`./files/${fileName}`, import.meta.url), 'utf8')

/** Returns a number of milliseconds that differs between instances, so that they do not all ask at once. */
const jittered = (milliseconds: number, chance: number): number => milliseconds * (0.9 + 0.2 * chance)

/**
 * Keeps the published ranges: those of this release at first, or newer ones of an earlier run, and then asks every
 * hour. What is not newer, or has too few ranges, is not used. The last good file is kept on disk.
 */
export const makeSourceRanges = (options: SourceRangesOptions): SourceRanges => {
  const { url, fetch, folder, log, write, chance, nowMs } = options
  let ranges = parseRanges((options.bundled ?? bundledText)())
  let etag: string | undefined
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  const use = (text: string): boolean => {
    const found = parseRanges(text)
    if (found === undefined || !isReplacement(ranges, found)) return false
    ranges = found
    return true
  }
  const loaded = readFile(join(folder, fileName), 'utf8').then(use, () => false)

  const ask = async (target: URL): Promise<void> => {
    await loaded
    const headers = definedFields({ 'If-None-Match': etag })
    const answer = await fetch({ url: target, headers, limitBytes }, stopping.signal)
    try {
      if (answer.status === 304) return
      if (answer.status !== 200) throw new Error(`the answer has the status ${answer.status}`)
      const text = Buffer.from(answer.bytes).toString('utf8')
      const found = parseRanges(text)
      if (found === undefined) throw new Error('the answer is not a file of address ranges')
      if (ranges !== undefined && found.syncToken === ranges.syncToken) return void (etag = answer.headers['etag'])
      if (!use(text)) throw new Error('the answer is older than what is known, or has far fewer ranges')
      etag = answer.headers['etag']
      await write(folder, fileName, answer.bytes)
      log.info({ ranges: found.count, syncToken: found.syncToken }, 'newer address ranges of cloud A are used')
    } finally {
      answer.release?.()
    }
  }
  const refresh = async (): Promise<void> => {
    if (url === undefined) return void (await loaded)
    try {
      await ask(url)
    } catch (error) {
      if (stopping.signal.aborted) return
      log.warn(
        { reason: error instanceof Error ? error.message : 'unknown' },
        'the address ranges of cloud A could not be refreshed: those before are kept',
      )
    }
  }
  const schedule = (milliseconds: number): void => {
    if (url === undefined || stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = refresh().finally(() => schedule(jittered(hourMilliseconds, chance())))
    }, milliseconds)
    timer.unref()
  }
  schedule(jittered(5_000, chance()))

  return {
    has: (address) => ranges?.has(address) ?? false,
    ageSeconds: () => (ranges === undefined ? undefined : Math.max(0, nowMs() / 1000 - ranges.syncToken)),
    refresh,
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
