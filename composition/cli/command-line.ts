import { Command, CommanderError } from 'commander'
import type { RunCommand } from './commands.ts'
import { describeMarketplace } from './marketplace/marketplace-commands.ts'
import {
  describeAdmin,
  describeAudit,
  describeBus,
  describeConfig,
  describeContracts,
  describeHelm,
  describeKubeconfig,
  describeLicenses,
  describeMigrate,
  describeService,
  describeTasks,
  describeUsage,
} from './commands.ts'
import type { CommandContext, ExitCode } from './command-context.ts'
import { StartRefused } from '../boot.ts'
import { releaseVersion } from '../../core/platform/version.ts'

/**
 * Runs `moorage ...` and returns its exit code: 0 done, 1 failed, 2 wrong usage. The modules of a command are loaded
 * when it runs, so that `--help` does not load the service.
 */
export const runCommandLine = async (words: readonly string[], context: CommandContext): Promise<ExitCode> => {
  let exitCode: ExitCode = 0
  const run: RunCommand = async (work) => {
    exitCode = await work()
  }
  const program = makeProgram(context)
  for (const describe of [
    describeService,
    describeMigrate,
    describeConfig,
    describeAdmin,
    describeAudit,
    describeBus,
    describeTasks,
    describeKubeconfig,
    describeHelm,
    describeLicenses,
    describeContracts,
    describeUsage,
    describeMarketplace,
  ])
    describe(program, run, context)
  inherit(program, program)
  try {
    await program.parseAsync([...words], { from: 'user' })
    return exitCode
  } catch (error) {
    return failureCode(error, context)
  }
}

const makeProgram = (context: CommandContext): Command =>
  new Command('moorage')
    .description(
      'A multi-tenant platform API server. `moorage serve` starts it on embedded defaults: nothing else is needed.',
    )
    .version(releaseVersion, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.replace(/\n$/, '')),
      writeErr: (text) => context.say(text.replace(/\n$/, '')),
    })
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `
Examples:
  moorage serve                                   start on the defaults, data in ./data
  MOORAGE_LISTEN=0.0.0.0:8080 moorage serve       the same, reachable from outside
  moorage config schema                           every setting, as a JSON Schema
  moorage doctor                                  say in plain words what is wrong here

Exit codes: 0 done, 1 failed, 2 wrong use. Results are printed on stdout, everything else on stderr.`,
    )

/** Commander copies these settings only to subcommands that it creates itself, in the order of its calls. */
const inherit = (parent: Command, program: Command): void => {
  for (const command of parent.commands) {
    command.copyInheritedSettings(program)
    inherit(command, program)
  }
}

const failureCode = (error: unknown, context: CommandContext): ExitCode => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof StartRefused) {
    const [only, ...others] = error.problems
    if (others.length === 0) context.say(`moorage: ${only ?? 'the start was refused'}`)
    else
      context.say(
        `moorage: ${error.problems.length} problems:\n${error.problems.map((problem) => `  - ${problem}`).join('\n')}`,
      )
    return 1
  }
  context.say(`moorage: ${error instanceof Error ? error.message : 'failed for an unknown reason'}`)
  if (context.environment['MOORAGE_LOG_LEVEL'] === 'debug' && error instanceof Error) context.say(error.stack ?? '')
  return 1
}
