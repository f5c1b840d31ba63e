/** A typed name for a port. Interfaces do not exist at run time, so the container needs one. */
export interface Token<Port> {
  readonly key: symbol
  readonly name: string
  /** What needs the port can do without it. */
  readonly isOptional?: true
  readonly __port?: Port
}

/** Declares a port's token, next to the port. `name` is `part.Port`, such as `authz.RoleStore`. */
export const token = <Port>(name: string): Token<Port> => ({ key: Symbol.for(`moorage:${name}`), name })

/**
 * Returns the token for something that can do without the port: it receives undefined where no open part provides the
 * port.
 */
export const optional = <Port>(port: Token<Port>): Token<Port | undefined> => ({ ...port, isOptional: true })

/** The port type of a token. */
export type PortOf<T> = T extends Token<infer Port> ? Port : never
