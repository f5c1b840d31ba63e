import type * as t from 'io-ts'
import { isRight } from 'fp-ts/lib/Either.js'

export type Decoded<A> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly errors: readonly string[] }

/** More would help nobody, and an array of 10^5 bad items has as many. */
const maxErrors = 20

const pathOf = (context: t.Context): string =>
  context
    .map((entry) => entry.key)
    .filter((key) => key !== '')
    .join('.')

/** Says where and what was expected; never the value, which may be a secret. */
const describe = (error: t.ValidationError): string => {
  const path = pathOf(error.context)
  const expected = error.context.at(-1)?.type.name ?? 'another value'
  const missing = error.value === undefined ? 'is missing; expected' : 'must be'
  return `${path === '' ? 'the value' : path.slice(0, 200)} ${missing} ${expected.slice(0, 200)}`
}

/** Decodes with a codec; on refusal lists at most 20 problems by path. */
export const decodeWith = <A>(codec: t.Type<A, unknown, unknown>, input: unknown): Decoded<A> => {
  const result = codec.decode(input)
  if (isRight(result)) return { ok: true, value: result.right }
  const errors = [...new Set(result.left.slice(0, maxErrors * 4).map(describe))]
  const shown = errors.slice(0, maxErrors)
  return { ok: false, errors: result.left.length > shown.length && errors.length > maxErrors ? [...shown, 'and more'] : shown }
}
