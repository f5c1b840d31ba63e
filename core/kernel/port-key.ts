/** A typed name for a port. Interfaces do not exist at run time, so the container needs one. */
export interface PortKey<Port> {
  readonly key: symbol
  readonly name: string
  /** What needs the port can do without it. */
  readonly isOptional?: true
  readonly __port?: Port
}

/** Declares the key of a port, next to the port. `name` is `part.Port`, such as `authz.RoleStore`. */
export const portKey = <Port>(name: string): PortKey<Port> => ({ key: Symbol.for(`moorage:${name}`), name })

/**
 * Returns the key for something that can do without the port: it receives undefined where no open part provides the
 * port.
 */
export const optional = <Port>(port: PortKey<Port>): PortKey<Port | undefined> => ({ ...port, isOptional: true })

/** The port type of a key. */
export type PortOf<T> = T extends PortKey<infer Port> ? Port : never
