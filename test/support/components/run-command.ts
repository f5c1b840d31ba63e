import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface CommandResult {
  readonly status: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd?: string
  readonly environment?: NodeJS.ProcessEnv
  readonly input?: string
  readonly timeoutMilliseconds?: number
}

/** Runs a command to its end. A command that is not there, or that took too long, has no status. */
export function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.timeoutMilliseconds === undefined ? {} : { timeout: options.timeoutMilliseconds }),
      env: options.environment ?? process.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', (cause) => resolve({ status: undefined, stdout, stderr: stderr + cause.message }))
    child.once('close', (status) => resolve({ status: status ?? undefined, stdout, stderr }))
    child.stdin.on('error', () => undefined)
    child.stdin.end(options.input ?? '')
  })
}

/** Runs a command that must succeed; its output is in the error when it does not. */
export async function mustRun(file: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await runCommand(file, args, options)
  if (result.status === 0) return result.stdout
  throw new Error(
    `${file} ${args.slice(0, 3).join(' ')} failed (${result.status ?? 'no status'}):\n${result.stderr}${result.stdout}`,
  )
}

/** The first executable with this name on PATH or in the further folders. */
export function findExecutable(name: string, furtherFolders: readonly string[] = []): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...furtherFolders].filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** True when this path is a file that may be run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
