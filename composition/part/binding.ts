import { definedFields } from '../../core/kernel/json.ts'
import type { PortKey } from '../../core/kernel/port-key.ts'
import type { Given, Needs } from '../../plugins/kit/group.ts'

/** How a port is made of the ports that it needs. Data: nothing is made until something that is used needs the port. */
export interface Binding {
  readonly token: PortKey<unknown>
  readonly needs: Needs
  readonly make: (given: Readonly<Record<string, unknown>>) => unknown
  /** Closes what was made, when the service stops. What is made last is closed first. */
  readonly close?: (made: unknown) => unknown
}

/**
 * Binds a port to the function that makes it, which is called at most once. `needs` names the ports that it receives,
 * by their tokens; an `optional` one may be undefined. Throw StartRefused for what the operator can repair.
 */
export function bind<T, N extends Needs>(token: PortKey<T>, needs: N, make: (given: Given<N>) => NoInfer<T>): Binding
/** `close` is called with what was made, when the service stops. */
export function bind<T, N extends Needs, Made extends T>(
  token: PortKey<T>,
  needs: N,
  make: (given: Given<N>) => Made,
  close: (made: Made) => unknown,
): Binding
export function bind(token: PortKey<unknown>, needs: Needs, make: unknown, close?: unknown): Binding {
  return { token, needs, make, ...definedFields({ close }) } as Binding
}

/** Something that is made of ports once they are wired. */
export interface Using<A> {
  readonly needs: Needs
  readonly make: (given: Readonly<Record<string, unknown>>) => A
}

/** Names the ports of which something is made. */
export const using = <N extends Needs, A>(needs: N, make: (given: Given<N>) => A): Using<A> =>
  ({ needs, make }) as unknown as Using<A>

/** Returns a function that makes a value at its first call, for what several bindings of a part share. */
export const lazily = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}
