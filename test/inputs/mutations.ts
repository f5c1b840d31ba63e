import { isLeft } from 'fp-ts/lib/Either.js'
import { parseJson } from '../../core/kernel/json.ts'
import type { BodySpec } from '../../plugins/kit/route.ts'

/** A body that the codec refuses, as it travels. */
export interface BadBody {
  readonly what: string
  readonly text: string
}

const replacements: readonly string[] = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '1e400',
  '9007199254740993',
  '9223372036854775808',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"../../etc"',
  '"\\u202ename"',
  '[]',
  '{}',
  '[[[]]]',
  '{"__proto__":{"polluted":true}}',
  '"' + 'x'.repeat(70_000) + '"',
]

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * JSON text of a value in which one key, at any depth, stands for the given text; or is left out where it is undefined.
 */
const withKey = (value: unknown, path: readonly string[], text: string | undefined): string => {
  const [key, ...rest] = path
  if (key === undefined) return text ?? 'null'
  if (Array.isArray(value))
    return `[${value.map((item: unknown, index) => (String(index) === key ? withKey(item, rest, text) : JSON.stringify(item))).join(',')}]`
  const entries = Object.entries(isObject(value) ? value : {}).flatMap(([name, item]) => {
    if (name !== key) return [`${JSON.stringify(name)}:${JSON.stringify(item)}`]
    return rest.length === 0 && text === undefined ? [] : [`${JSON.stringify(name)}:${withKey(item, rest, text)}`]
  })
  return `{${entries.join(',')}}`
}

const pathsOf = (value: unknown, path: readonly string[] = []): readonly (readonly string[])[] => {
  const children = Array.isArray(value)
    ? value.slice(0, 1).map((item: unknown) => ['0', item] as const)
    : isObject(value)
      ? Object.entries(value)
      : []
  return children.flatMap(([key, item]) => [[...path, key], ...pathsOf(item, [...path, key])])
}

const candidates = (example: unknown): readonly BadBody[] => [
  ...replacements.map((text) => ({ what: `whole body ${text.slice(0, 30)}`, text })),
  ...pathsOf(example).flatMap((path) => [
    { what: `without ${path.join('.')}`, text: withKey(example, path, undefined) },
    ...replacements.map((text) => ({
      what: `${path.join('.')} = ${text.slice(0, 30)}`,
      text: withKey(example, path, text),
    })),
  ]),
]

/** Every mutation of a route's example that its codec refuses. */
export const badBodies = ({ codec, example }: BodySpec<unknown>): readonly BadBody[] =>
  candidates(example).filter(({ text }) => {
    const parsed = parseJson(text)
    return parsed.ok && isLeft(codec.decode(parsed.value))
  })

/** Texts that are no JSON. */
export const malformed: readonly string[] = [
  '{',
  '{"a":}',
  '{"a":1,}',
  'NaN',
  "{'a':1}",
  '\ufeff{}',
  '{}{}',
  '[1,2',
  '"',
  'undefined',
  '{"a":01}',
  '\u0000',
]

/** Nesting beyond what is taken. */
export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
