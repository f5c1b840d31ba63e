import type * as t from 'io-ts'
import type { FailureType } from '../../core/kernel/failure.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { RequiredScope, ScopeCategory } from '../../core/kernel/principal.ts'
import type { Access } from './access.ts'
import { read, write } from './access.ts'
import type { Method, Route } from './route.ts'

/** What the routes of a group have in common. A route may replace each, except that failures add up. */
export interface SharedRoute<P, Q, F extends string, X extends Access> {
  readonly tag: string
  readonly access?: X
  /** The category of the token scope: level read for GET, write for the other methods. */
  readonly scopeCategory?: ScopeCategory
  /** The token scope of all routes, where the method does not decide on the level. */
  readonly scope?: RequiredScope
  readonly params?: t.Type<P, unknown, unknown>
  readonly query?: t.Type<Q, unknown, unknown>
  readonly failures?: readonly FailureType<F>[]
  readonly statusOf?: Readonly<Record<string, number>>
  readonly servesConfined?: boolean
}

type OwnRoute<P, Q, B, R, F extends string, X extends Access, M extends Method> = Omit<
  Route<P, Q, B, R, F, X, M>,
  'tag' | 'access' | 'failures'
> & {
  readonly tag?: string
  readonly failures?: readonly FailureType<F>[]
}
type OwnAccess<X extends Access, SX extends Access> = [SX] extends [never] ? { readonly access: X } : { readonly access?: X }

/**
 * Returns a `defineRoute` for routes that have declarations in common.
 * @example const route = routesOf({ tag: 'Authorization', scopeCategory: 'authz', query: InOrganization })
 */
export const routesOf =
  <SP = unknown, SQ = unknown, SF extends string = never, SX extends Access = never>(shared: SharedRoute<SP, SQ, SF, SX>) =>
  <P = SP, Q = SQ, B = undefined, R = void, F extends string = never, X extends Access = SX, M extends Method = Method>(
    own: OwnRoute<P, Q, B, R, F, X, M> & OwnAccess<X, SX>,
  ): Route<P, Q, B, R, F | SF, X, M> => {
    const { scopeCategory, failures = [], ...rest } = shared
    const level = own.method === 'GET' ? read : write
    return {
      ...definedFields({ scope: scopeCategory === undefined ? undefined : level(scopeCategory) }),
      ...rest,
      ...own,
      failures: [...failures, ...(own.failures ?? [])],
    } as Route<P, Q, B, R, F | SF, X, M>
  }
