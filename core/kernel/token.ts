/** A typed name for a port: interfaces leave no run-time trace, so the container needs one. */
export interface Token<Port> {
  readonly key: symbol
  readonly name: string
  readonly __port?: Port
}

/** Declares a port's token, beside the port. `name` is `part.Port`, as in `authz.RoleStore`. */
export const token = <Port>(name: string): Token<Port> => ({ key: Symbol.for(`moorage:${name}`), name })

/** The port type that a token stands for. */
export type PortOf<T> = T extends Token<infer Port> ? Port : never
