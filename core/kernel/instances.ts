import { token } from './token.ts'

/** Which processes serve this database, by the database's clock. Each process has an id of its own, new at each start. */
export interface InstanceRegister {
  /** Says that this process lives. One that is silent for ten seconds counts as dead: its begun work may be taken over. */
  beat(): Promise<void>
  /** Takes this process off the register, so that it counts as dead at once. */
  leave(): Promise<void>
}
export const InstanceRegisterToken = token<InstanceRegister>('kernel.InstanceRegister')

/** A right to do something alone for a while. */
export interface Lease {
  readonly name: string
  readonly holder: string
  /** Grows with each new holder; a write that carries an older fence comes from a holder that lost its lease. */
  readonly fence: number
}

/** Named leases of the whole deployment, timed by the database's clock. */
export interface LeaseStore {
  /** Takes the lease when nobody has it, for `ttlSeconds`. `holder` is unique to a process; undefined when it is taken. */
  acquire(name: string, holder: string, ttlSeconds: number): Promise<Lease | undefined>
  /** Prolongs it to `ttlSeconds` from now. False when it has run out or has another holder: stop the work. */
  renew(lease: Lease, ttlSeconds: number): Promise<boolean>
  /** Gives it back early; does nothing when it is lost already. */
  release(lease: Lease): Promise<void>
}
export const LeaseStoreToken = token<LeaseStore>('kernel.LeaseStore')
