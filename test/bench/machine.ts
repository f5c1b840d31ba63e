import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

/** One line on where the figures come from. */
export function machineLine(): string {
  const cores = availableParallelism()
  const load = loadavg().map((each) => each.toFixed(2))
  const busy =
    (loadavg()[0] ?? 0) > 0.5 * cores ? ' (others use this machine: ratios hold, absolute figures do not)' : ''
  const model = cpus()[0]?.model.trim() ?? 'unknown processor'
  return `${cores} cores, ${model}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}, load average before ${load.join(' ')}${busy}`
}
