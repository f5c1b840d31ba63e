import { onPath } from './helm-finder.ts'

/** Bounds that the machine keeps, where it has the programs for them (Linux). */
export interface Guards {
  /** The command that runs `command` within the bounds, as the same process. */
  wrap(command: string, words: readonly string[], memoryLimitMiB: number): { readonly command: string; readonly words: readonly string[] }
}

/** @param searchPath folders, as in PATH */
export const makeGuards = (searchPath: string, platform: NodeJS.Platform = process.platform): Guards => {
  const find = (name: string): string | undefined => (platform === 'linux' ? onPath(name, searchPath) : undefined)
  const prlimit = find('prlimit')
  const setpriv = find('setpriv')
  return {
    wrap(command, words, memoryLimitMiB) {
      const whole = [
        // Whoever is left when the service is killed has lost its way to the cluster, and might compute for ever.
        ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig=KILL', '--']),
        ...(prlimit === undefined ? [] : [prlimit, `--as=${memoryLimitMiB * 1024 * 1024}`, '--core=0', '--']),
        command,
        ...words,
      ]
      const [first = command, ...others] = whole
      return { command: first, words: others }
    },
  }
}
