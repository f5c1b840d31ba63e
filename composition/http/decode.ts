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

const shapeTags: readonly (string | undefined)[] = ['InterfaceType', 'PartialType', 'ExactType', 'StrictType']

/** A shape's name says nothing to whoever sent no object at all. */
const expectedBy = ({ context, value }: t.ValidationError): string => {
  const type = context.at(-1)?.type
  if (type === undefined) return 'another value'
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return !isObject && shapeTags.includes((type as { readonly _tag?: string })._tag) ? 'an object' : type.name
}

/** Says where and what was expected; never the value, which may be a secret. */
const describe = (error: t.ValidationError): string => {
  const path = pathOf(error.context)
  const expected = expectedBy(error)
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
