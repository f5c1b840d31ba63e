import { readFileSync } from 'node:fs'

/** Linux counts the CPU time of processes in hundredths of a second (USER_HZ), on every architecture. */
const ticksPerSecond = 100

/** User and system seconds of a process so far, all its threads included. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may contain spaces and brackets; the fields after its last bracket do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Megabytes of memory that a process holds now, or held at most. */
export function residentMegabytes(pid: number, which: 'now' | 'at most' = 'now'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = new RegExp(`^${which === 'now' ? 'VmRSS' : 'VmHWM'}:\\s+(\\d+) kB`, 'm').exec(status)
  return Number(kilobytes?.[1] ?? Number.NaN) / 1024
}
