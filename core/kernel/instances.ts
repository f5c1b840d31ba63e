import { portKey } from './port-key.ts'

/** Ids of keys of the key ring. A process that seals nothing has none. */
export interface InstanceKeys {
  /** The key that seals new values. */
  readonly sealingKey: string | undefined
  /** The last key of the key ring. It seals nothing yet if it waits for all instances to have it. */
  readonly newestKey: string | undefined
}

/** What a process is built from. */
export interface InstanceLevel {
  /** Its release, as `GET /version` returns it. */
  readonly version: string
  /** The newest migration of our own that it knows, such as `0095-kernel-instance-levels`. */
  readonly knownSchema: string
}

/** A process that is alive. Those of releases up to v2026.11.25 do not tell their level. */
export interface LiveInstance extends InstanceKeys {
  readonly id: string
  readonly version: string | undefined
  readonly knownSchema: string | undefined
}

/** The processes that serve this database, by the database's clock. Each process has its own id, new at each start. */
export interface InstanceRegister {
  /**
   * Records that this process is alive. A process that is silent for ten seconds counts as dead: its started work may
   * be taken over.
   */
  beat(keys?: InstanceKeys): Promise<void>
  /** Returns the processes that are alive. */
  alive(): Promise<readonly LiveInstance[]>
  /** Removes this process from the register, so that it counts as dead at once. */
  leave(): Promise<void>
}
export const InstanceRegisterPort = portKey<InstanceRegister>('kernel.InstanceRegister')

/** The processes that serve this database, seen as one. During an upgrade they are of two releases. */
export interface Fleet {
  /** Returns the level of the oldest process that is alive, or undefined if one of them does not tell its level. */
  lowest(): Promise<InstanceLevel | undefined>
  /**
   * Reports whether every process that is alive knows the migration. What a migration brought and an older process
   * cannot judge, such as a new limit of a token, is given out only then.
   */
  knows(migration: string): Promise<boolean>
}
export const FleetPort = portKey<Fleet>('kernel.Fleet')

/** An exclusive right, limited in time. */
export interface Lease {
  readonly name: string
  readonly holder: string
  /** Increases with each new holder. A write with an older fence comes from a holder that lost its lease. */
  readonly fence: number
}

/** Named leases of the whole deployment, timed by the database's clock. */
export interface LeaseStore {
  /**
   * Acquires the lease for `ttlSeconds` if it is free; returns undefined if it is held. `holder` must be unique to a
   * process. `longestSeconds` is the longest time for which any holder extends it, `ttlSeconds` if not given: a lease
   * that ends more than a minute after that was taken while the clock was ahead, and is free.
   */
  acquire(name: string, holder: string, ttlSeconds: number, longestSeconds?: number): Promise<Lease | undefined>
  /**
   * Extends the lease to `ttlSeconds` from now. Returns false if it has expired or has another holder: the work must
   * stop.
   */
  renew(lease: Lease, ttlSeconds: number): Promise<boolean>
  /** Releases the lease early. Does nothing if it is already lost. */
  release(lease: Lease): Promise<void>
}
export const LeaseStorePort = portKey<LeaseStore>('kernel.LeaseStore')

/**
 * Does work while a lease of `ttlSeconds` is renewed, four times within its length. The signal of the work is aborted
 * when `ending` is, or when the lease is lost. A database that does not answer does not prove that: the next renewal
 * tells. The caller releases the lease.
 */
export const whileHeld = async <A>(
  leases: LeaseStore,
  lease: Lease,
  ttlSeconds: number,
  ending: AbortSignal,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A> => {
  const lost = new AbortController()
  const renew = async (): Promise<void> => {
    try {
      if (!(await leases.renew(lease, ttlSeconds))) lost.abort(new Error(`The lease ${lease.name} is lost.`))
    } catch {
      // If no renewal succeeds in time, the lease expires and the next one reports it.
    }
  }
  const beat = setInterval(() => void renew(), (ttlSeconds * 1000) / 4)
  try {
    return await work(AbortSignal.any([ending, lost.signal]))
  } finally {
    clearInterval(beat)
  }
}
