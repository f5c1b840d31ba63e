import { inspect, isDeepStrictEqual } from 'node:util'
import { diffLines } from 'diff'

/** What a case asserts with. The `t` of ava has all of it. */
export interface Assertions {
  is(actual: unknown, expected: unknown, message?: string): boolean
  not(actual: unknown, expected: unknown, message?: string): boolean
  deepEqual(actual: unknown, expected: unknown, message?: string): boolean
  /** Compares only what `selector` names, at any depth. */
  like(actual: unknown, selector: object, message?: string): boolean
  true(actual: unknown, message?: string): boolean
  false(actual: unknown, message?: string): boolean
  truthy(actual: unknown, message?: string): boolean
  regex(text: string, pattern: RegExp, message?: string): boolean
  notRegex(text: string, pattern: RegExp, message?: string): boolean
  fail(message?: string): void
  pass(message?: string): void
  throwsAsync(promise: Promise<unknown>, expected?: ThrownAs): Promise<unknown>
  notThrowsAsync(promise: Promise<unknown>, message?: string): Promise<unknown>
}

interface ThrownAs {
  readonly message?: string | RegExp
  readonly instanceOf?: new (...parameters: never[]) => object
}

/** An assertion that does not hold. The message has the difference. */
export class NotKept extends Error {
  override readonly name = 'NotKept'
}

/** Assertions of one case. `hasAsserted` returns whether one was asked: a case that asserts nothing proves nothing. */
export const makeAssertions = (): { readonly t: Assertions; hasAsserted(): boolean } => {
  let count = 0
  const claim = (holds: boolean, what: string, message: string | undefined, detail = ''): boolean => {
    count += 1
    if (!holds) throw new NotKept([message === undefined ? what : `${message}: ${what}`, detail].join('\n').trimEnd())
    return true
  }
  const compare = (holds: boolean, what: string, actual: unknown, expected: unknown, message?: string): boolean =>
    claim(holds, what, message, holds ? '' : difference(actual, expected))
  const t: Assertions = {
    is: (actual, expected, message) =>
      compare(Object.is(actual, expected), 'The values must be the same.', actual, expected, message),
    not: (actual, expected, message) =>
      claim(!Object.is(actual, expected), 'The value must be another one.', message, `  ${shown(actual)}`),
    deepEqual: (actual, expected, message) =>
      compare(isDeepStrictEqual(actual, expected), 'The values must be equal.', actual, expected, message),
    like: (actual, selector, message) => {
      const selected = selectedFrom(actual, selector)
      const holds = isDeepStrictEqual(selected, selector)
      return compare(holds, 'The value must have these properties.', selected, selector, message)
    },
    true: (actual, message) => compare(actual === true, 'The value must be true.', actual, true, message),
    false: (actual, message) => compare(actual === false, 'The value must be false.', actual, false, message),
    truthy: (actual, message) => claim(Boolean(actual), 'There must be a value.', message, `  ${shown(actual)}`),
    regex: (text, pattern, message) =>
      claim(pattern.test(text), `The text must match ${String(pattern)}.`, message, `  ${shown(text)}`),
    notRegex: (text, pattern, message) =>
      claim(!pattern.test(text), `The text must not match ${String(pattern)}.`, message, `  ${shown(text)}`),
    fail: (message) => void claim(false, 'This must not happen.', message),
    pass: () => void claim(true, '', undefined),
    throwsAsync: async (promise, expected = {}) => {
      const thrown = await thrownBy(promise)
      if (thrown === undefined) return void claim(false, 'The promise must be rejected.', undefined)
      checkThrown(thrown.error, expected, claim)
      return thrown.error
    },
    notThrowsAsync: async (promise, message) => {
      const thrown = await thrownBy(promise)
      claim(thrown === undefined, 'The promise must not be rejected.', message, `  ${shown(thrown?.error)}`)
    },
  }
  return { t, hasAsserted: () => count > 0 }
}

type Claim = (holds: boolean, what: string, message: string | undefined, detail?: string) => boolean

const thrownBy = async (promise: Promise<unknown>): Promise<{ readonly error: unknown } | undefined> => {
  try {
    await promise
    return undefined
  } catch (error) {
    return { error }
  }
}

const checkThrown = (error: unknown, { message, instanceOf }: ThrownAs, claim: Claim): void => {
  claim(error instanceof Error, 'An Error must be thrown.', undefined, `  ${shown(error)}`)
  const text = (error as Error).message
  if (instanceOf !== undefined)
    claim(error instanceof instanceOf, `The error must be a ${instanceOf.name}.`, undefined, `  ${shown(error)}`)
  if (message === undefined) return
  const holds = typeof message === 'string' ? text === message : message.test(text)
  claim(holds, `The message of the error must be ${String(message)}.`, undefined, `  ${shown(text)}`)
}

/** A plain object or array with a property: what `like` looks into. */
const isSelector = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
  Object.keys(value).length > 0

/** Returns the part of a value that a selector names. */
const selectedFrom = (actual: unknown, selector: object): unknown => {
  if (typeof actual !== 'object' || actual === null) return actual
  const selected: Record<string, unknown> = {}
  for (const [key, wanted] of Object.entries(selector)) {
    const value: unknown = Reflect.get(actual, key)
    selected[key] = isSelector(wanted) ? selectedFrom(value, wanted) : value
  }
  return Array.isArray(selector) ? Object.assign([], selected) : selected
}

const shown = (value: unknown): string =>
  inspect(value, { depth: 8, sorted: true, breakLength: 100, maxArrayLength: 200, maxStringLength: 2000 })

/** The lines of both values: `-` what is expected, `+` what the adapter returned. */
const difference = (actual: unknown, expected: unknown): string =>
  diffLines(`${shown(expected)}\n`, `${shown(actual)}\n`)
    .flatMap(({ value, added, removed }) =>
      value
        .trimEnd()
        .split('\n')
        .map((line) => `${added ? '+' : removed ? '-' : ' '} ${line}`),
    )
    .join('\n')
