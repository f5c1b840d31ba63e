import { promisify } from 'node:util'
import { constants, gunzip, gunzipSync, gzip } from 'node:zlib'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { RecordSizes } from '../../../core/packages/releases/ports.ts'
import type { Release, ReleaseHeader, ReleaseKey, StorageDriver } from '../../../core/packages/types.ts'

/** Bytes that a record may unpack to. The largest that a Kubernetes object can carry unpack to about a third of it. */
export const largestRecordBytes = 32 * 1024 * 1024

/** Above it unpacking and parsing belong off the event loop: below, both together take a few milliseconds. */
export const smallRecordBytes = 1024 * 1024

/** The payload is none of Helm's, or unpacks to more than a record may. */
export class PayloadUnreadable extends Error {}

/** A pattern over the whole text would cost more than all the rest: the decoder leaves out what is none, so its length tells. */
const fromBase64 = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'base64')
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const isWhole = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding
  if (!isWhole || text.includes('-') || text.includes('_')) throw new PayloadUnreadable('no base64')
  return bytes
}

/** The bytes that Helm packed, gzip or, from long ago, the JSON itself. A Secret's data has one layer of base64 more. */
export const packedBytes = (driver: StorageDriver, data: string): Buffer =>
  fromBase64(driver === 'Secret' ? fromBase64(data).toString('latin1') : data)

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08
const smallestGzip = 18

/** How many bytes it says that it unpacks to; unpacking holds it to that. Above `largestRecordBytes` it is refused. */
export const unpackedSize = (bytes: Buffer): number => {
  if (!isGzip(bytes)) return bytes.length
  if (bytes.length < smallestGzip) throw new PayloadUnreadable('cut short')
  const size = bytes.readUInt32LE(bytes.length - 4)
  if (size > largestRecordBytes) throw new PayloadUnreadable('too large')
  return size
}

const asUnreadable = (error: unknown): PayloadUnreadable => new PayloadUnreadable((error as Error).message)
const limits = (bytes: Buffer) => ({ maxOutputLength: Math.max(1, unpackedSize(bytes)) })

/** The JSON of a record, at once: for small ones, and for a thread. Throws PayloadUnreadable. */
export const unpackSync = (bytes: Buffer): Buffer => {
  if (!isGzip(bytes)) return bytes
  const options = limits(bytes)
  try {
    return gunzipSync(bytes, options)
  } catch (error) {
    throw asUnreadable(error)
  }
}

/** Packed bytes whose text is enough for what stands first in a record. */
const beginBytes = 4096
/** Of text; no record has so much in so few packed bytes. */
const beginLimit = 1024 * 1024

/** The begin of a record's text, at no cost for the rest; undefined where it cannot be had. */
export const unpackBegin = (bytes: Buffer): string | undefined => {
  const begin = bytes.subarray(0, beginBytes)
  if (!isGzip(bytes)) return begin.toString()
  try {
    return gunzipSync(begin, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: beginLimit }).toString()
  } catch {
    return undefined
  }
}

const gunzipLater = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

/** The same, on another thread when it is large. Rejects with PayloadUnreadable. */
export const unpack = async (bytes: Buffer): Promise<Buffer> => {
  if (unpackedSize(bytes) <= smallRecordBytes) return unpackSync(bytes)
  try {
    return isGzip(bytes) ? await gunzipLater(bytes, limits(bytes)) : bytes
  } catch (error) {
    throw asUnreadable(error)
  }
}

const gzipLater = promisify<Buffer, { level: number }, Buffer>(gzip)
/** Of the header: the operating system, which Helm leaves unknown. */
const operatingSystemAt = 9
const unknownSystem = 0xff

/** A record's JSON as Helm packs it, for the object's `data.release`. */
export const pack = async (driver: StorageDriver, json: string): Promise<string> => {
  const bytes = await gzipLater(Buffer.from(json), { level: 9 })
  bytes[operatingSystemAt] = unknownSystem
  const text = bytes.toString('base64')
  return driver === 'Secret' ? Buffer.from(text).toString('base64') : text
}

type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const keepExact: SourceReviver = (_, value, { source }) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value

// Helm's JSON has no blanks. A reviver costs several times as much as the parse, and hardly any record needs it.
const hasLongInteger = (text: string): boolean => /[:,[]-?\d{16}/.test(text)

/** The JSON of a record; integers beyond 2^53 become bigint. Throws PayloadUnreadable. */
export const parseRecord = (text: string): unknown => {
  try {
    return hasLongInteger(text) ? (JSON.parse(text, keepExact as (key: string, value: unknown) => unknown) as unknown) : (JSON.parse(text) as unknown)
  } catch (error) {
    throw new PayloadUnreadable((error as Error).message)
  }
}

const isObject = (value: unknown): value is FreeObject => typeof value === 'object' && value !== null && !Array.isArray(value)

interface RecordContent extends ReleaseKey {
  readonly version: number
  readonly info: Release['info']
}

/** Whether this is the record that its object's labels promise. */
const isRecordOf = (value: unknown, expected: ReleaseKey & { readonly version: number }): value is RecordContent & FreeObject =>
  isObject(value) &&
  value['name'] === expected.name &&
  value['namespace'] === expected.namespace &&
  value['version'] === expected.version &&
  isObject(value['info']) &&
  typeof value['info']['status'] === 'string'

/** A record without what is big. Throws PayloadUnreadable for what is no record, or that of another release. */
export const headerOf = (value: unknown, expected: ReleaseKey & { readonly version: number }): ReleaseHeader => {
  if (!isRecordOf(value, expected)) throw new PayloadUnreadable('no release record')
  const { notes: _, ...info } = value.info
  const chart = (value as FreeObject)['chart']
  const metadata = isObject(chart) ? chart['metadata'] : undefined
  const { name, namespace, version } = expected
  return { name, namespace, version, info, chartMetadata: isObject(metadata) ? metadata : {} }
}

/** A whole record, key for key; what Helm leaves out when it is empty stands there empty. Throws PayloadUnreadable. */
export const releaseOf = (value: unknown, expected: ReleaseKey & { readonly version: number }): Release => {
  if (!isRecordOf(value, expected)) throw new PayloadUnreadable('no release record')
  const { chart, manifest } = value as FreeObject
  return {
    ...value,
    chart: isObject(chart) ? chart : {},
    manifest: typeof manifest === 'string' ? manifest : '',
  }
}

const compress = promisify(gzip)

/** Packs as Helm does, off the event loop, and counts. */
export const gzipRecordSizes: RecordSizes = {
  async packed({ record, files }) {
    const listed = [...files].map(([name, bytes]) => `{"name":${JSON.stringify(name)},"data":"${Buffer.from(bytes).toString('base64')}"}`)
    const packed = await compress(Buffer.from(`${toWireJson(record)}[${listed.join(',')}]`), { level: constants.Z_BEST_COMPRESSION })
    return Math.ceil(packed.length / 3) * 4
  },
}
