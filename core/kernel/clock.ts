import { token } from './token.ts'

/** The wall clock. Leases and expiry that several instances must agree on use the database's clock instead. */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
}
export const ClockToken = token<Clock>('kernel.Clock')
