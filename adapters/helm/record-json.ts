import type { FreeObject } from '../../core/kernel/json.ts'
import type { Release, ReleaseHeader, ReleaseKey } from '../../core/packages/types.ts'
import { PayloadUnreadable } from './record-payload.ts'

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
