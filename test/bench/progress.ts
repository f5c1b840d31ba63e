/** Tells the person who waits what is being measured and how long it will go on. */
export interface Progress {
  /** Something that is no measurement: starting, building, seeding. */
  doing(what: string): void
  measuring(what: string, seconds: number): void
  round(round: number, rounds: number): void
  /** The estimate of everything still to come, set by whoever knows the rows. */
  expect(seconds: number): void
  done(): void
}

const clock = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds))
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** On a terminal one line is written over; elsewhere each step is a line of its own and rounds are not shown. */
export function makeProgress(out: NodeJS.WriteStream): Progress {
  const startedAt = performance.now()
  let current = ''
  let left = 0
  const elapsed = (): number => (performance.now() - startedAt) / 1000
  const show = (text: string): void => {
    const line = `[${clock(elapsed())}, about ${clock(left)} left] ${text}`
    if (out.isTTY) out.write(`\r\x1b[2K${line.slice(0, out.columns - 1)}`)
    else out.write(`${line}\n`)
  }
  return {
    expect: (seconds) => {
      left = seconds
    },
    doing: (what) => show(`${what} ...`),
    measuring: (what, seconds) => {
      current = what
      show(`${what}: warm-up, ${clock(seconds)} in all`)
    },
    round: (round, rounds) => {
      if (out.isTTY) show(`${current}: round ${round} of ${rounds}`)
    },
    done: () => {
      if (out.isTTY) out.write('\r\x1b[2K')
    },
  }
}
