import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The CPU controller of cgroups, and the files that give a group its quota and its weight. */
interface Controller {
  readonly root: string
  /** How a line of /proc/self/cgroup begins that names the group of a process. */
  readonly line: RegExp
  readonly limit: (share: number) => Readonly<Record<string, string>>
}

/** Short, so that a group that has used its quota does not wait long for the next one. */
const periodUs = 10_000
const quotaUs = (share: number): number => Math.round(share * periodUs)

const controllers: readonly Controller[] = [
  {
    root: '/sys/fs/cgroup/cpu',
    line: /^\d+:(?:cpu|cpu,cpuacct|cpuacct,cpu):(.*)$/m,
    limit: (share) => ({
      'cpu.cfs_period_us': String(periodUs),
      'cpu.cfs_quota_us': String(quotaUs(share)),
      'cpu.shares': '65536',
    }),
  },
  {
    root: '/sys/fs/cgroup',
    line: /^0::(.*)$/m,
    limit: (share) => ({ 'cpu.max': `${quotaUs(share)} ${periodUs}`, 'cpu.weight': '10000' }),
  },
]

/** Returns the controller of this machine: that of cgroup v1, or that of v2 if its root gives it to groups. */
const findController = (): Controller | undefined =>
  controllers.find(({ root }) => {
    const given = join(root, 'cgroup.subtree_control')
    return existsSync(given)
      ? readFileSync(given, 'utf8').split(/\s+/).includes('cpu')
      : existsSync(join(root, 'cpu.cfs_quota_us'))
  })

const openGroups = new Set<() => void>()
process.on('exit', () => {
  for (const release of openGroups) release()
})
let count = 0

/**
 * Limits processes, together, to a share of a core. Up to it they have precedence over the other processes of the
 * machine. Several processors of the same speed can thus be had from fewer cores. What the processes start later
 * belongs to them. Throws if this machine does not permit it.
 *
 * @returns a function that returns the processes to the group of this one.
 */
export function confine(pids: readonly number[], share: number): () => void {
  const controller = findController()
  if (controller === undefined || process.getuid?.() !== 0)
    throw new Error('processors of equal speed are made by the cpu controller of cgroups, as root, on Linux')
  const { root, line, limit } = controller
  const home = join(root, line.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/')
  count += 1
  const group = join(root, `moorage-bench-${process.pid}-${count}`)
  mkdirSync(group)
  const release = (): void => {
    openGroups.delete(release)
    moveAll(group, home)
    try {
      rmdirSync(group)
    } catch {
      // A process that is ending holds an empty group for a moment. It limits nothing.
    }
  }
  openGroups.add(release)
  for (const [file, value] of Object.entries(limit(share))) writeFileSync(join(group, file), value)
  for (const pid of pids) writeFileSync(join(group, 'cgroup.procs'), String(pid))
  return release
}

const moveAll = (from: string, to: string): void => {
  for (const pid of readFileSync(join(from, 'cgroup.procs'), 'utf8').split('\n')) {
    try {
      if (pid !== '') writeFileSync(join(to, 'cgroup.procs'), pid)
    } catch {
      // It has ended.
    }
  }
}
