import 'reflect-metadata'
import { container as root, instanceCachingFactory } from 'tsyringe'
import type { PortKey } from '../../core/kernel/port-key.ts'
import type { Given, Needs } from '../../plugins/kit/group.ts'
import type { Binding } from '../part/binding.ts'
import type { Container } from '../part/container.ts'

/** Returns the single instance of a port. */
type Resolve = <T>(token: PortKey<T>) => T

export interface ContainerOptions {
  /** Returns why nothing provides a port, if that is known. */
  readonly whyMissing?: (token: PortKey<unknown>) => string | undefined
  /** Called for each port that is made, and with how it is closed if its binding says so. */
  readonly onMade?: (port: string, close: (() => Promise<void>) | undefined) => void
}

/** Returns a container of bindings. Of several for one port the last counts. The wiring must be checked before. */
export const makeContainer = (
  bindings: readonly Binding[],
  { onMade, whyMissing }: ContainerOptions = {},
): Container => {
  const registry = root.createChildContainer()
  const has = (token: PortKey<unknown>): boolean => registry.isRegistered(token.key)
  const resolve: Resolve = <T>(token: PortKey<T>): T => {
    if (has(token)) return registry.resolve<T>(token.key)
    if (token.isOptional === true) return undefined as T
    throw new Error(whyMissing?.(token) ?? `Nothing provides the port ${token.name}.`)
  }
  const give = <N extends Needs>(needs: N): Given<N> =>
    Object.fromEntries(Object.entries(needs).map(([name, need]) => [name, resolve(need)])) as unknown as Given<N>
  for (const { token, needs, make, close } of bindings) {
    const create = (): unknown => {
      const made = make(give(needs))
      onMade?.(token.name, close === undefined ? undefined : async () => void (await close(made)))
      return made
    }
    registry.register(token.key, { useFactory: instanceCachingFactory(create) })
  }
  return { resolve, give, has }
}
