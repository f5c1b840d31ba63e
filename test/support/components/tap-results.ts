/** What ava reported, from its TAP output. */
export interface TapResults {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The failed tests and crashes, each as ava printed it, with its details. */
  readonly failures: readonly string[]
  /** As ava prints them: the file, then the title. */
  readonly passedTitles: readonly string[]
  /** False when the report breaks off before its totals: ava did not come to its end. */
  readonly isComplete: boolean
}

/** Reads TAP line by line; `add` answers the line to show, or nothing for one that is only counted. */
export function tapReader(): { add(line: string): string | undefined; results(): TapResults } {
  const failures: string[][] = []
  const passedTitles: string[] = []
  const totals = new Map<string, number>()
  let inPlan = false
  let lastFailed: string[] | undefined
  return {
    add(line) {
      if (/^1\.\.\d+$/.test(line)) {
        inPlan = true
        return undefined
      }
      // Only after the plan: a test may log a line that looks like a total.
      const total = inPlan ? /^# (pass|fail|skip) (\d+)$/.exec(line) : null
      if (total !== null) totals.set(total[1] ?? '', Number(total[2]))
      if (inPlan || line === '' || line.startsWith('TAP version')) return undefined
      if (line.startsWith('not ok ')) {
        lastFailed = [line]
        failures.push(lastFailed)
      } else if (line.startsWith('ok ')) {
        lastFailed = undefined
        passedTitles.push(line.replace(/^ok \d+ - /, ''))
      } else {
        lastFailed?.push(line)
      }
      if (/^# .+ hook( for .+)?$/.test(line)) return undefined
      return line.replace(/^(ok|not ok) \d+ - /, '$1 - ')
    },
    results: () => ({
      passed: totals.get('pass') ?? 0,
      failed: totals.get('fail') ?? 0,
      skipped: totals.get('skip') ?? 0,
      passedTitles,
      failures: failures.map((lines) => lines.join('\n')),
      isComplete: totals.has('pass') && totals.has('fail'),
    }),
  }
}
