/** The rows of a large report: objects of a vendor, as the service writes them. The same in every run. */
export const reportRows = 20_000
export const reportColumns = ['Name', 'Kind', 'Namespace', 'Cluster', 'CPU', 'Memory', 'Production\nCPU'] as const

export const reportRow = (n: number): readonly string[] => [
  `object-name-${n}`,
  n % 3 === 0 ? 'Postgres' : 'MongoDB',
  `namespace-${n % 37}`,
  `cluster-${n % 100}`,
  ((n * 1234) / 1000).toFixed(3),
  ((n * 2101) / 1000).toFixed(3),
  ((n * 17) / 1000).toFixed(3),
]

/** What a process of the bench prints as its last line. */
export interface ReportFigures {
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  readonly bytes: number
}

export const printFigures = (bytes: number): void => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  const figures: ReportFigures = {
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMegabytes: maxRSS / 1024,
    bytes,
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`)
}
