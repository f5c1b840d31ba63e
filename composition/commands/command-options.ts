import type { Command } from 'commander'

/** The options that every command has. */
export const withConfig = (command: Command): Command =>
  command.option('--config <file>', 'YAML file with settings; the environment wins over it (also MOORAGE_CONFIG)')

export const withJson = (command: Command): Command => withConfig(command).option('--json', 'print the result as JSON')

export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`
