/** The charts that the life of releases uses. */
export const lifeCycleCharts = [
  'harbour',
  'minimal',
  'keep',
  'umbrella',
  'unicode',
  'lookup',
  'schema',
  'broken',
  'definitions',
] as const

/** Waits until an object is there. */
export const untilObject = async (
  bench: { object(path: string): Promise<unknown> },
  path: string,
): Promise<unknown> => {
  for (let left = 600; left > 0; left -= 1) {
    const found = await bench.object(path)
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${path} did not appear`)
}
