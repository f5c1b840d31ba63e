import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { Page } from '../../core/kernel/page.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { Access } from './access.ts'
import type { CookieChange, ReplySpec, Versioned, WithCookies } from './reply.ts'
import { NoContent, Redirect, YamlAnswer } from './reply.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { Admission, BoundRoute, CallOf, Method, Route, RouteInput } from './route.ts'

/**
 * The result that the transaction of a change must have, since the answer is made from it. A GET, an answer without a
 * body and an answer of cookies are not stored with a change: their call may be passed to any transaction.
 */
type TransactionResult<M extends Method, R, A> = M extends 'GET'
  ? unknown
  : [R] extends [void | readonly CookieChange[] | WithCookies<unknown>]
    ? unknown
    : A

/** What `reply` receives: an item of a list, otherwise the result of the use case. */
type ReplySource<R, A> = [Extract<R, Page<unknown>>] extends [never] ? A : A extends Page<infer Item> ? Item : never

/** What `reply` returns: an item of a list, the value of a versioned reply, otherwise the declared value. */
type ReplyValue<R> = R extends Page<infer Item> ? Item : R extends Versioned<infer Value> ? Value : R

type ReplyFunction<R, A, I> = (
  result: ReplySource<R, A>,
  input: I,
) => ReplyValue<R> | ([Extract<R, Page<unknown>>] extends [never] ? Promise<ReplyValue<R>> : never)

type ReplyMapping<R, A, I> = [R] extends [void]
  ? { readonly reply?: never }
  : [ReplySource<R, A>] extends [ReplyValue<R>]
    ? { readonly reply?: ReplyFunction<R, A, I> }
    : { readonly reply: ReplyFunction<R, A, I> }

type VersionMapping<R, A> = [Extract<R, Versioned<unknown>>] extends [never]
  ? { readonly version?: never }
  : [A] extends [{ readonly version: number }]
    ? { readonly version?: (result: A) => number }
    : { readonly version: (result: A) => number }

/**
 * The compiler checks a mapping once before it has inferred A from a function written in place. `never` lets that pass.
 */
type Inferred<A> = unknown extends A ? never : A

type InputMapping<I, Given> = [Given] extends [I]
  ? { readonly input?: (given: Given) => I }
  : { readonly input: (given: Given) => I }

/** Like `NoInfer`, but a union stays one, so that conditional types distribute over it. */
type Settled<A> = [A][A extends unknown ? 0 : never]

type Mapping<R, A, I, Given, F extends string> = InputMapping<I, Given> &
  ReplyMapping<R, A, Given> &
  VersionMapping<R, A> & { readonly admission?: Admission<F> }
type MappingArgument<T> = Record<never, never> extends T ? readonly [mapping?: T] : readonly [mapping: T]

interface AnyMapping {
  readonly input?: (given: AnyRouteInput) => unknown
  readonly reply?: (result: unknown, given: AnyRouteInput) => unknown
  readonly version?: (result: unknown) => number
  readonly admission?: Admission
}
type AnyRouteInput = RouteInput<unknown, unknown, unknown, Access>

/**
 * Binds a use case to a declared route. A failure that the route does not declare is a compile error.
 *
 * `input` returns the use case's input from the decoded request; without it the use case gets the decoded request
 * itself. `reply` returns the wire form of the result: of each item where the route declares a list, of the value where
 * it declares a version, which is taken from the result's `version` or from the function `version`. It may return a
 * `Redirect`, `NoContent` or `YamlAnswer` where the route declares one. Each may be left out where the types already
 * agree. `admission` proves senders that have no credential of this service.
 *
 * Under an Idempotency-Key, `reply` of a change runs inside the transaction, which stores the answer: a retry gets it
 * even if the process fails after the commit. So `reply` must depend on the result and the request alone, and must not
 * call other systems. The use case of a change takes a call whose transaction has the use case's result
 * (`SignedInCall<Role>`); one that runs no transaction takes `SignedInCall<never>`.
 */
export function handle<P, Q, B, R, F extends string, X extends Access, A, I = RouteInput<P, Q, B, X>>(
  route: Route<P, Q, B, R, F, X, 'GET'>,
  // The type of the call does not depend on A here, so that A is inferred from a function written in place.
  useCase: (call: CallOf<X, unknown>, input: I) => Outcome<Failure<NoInfer<F>>, A>,
  ...mapping: MappingArgument<Mapping<Settled<R>, Inferred<Settled<A>>, Settled<I>, RouteInput<P, Q, B, X>, NoInfer<F>>>
): BoundRoute
export function handle<P, Q, B, R, F extends string, X extends Access, M extends Method, A, I = RouteInput<P, Q, B, X>>(
  route: Route<P, Q, B, R, F, X, M>,
  useCase: (call: CallOf<X, TransactionResult<M, R, NoInfer<A>>>, input: I) => Outcome<Failure<NoInfer<F>>, A>,
  ...mapping: MappingArgument<Mapping<Settled<R>, Settled<A>, Settled<I>, RouteInput<P, Q, B, X>, NoInfer<F>>>
): BoundRoute
export function handle(declared: object, useCase: unknown, ...[mapping]: readonly unknown[]): BoundRoute {
  const route = declared as Route
  const { input, reply, version, admission } = (mapping ?? {}) as AnyMapping
  const run = useCase as (call: AnyRouteInput['call'], input: unknown) => ReturnType<BoundRoute['handler']>
  return {
    kind: 'json',
    route,
    ...definedFields({ admission }),
    handler: (given) => run(given.call, input === undefined ? given : input(given)),
    reply: replyOf(route.ok, reply ?? ((result) => result), version),
  }
}

const replyOf = (
  { kind }: ReplySpec<unknown>,
  reply: NonNullable<AnyMapping['reply']>,
  version: AnyMapping['version'],
): NonNullable<BoundRoute['reply']> => {
  switch (kind) {
    case 'list':
      return (page, given) => mapPage(page as Page<unknown>, (item) => reply(item, given))
    case 'versioned':
      return async (result, given) => {
        const value = await reply(result, given)
        if (value instanceof Redirect || value instanceof NoContent || value instanceof YamlAnswer) return value
        return { value, version: version?.(result) ?? (result as { readonly version: number }).version }
      }
    default:
      return reply
  }
}
