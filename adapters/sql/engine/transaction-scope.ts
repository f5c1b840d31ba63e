import { AsyncLocalStorage } from 'node:async_hooks'

/** The state of an open transaction. */
export interface TransactionState {
  open: boolean
  /** Why it can no longer be committed: the database rolled it back, or its connection was lost. */
  broken: { readonly error: unknown } | undefined
}

/** Detects whether the current code was called from the work of a transaction. */
export interface Surroundings {
  run<A>(state: TransactionState, work: () => Promise<A>): Promise<A>
  /**
   * Throws inside the work of a transaction. A statement that bypasses the transaction there would not see its changes,
   * would not be rolled back with it, and could wait forever for the locks of its own caller.
   */
  refuseInside(): void
}

export const makeSurroundings = (): Surroundings => {
  const current = new AsyncLocalStorage<TransactionState>()
  return {
    run: (state, work) => current.run(state, work),
    refuseInside: () => {
      if (current.getStore()?.open === true) {
        throw new Error(
          'A statement bypasses the transaction that surrounds it; run it on the transaction that the work was given.',
        )
      }
    },
  }
}

/** Throws if the transaction has ended or can no longer be committed. */
export const assertUsable = (state: TransactionState): void => {
  if (!state.open) throw new Error('This transaction has ended; what it was given must not be kept.')
  if (state.broken !== undefined) throw state.broken.error
}
