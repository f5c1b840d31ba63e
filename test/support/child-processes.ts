import { readdirSync, readFileSync } from 'node:fs'
import { makeHelperProcesses } from '../../adapters/system/helper-processes.ts'

/** Returns the ids of the processes that a process has started and that still run. Needs Linux. */
export const childrenOf = (parent: number): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      const [state, ppid] = fieldsOf(name)
      return Number(ppid) === parent && state !== 'Z'
    })
    .map(Number)

/** Whether a process runs. Needs Linux. */
export const isRunning = (pid: number): boolean => ![undefined, 'Z', 'X'].includes(fieldsOf(String(pid))[0])

/** What follows the name of the command, which may have any character; nothing of a process that has ended. */
const fieldsOf = (pid: string): readonly string[] => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  } catch {
    return []
  }
}

const quietLog = { debug: () => undefined, warn: () => undefined }

/** Watches helper processes and says nothing of them. */
export const unwatchedHelpers = makeHelperProcesses(quietLog, ['closing', 'helm'])
