import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mustRun, runCommand, type CommandResult } from './components/run-command.ts'

/** The helm command as a person runs it: one kubeconfig, a home of its own. */
export interface HelmCli {
  /** Any status is an answer. */
  run(...args: readonly string[]): Promise<CommandResult>
  /** Must succeed; answers what was printed. */
  must(...args: readonly string[]): Promise<string>
  /** Must succeed with `-o json`; answers it parsed. */
  json(...args: readonly string[]): Promise<unknown>
  /** Keeps a file for `install` and `-f`; answers its path. */
  file(name: string, content: string | Buffer): string
  remove(): void
}

export const makeHelmCli = (
  command: string,
  kubeconfig: string,
  environment: Readonly<Record<string, string>> = {},
): HelmCli => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-cli-'))
  const file = (name: string, content: string | Buffer): string => {
    const path = join(folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const options = {
    cwd: folder,
    timeoutMilliseconds: 120_000,
    // A process of fifty milliseconds needs no garbage collector.
    environment: {
      GOGC: 'off',
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      KUBECONFIG: file('kubeconfig', kubeconfig),
      ...environment,
    },
  }
  return {
    run: (...args) => runCommand(command, args, options),
    must: (...args) => mustRun(command, args, options),
    json: async (...args) => JSON.parse(await mustRun(command, [...args, '-o', 'json'], options)),
    file,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
