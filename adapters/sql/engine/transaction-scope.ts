import { AsyncLocalStorage } from 'node:async_hooks'

/** What is known of one open transaction. */
export interface TransactionState {
  open: boolean
  /** Why it can no longer be committed: the database has rolled it back, or its connection has gone. */
  broken: { readonly error: unknown } | undefined
}

/** Knows whether the code that runs now was called by a transaction's work. */
export interface Surroundings {
  run<A>(state: TransactionState, work: () => Promise<A>): Promise<A>
  /**
   * Throws inside a transaction's work. A statement there that bypasses the transaction would not see its changes, would
   * stand when it is rolled back, and could wait for the locks of its own caller for ever.
   */
  refuseInside(): void
}

export const makeSurroundings = (): Surroundings => {
  const current = new AsyncLocalStorage<TransactionState>()
  return {
    run: (state, work) => current.run(state, work),
    refuseInside: () => {
      if (current.getStore()?.open === true) {
        throw new Error('A statement bypasses the transaction that surrounds it; run it on the transaction that the work was given.')
      }
    },
  }
}

/** Throws when the transaction has ended or is beyond saving. */
export const assertUsable = (state: TransactionState): void => {
  if (!state.open) throw new Error('This transaction has ended; what it was given must not be kept.')
  if (state.broken !== undefined) throw state.broken.error
}
