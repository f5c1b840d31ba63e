import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { parseJson } from '../kernel/json.ts'
import { ProxyBodyRefused } from './ports.ts'

/** Bytes. */
const limit = 256 * 1024

/** Reads the JSON body of a computed form. */
export const readSmallJson = async (body: AsyncIterable<Uint8Array> | undefined): Outcome<Failure<'ProxyBodyRefused'>, unknown> => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength
      if (bytes > limit) return left(ProxyBodyRefused('The body is larger than 256 KiB.'))
      text += decoder.decode(chunk, { stream: true })
    }
    const parsed = parseJson(text + decoder.decode())
    if (parsed.ok) return right(parsed.value)
    return left(ProxyBodyRefused(parsed.why === 'repeated-key' ? `The key "${parsed.key.slice(0, 64)}" stands twice in one object of the body.` : 'The body is not JSON.'))
  } catch {
    return left(ProxyBodyRefused('The body is not JSON.'))
  }
}

/** The value of a key of a JSON object; undefined of anything else. */
export const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>((from, key) => (typeof from === 'object' && from !== null && Object.hasOwn(from, key) ? (from as Record<string, unknown>)[key] : undefined), value)

export const textAt = (value: unknown, ...keys: readonly string[]): string => {
  const found = at(value, ...keys)
  return typeof found === 'string' ? found : ''
}

export const listAt = (value: unknown, ...keys: readonly string[]): readonly unknown[] => {
  const found = at(value, ...keys)
  return Array.isArray(found) ? found : []
}
