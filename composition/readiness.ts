/** One thing that must work before requests are welcome. */
export interface ReadinessCheck {
  readonly name: string
  /** Throws when it does not. */
  check(): Promise<void>
}

export interface ReadinessReport {
  readonly isReady: boolean
  /** Names of what fails, or `stopping` or `starting`. */
  readonly failing: readonly string[]
}

/** Whether this instance should be sent requests. */
export interface Readiness {
  report(): Promise<ReadinessReport>
  setStarted(): void
  /** From here on the answer is no, whatever the checks say. */
  setStopping(): void
}

export const makeReadiness = (checks: readonly ReadinessCheck[], timeoutMs = 2_000): Readiness => {
  let phase: 'starting' | 'started' | 'stopping' = 'starting'
  return {
    setStarted: () => void (phase = phase === 'starting' ? 'started' : phase),
    setStopping: () => void (phase = 'stopping'),
    report: async () => {
      if (phase !== 'started') return { isReady: false, failing: [phase] }
      const results = await Promise.all(checks.map(async (each) => ((await works(each, timeoutMs)) ? [] : [each.name])))
      const failing = results.flat()
      return { isReady: failing.length === 0, failing }
    },
  }
}

const works = async ({ check }: ReadinessCheck, timeoutMs: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs)
  })
  const works = check().then(
    () => true,
    () => false,
  )
  const result = await Promise.race([works, tooLate])
  clearTimeout(timer)
  return result
}
