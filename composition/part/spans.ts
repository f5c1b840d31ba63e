import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import type { PortKey } from '../../core/kernel/port-key.ts'
import type { SpanAttributes, SpanStart, Tracing } from '../../core/platform/ports.ts'
import type { Binding } from './binding.ts'

/** How a call of a method of a port is a span. */
export interface SpanMethod {
  readonly name: string
  readonly kind?: SpanStart['kind']
  readonly attributes?: (args: readonly unknown[]) => SpanAttributes
  /** Returns the arguments with the headers that continue the trace. */
  readonly passOn?: (args: readonly unknown[], headers: Readonly<Record<string, string>>) => readonly unknown[]
}

/** The methods of a port whose calls are spans. */
export interface PortSpans {
  readonly port: PortKey<unknown>
  readonly methods: Readonly<Record<string, SpanMethod>>
}

/** Declares spans of a port: each call of a named method is one. */
export const spansOf = <Port>(
  port: PortKey<Port>,
  methods: { readonly [M in keyof Port & string]?: SpanMethod },
): PortSpans => ({ port, methods: methods as PortSpans['methods'] })

const inInit = (args: readonly unknown[], headers: Readonly<Record<string, string>>): readonly unknown[] => {
  const [input, init] = args as readonly [unknown, { readonly headers?: ConstructorParameters<typeof Headers>[0] }?]
  const sent = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  return [input, { ...init, headers: Object.fromEntries(sent) }]
}

/** The span of a `fetch` to another service, whose request continues the trace. */
export const fetchSpan: SpanMethod = { name: 'provider request', kind: 'client', passOn: inInit }

const isFailure = (result: unknown): result is Either<Failure<string>, unknown> & { readonly _tag: 'Left' } =>
  typeof result === 'object' && result !== null && '_tag' in result && isLeft(result as Either<unknown, unknown>)

type Method = (...args: readonly unknown[]) => Promise<unknown>

const tracedMethod = (tracing: Tracing, target: object, method: Method, traced: SpanMethod): Method => {
  const { name, kind = 'internal', attributes, passOn } = traced
  return (...args) =>
    tracing.span({ name, kind, attributes: attributes?.(args) ?? {} }, async (span) => {
      const result = await method.apply(target, passOn === undefined ? [...args] : [...passOn(args, tracing.headers())])
      if (isFailure(result)) span.fail(result.left.tag)
      return result
    })
}

/** Returns a port whose named methods are spans. Its other members are as before. */
const tracedPort = <A extends object>(tracing: Tracing, port: A, methods: PortSpans['methods']): A => {
  const wrapped = new Map<string | symbol, unknown>()
  return new Proxy(port, {
    get: (target, key): unknown => {
      if (wrapped.has(key)) return wrapped.get(key)
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const traced = typeof key === 'string' ? methods[key] : undefined
      const used: unknown =
        traced === undefined ? value.bind(target) : tracedMethod(tracing, target, value as Method, traced)
      wrapped.set(key, used)
      return used
    },
  })
}

/** Returns bindings that make traced ports. Without traces they are those that were given. */
export const tracedBindings = (
  tracing: Tracing,
  bindings: readonly Binding[],
  spans: readonly PortSpans[],
): readonly Binding[] => {
  if (!tracing.isOn) return bindings
  const byPort = new Map(spans.map(({ port, methods }) => [port.key, methods]))
  return bindings.map((binding) => {
    const methods = byPort.get(binding.token.key)
    const { make } = binding
    return methods === undefined
      ? binding
      : { ...binding, make: (given) => tracedPort(tracing, make(given) as object, methods) }
  })
}
