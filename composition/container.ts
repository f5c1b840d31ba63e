import 'reflect-metadata'
import { container as root, instanceCachingFactory } from 'tsyringe'
import type { Token } from '../core/kernel/token.ts'

/** Returns the single instance of a port. */
export type Resolve = <T>(token: Token<T>) => T

/**
 * Binds ports to adapters. It is used only at start: nothing is resolved per request. A port may be provided again
 * until it is first resolved, so that a deployer's plugin can replace an adapter; the last provider wins.
 */
export interface Container {
  /** Binds a port to a factory, which runs once, at the first `resolve`. */
  provide<T>(token: Token<T>, factory: (resolve: Resolve) => T): void
  provideValue<T>(token: Token<T>, value: T): void
  /**
   * Returns the instance of a port. Throws a readable error when the port is not provided or when ports depend on each
   * other in a cycle.
   */
  resolve<T>(token: Token<T>): T
  has(token: Token<unknown>): boolean
}

export const makeContainer = (): Container => {
  const registry = root.createChildContainer()
  const resolved = new Set<symbol>()
  const underWay: string[] = []

  const refuseWhenInUse = (token: Token<unknown>): void => {
    if (resolved.has(token.key))
      throw new Error(`The port ${token.name} is already in use, so it cannot be provided again.`)
  }

  const resolve: Resolve = <T>(token: Token<T>): T => {
    if (!registry.isRegistered(token.key)) throw new Error(missing(token.name, underWay))
    resolved.add(token.key)
    return registry.resolve<T>(token.key)
  }

  return {
    provide: (token, factory) => {
      refuseWhenInUse(token)
      const create = (): unknown => {
        if (underWay.includes(token.name)) {
          throw new Error(`Ports need each other in a circle: ${[...underWay, token.name].join(' -> ')}.`)
        }
        underWay.push(token.name)
        try {
          return factory(resolve)
        } finally {
          underWay.pop()
        }
      }
      registry.register(token.key, { useFactory: instanceCachingFactory(create) })
    },
    provideValue: (token, value) => {
      refuseWhenInUse(token)
      registry.register(token.key, { useFactory: () => value })
    },
    resolve,
    has: (token) => registry.isRegistered(token.key),
  }
}

const missing = (name: string, underWay: readonly string[]): string =>
  underWay.length === 0
    ? `Nothing provides the port ${name}: add it in composition/wiring.`
    : `Nothing provides the port ${name}, which ${underWay.join(' -> ')} needs: add it in composition/wiring.`
