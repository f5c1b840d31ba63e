import { portKey } from './port-key.ts'

/** Structured log. Fields are an explicit list: never a whole request, header, body or driver error. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
export const LogPort = portKey<Log>('kernel.Log')
