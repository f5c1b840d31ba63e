/** One state of what a request depends on, and when it may have begun. Times are of one clock, in milliseconds. */
interface State {
  readonly isAllowed: boolean
  /** When the change to this state was sent. */
  readonly sentAt: number
  /** When it was acknowledged; undefined before that. */
  acknowledgedAt: number | undefined
}

/** A request that was answered: allowed or not. */
interface Observation {
  readonly sentAt: number
  readonly answeredAt: number
  readonly isAllowed: boolean
  readonly what: string
}

/** What one right was over time, and what requests saw of it. */
export interface AccessHistory {
  /** Runs a change to this state. */
  change(isAllowed: boolean, run: () => Promise<void>): Promise<void>
  observe(what: string, ask: () => Promise<boolean>): Promise<void>
  readonly observations: readonly Observation[]
  /**
   * Returns the observations that no order of the changes explains: each request must have seen a state that was in
   * force at some instant between its sending and its answer.
   */
  faults(): readonly string[]
}

/** A state is in force at the earliest from the sending of its change, and at the latest to the answer of the next. */
const mayHaveSeen = (states: readonly State[], { sentAt, answeredAt, isAllowed }: Observation): boolean =>
  states.some((state, index) => {
    const next = states[index + 1]
    const end = next === undefined ? Infinity : (next.acknowledgedAt ?? Infinity)
    return state.isAllowed === isAllowed && state.sentAt <= answeredAt && end >= sentAt
  })

export const makeAccessHistory = (isAllowedFirst: boolean): AccessHistory => {
  const states: State[] = [{ isAllowed: isAllowedFirst, sentAt: -Infinity, acknowledgedAt: -Infinity }]
  const observations: Observation[] = []
  return {
    observations,
    change: async (isAllowed, run) => {
      const state: State = { isAllowed, sentAt: performance.now(), acknowledgedAt: undefined }
      states.push(state)
      await run()
      state.acknowledgedAt = performance.now()
    },
    observe: async (what, ask) => {
      const sentAt = performance.now()
      const isAllowed = await ask()
      observations.push({ what, sentAt, answeredAt: performance.now(), isAllowed })
    },
    faults: () =>
      observations
        .filter((observation) => !mayHaveSeen(states, observation))
        .map(({ what, isAllowed, sentAt }) => `${what} was ${isAllowed ? 'allowed' : 'refused'} at ${sentAt}`),
  }
}
