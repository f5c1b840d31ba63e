const units: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, μs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y

/** Returns the seconds of a Go duration: `1h30m`, `5m0s`, `1.5s`, `0`. Undefined if it is malformed or negative. */
export const parseGoDuration = (text: string): number | undefined => {
  if (text === '0') return 0
  let seconds = 0
  part.lastIndex = 0
  while (part.lastIndex < text.length) {
    const found = part.exec(text)
    if (found === null) return undefined
    seconds += Number(found[1]) * (units[found[2] ?? ''] ?? 0)
  }
  return text === '' ? undefined : seconds
}

/** Returns the seconds of a numeric duration: large numbers are nanoseconds, as in Go; others are seconds. */
export const secondsOfCount = (count: number): number => (count < 1e6 ? count : count / 1e9)
