import { Command, CommanderError } from 'commander'
import type { Describe, RunCommand } from '../../part/describe.ts'
import { commandNames } from '../../part/describe.ts'
import { runtimeCommands } from './commands.ts'
import type { CommandContext, ExitCode, PartContext } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { StartRefused } from '../../part/boot.ts'
import { releaseVersion } from '../../../core/platform/version.ts'

/**
 * Runs `moorage ...` and returns its exit code: 0 done, 1 failed, 2 wrong usage. The modules of a command are loaded
 * when it runs, so that `--help` does not load the service.
 */
export const runCommands = async (words: readonly string[], context: RuntimeContext): Promise<ExitCode> => {
  let exitCode: ExitCode = 0
  const run: RunCommand = async (work) => {
    exitCode = await work()
  }
  const program = makeProgram(context)
  const given = partContext(context)
  try {
    for (const describe of [...runtimeCommands, ...(await partCommands(words, context))]) describe(program, run, given)
    inherit(program, program)
    await program.parseAsync([...words], { from: 'user' })
    return exitCode
  } catch (error) {
    return failureCode(error, context)
  }
}

/** The modules that read settings and open the store are loaded by the commands that use them. */
const partContext = (context: RuntimeContext): RuntimeContext & PartContext => ({
  ...context,
  settings: async (options) => (await (await import('./config.ts')).configOf(context, options)).settings,
  onStore: async (options, work) => (await import('./on-store.ts')).onStore(context, options, work),
})

/** Returns the commands of parts. Those of a deployer are looked for only when no other command is meant. */
const partCommands = async (words: readonly string[], context: RuntimeContext): Promise<readonly Describe[]> => {
  const own = context.ownParts.commands
  const [first = '--help'] = words
  const isKnown = commandNames([...runtimeCommands, ...own]).includes(first)
  const { MOORAGE_PLUGINS: plugins = '', MOORAGE_CONFIG: file = '' } = context.environment
  const config = words[words.indexOf('--config') + 1]
  if (isKnown || (plugins === '' && file === '' && !words.includes('--config'))) return own
  try {
    const { configOf } = await import('./config.ts')
    const loaded = await configOf(context, words.includes('--config') && config !== undefined ? { config } : {})
    const outside = loaded.parts.slice(loaded.ownParts)
    return [...own, ...outside.flatMap(({ commands }) => (commands === undefined ? [] : [commands]))]
  } catch (error) {
    if (!(error instanceof StartRefused) || !(first.startsWith('-') || first === 'help')) throw error
    return own
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

/** Errors of writing name no file: which disk is full must be said in general. */
const reasonOf = (error: NodeJS.ErrnoException): string =>
  error.code === 'ENOSPC' || error.code === 'EDQUOT'
    ? `A disk is full (${error.code}${error.path === undefined ? '' : `, ${error.path}`}). Make room where this ` +
      'command writes: the file that you named, the data folder (MOORAGE_DATA_DIR) and MOORAGE_TEMP_DIR.'
    : error.message

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
  context.say(`moorage: ${error instanceof Error ? reasonOf(error) : 'failed for an unknown reason'}`)
  if (context.environment['MOORAGE_LOG_LEVEL'] === 'debug' && error instanceof Error) context.say(error.stack ?? '')
  return 1
}
