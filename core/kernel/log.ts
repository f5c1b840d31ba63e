import { token } from './token.ts'

/** Structured log. Fields are an explicit list: never a request, a header, a body or an error of a driver as it is. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
export const LogToken = token<Log>('kernel.Log')
