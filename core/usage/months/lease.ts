import type { LeaseStore } from '../../kernel/instances.ts'

/** The work of a dead holder is taken over after this time. */
const leaseSeconds = 60

/**
 * Does work under a lease that is renewed until the work ends; undefined if another holder has it. The signal of the work is aborted when
 * the given one is, or when the lease is lost.
 */
export const holdLease = async <A>(leases: LeaseStore, name: string, holder: string, ending: AbortSignal, work: (signal: AbortSignal) => Promise<A>): Promise<A | undefined> => {
  const lease = await leases.acquire(name, holder, leaseSeconds)
  if (lease === undefined) return undefined
  const lost = new AbortController()
  const renew = async (): Promise<void> => {
    try {
      if (!(await leases.renew(lease, leaseSeconds))) lost.abort(new Error(`The lease ${name} is lost.`))
    } catch {
      // A database that does not answer does not prove that the lease is lost; the next renewal tells.
    }
  }
  const beat = setInterval(() => void renew(), (leaseSeconds * 1000) / 4)
  try {
    return await work(AbortSignal.any([ending, lost.signal]))
  } finally {
    clearInterval(beat)
    await leases.release(lease)
  }
}
