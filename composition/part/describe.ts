import { Command } from 'commander'
import type { ExitCode, PartContext } from './command-context.ts'

/** Adds commands to the command line. The action of a command sets the exit code. */
export type Describe<Context = PartContext> = (program: Command, run: RunCommand, context: Context) => void
/** Wraps the work of a command as a commander action. */
export type RunCommand = (work: () => Promise<ExitCode>) => Promise<void>

/** Adds the options of every command. */
export const withConfig = (command: Command): Command =>
  command.option('--config <file>', 'YAML file with settings; the environment wins over it (also MOORAGE_CONFIG)')

export const withJson = (command: Command): Command => withConfig(command).option('--json', 'print the result as JSON')

/** Adds the options of commands that call a running server as an ordinary client. They need none of its settings. */
export const withServer = (command: Command): Command =>
  command
    .option('--server <url>', 'where the service is (also MOORAGE_SERVER; http://127.0.0.1:3000 unless told)')
    .option('--token-file <file>', 'file that holds your access token (else MOORAGE_TOKEN)')
    .option('--ca-file <file>', 'certificate to trust, PEM, where the server has a self-signed one')

export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`

export const withServerAndJson = (command: Command): Command =>
  withServer(command).option('--json', 'print what the server says as JSON')

/** Returns the names of the commands that are added. */
export const commandNames = (describes: readonly Describe<never>[]): readonly string[] => {
  const program = new Command()
  for (const describe of describes) describe(program, async () => undefined, contextless)
  return program.commands.map((command) => command.name())
}

/** Nothing is used of the context before a command runs. */
const contextless = {} as never
