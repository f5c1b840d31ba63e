import { promisify } from 'node:util'
import { constants, gunzip, gunzipSync, gzip } from 'node:zlib'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { fromWireJson, isObject, toWireJson } from '../../../core/kernel/json.ts'
import type { RecordSizes } from '../../../core/packages/releases/ports.ts'
import type { Release, ReleaseHeader, ReleaseKey, StorageDriver } from '../../../core/packages/types.ts'

/** Bytes of an unpacked record. The largest record that fits a Kubernetes object unpacks to about a third of this. */
const largestRecordBytes = 32 * 1024 * 1024

/** Larger records are unpacked and parsed off the event loop; smaller ones take a few milliseconds. */
export const smallRecordBytes = 1024 * 1024

/** The payload was not written by Helm, or unpacks to more than the limit. */
export class PayloadUnreadable extends Error {}

/**
 * Decodes base64. A pattern over the whole text would cost more than everything else. The decoder skips invalid
 * characters, so the length of the result shows them.
 */
const fromBase64 = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'base64')
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const isWhole = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding
  if (!isWhole || text.includes('-') || text.includes('_')) throw new PayloadUnreadable('no base64')
  return bytes
}

/**
 * Returns the bytes that Helm packed: gzip or, in old records, plain JSON. A Secret's data has an additional layer of
 * base64.
 */
export const packedBytes = (driver: StorageDriver, data: string): Buffer =>
  fromBase64(driver === 'Secret' ? fromBase64(data).toString('latin1') : data)

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08
const smallestGzip = 18

/** Returns the unpacked size that the payload states; unpacking enforces it. Throws above `largestRecordBytes`. */
export const unpackedSize = (bytes: Buffer): number => {
  if (!isGzip(bytes)) return bytes.length
  if (bytes.length < smallestGzip) throw new PayloadUnreadable('cut short')
  const size = bytes.readUInt32LE(bytes.length - 4)
  if (size > largestRecordBytes) throw new PayloadUnreadable('too large')
  return size
}

const asUnreadable = (error: unknown): PayloadUnreadable => new PayloadUnreadable((error as Error).message)
const limits = (bytes: Buffer) => ({ maxOutputLength: Math.max(1, unpackedSize(bytes)) })

/** Unpacks a record synchronously: for small records, and for a thread. Throws PayloadUnreadable. */
export const unpackSync = (bytes: Buffer): Buffer => {
  if (!isGzip(bytes)) return bytes
  const options = limits(bytes)
  try {
    return gunzipSync(bytes, options)
  } catch (error) {
    throw asUnreadable(error)
  }
}

/** Packed bytes that contain the first members of a record. */
const beginBytes = 4096
/** Bytes of unpacked text. No record unpacks to this much from so few bytes. */
const beginLimit = 1024 * 1024

/** Returns the start of a record's text without unpacking the rest, or undefined if that fails. */
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

/** Unpacks a record, on another thread if it is large. Rejects with PayloadUnreadable. */
export const unpack = async (bytes: Buffer): Promise<Buffer> => {
  if (unpackedSize(bytes) <= smallRecordBytes) return unpackSync(bytes)
  try {
    return isGzip(bytes) ? await gunzipLater(bytes, limits(bytes)) : bytes
  } catch (error) {
    throw asUnreadable(error)
  }
}

const gzipLater = promisify<Buffer, { level: number }, Buffer>(gzip)
/** Offset of the operating system in the gzip header. Helm writes `unknown`. */
const operatingSystemAt = 9
const unknownSystem = 0xff

/** Returns a record's JSON as Helm packs it, for the object's `data.release`. */
export const pack = async (driver: StorageDriver, json: string): Promise<string> => {
  const bytes = await gzipLater(Buffer.from(json), { level: 9 })
  bytes[operatingSystemAt] = unknownSystem
  const text = bytes.toString('base64')
  return driver === 'Secret' ? Buffer.from(text).toString('base64') : text
}

/** Parses the JSON of a record. Integers beyond 2^53 become bigint. Throws PayloadUnreadable. */
export const parseRecord = (text: string): unknown => {
  try {
    return fromWireJson(text)
  } catch (error) {
    throw new PayloadUnreadable((error as Error).message)
  }
}

interface RecordContent extends ReleaseKey {
  readonly version: number
  readonly info: Release['info']
}

/** Reports whether the record matches the labels of its object. */
const isRecordOf = (
  value: unknown,
  expected: ReleaseKey & { readonly version: number },
): value is RecordContent & FreeObject =>
  isObject(value) &&
  value['name'] === expected.name &&
  value['namespace'] === expected.namespace &&
  value['version'] === expected.version &&
  isObject(value['info']) &&
  typeof value['info']['status'] === 'string'

/**
 * Returns a record without its large members. Throws PayloadUnreadable if it is not a record, or is the record of
 * another release.
 */
export const headerOf = (value: unknown, expected: ReleaseKey & { readonly version: number }): ReleaseHeader => {
  if (!isRecordOf(value, expected)) throw new PayloadUnreadable('no release record')
  const { notes: _, ...info } = value.info
  const chart = (value as FreeObject)['chart']
  const metadata = isObject(chart) ? chart['metadata'] : undefined
  const { name, namespace, version } = expected
  return { name, namespace, version, info, chartMetadata: isObject(metadata) ? metadata : {} }
}

/**
 * Returns a complete record, key for key. Members that Helm omits when empty are present and empty. Throws
 * PayloadUnreadable.
 */
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

/** Packs as Helm does, off the event loop, and returns the size. */
export const gzipRecordSizes: RecordSizes = {
  async packed({ record, files }) {
    const listed = [...files].map(
      ([name, bytes]) => `{"name":${toWireJson(name)},"data":"${Buffer.from(bytes).toString('base64')}"}`,
    )
    const packed = await compress(Buffer.from(`${toWireJson(record)}[${listed.join(',')}]`), {
      level: constants.Z_BEST_COMPRESSION,
    })
    return Math.ceil(packed.length / 3) * 4
  },
}
