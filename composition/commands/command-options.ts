import type { Command } from 'commander'

/** The options that every command has. */
export const withConfig = (command: Command): Command =>
  command.option('--config <file>', 'YAML file with settings; the environment wins over it (also MOORAGE_CONFIG)')

export const withJson = (command: Command): Command => withConfig(command).option('--json', 'print the result as JSON')

/** The options of commands that speak to a running server, as any client does: they need no settings of it. */
export const withServer = (command: Command): Command =>
  command
    .option('--server <url>', 'where the service is (also MOORAGE_SERVER; http://127.0.0.1:3000 unless told)')
    .option('--token-file <file>', 'file that holds your access token (else MOORAGE_TOKEN)')
    .option('--ca-file <file>', 'certificate to trust, PEM, where the server has a self-signed one')

export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`
