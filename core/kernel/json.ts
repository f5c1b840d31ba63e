/** Any JSON value; integers beyond 2^53 arrive as bigint. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | FreeObject

/** A free-form JSON object that the service passes on without knowing its shape. */
export interface FreeObject {
  readonly [key: string]: Json | undefined
}
