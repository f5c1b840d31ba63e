import { deserialize, serialize } from 'node:v8'
import { formatPatch, structuredPatch } from 'diff'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import { kubernetesYamlText } from './kubernetes-yaml.ts'

/** A job of a thread on a text, or on a value to print as text. */
export type TextJob =
  | { readonly do: 'parse'; readonly bytes: Uint8Array }
  | { readonly do: 'convert'; readonly bytes: Uint8Array; readonly to: 'json' | 'yaml' }
  | { readonly do: 'pick'; readonly bytes: Uint8Array; readonly keys: readonly string[] }
  | { readonly do: 'print'; readonly value: Json }

/** The text cannot be read. The message is for people. */
export class TextRefused extends Error {}

const parsed = (bytes: Uint8Array): readonly Json[] => {
  const documents = kubernetesYamlText.parseAll(new TextDecoder().decode(bytes))
  if (isLeft(documents)) throw new TextRefused(documents.left.message)
  return documents.right
}

const converted = (bytes: Uint8Array, to: 'json' | 'yaml'): string => {
  const [value = null, ...others] = parsed(bytes)
  if (others.length > 0) throw new TextRefused(`It holds ${others.length + 1} documents, which do not become one.`)
  return to === 'json' ? toWireJson(value) : kubernetesYamlText.print(value)
}

const fromJson = (bytes: Uint8Array): unknown => {
  try {
    return fromWireJson(new TextDecoder().decode(bytes))
  } catch (error) {
    throw new TextRefused(`The text is no JSON that can be read: ${(error as Error).name}.`)
  }
}

const picked = (bytes: Uint8Array, keys: readonly string[]): FreeObject => {
  const value = fromJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TextRefused('The text is no JSON object.')
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, (value as FreeObject)[key]]),
  )
}

/** Runs a text job. For `pick` the result is a list of one. Throws TextRefused. */
export const doTextJob = (job: TextJob): readonly Json[] | string => {
  switch (job.do) {
    case 'parse':
      return parsed(job.bytes)
    case 'convert':
      return converted(job.bytes, job.to)
    case 'pick':
      return [picked(job.bytes, job.keys)]
    case 'print':
      return kubernetesYamlText.print(job.value)
  }
}

/** The size of a part that is parsed in a few milliseconds. */
const partBytes = 64 * 1024

/** Returns values as bytes, in parts that are parsed one by one. A single value is never split. */
export const packValues = (values: readonly Json[]): readonly Uint8Array[] => {
  const bytes = serialize(values)
  if (bytes.length <= partBytes || values.length < 2) return [bytes]
  const half = values.length >> 1
  return [...packValues(values.slice(0, half)), ...packValues(values.slice(half))]
}

export const unpackValues = async (parts: readonly Uint8Array[], slices: TimeSlices): Promise<readonly Json[]> => {
  const read = await Promise.all(parts.map((part) => slices.run(() => deserialize(part) as readonly Json[])))
  return read.flat(1) as readonly Json[]
}

/** The number of edits after which a comparison stops: texts with nothing in common are shown in full. */
const maxEdits = 2000

const prefixed = (text: string, sign: string): string =>
  text === ''
    ? ''
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => `${sign}${line}\n`)
        .join('')

/** Returns all of the first text as removed, then all of the second as added. */
export const wholeDiff = (from: string, to: string): string => `${prefixed(from, '-')}${prefixed(to, '+')}`

/** Returns the changed lines with three lines of context. */
export const lineDiff = (from: string, to: string): string => {
  if (from === to) return ''
  const patch = structuredPatch('', '', from, to, undefined, undefined, { context: 3, maxEditLength: maxEdits })
  if (patch === undefined) return wholeDiff(from, to)
  const text = formatPatch(patch)
  // The lines before the first hunk are file names, which do not apply here.
  return text.slice(text.indexOf('@@'))
}
