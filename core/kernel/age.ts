const units: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
]

/** Returns the elapsed time in the largest whole unit: `3d`, `43m`, `8s`. */
export const shortAge = (from: Date, now: Date): string => {
  const seconds = Math.max(0, Math.floor((now.getTime() - from.getTime()) / 1000))
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['s', 1]
  return `${Math.floor(seconds / size)}${unit}`
}
