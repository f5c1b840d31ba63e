import type { CommonOptions } from '../command-context.ts'
import type { Describe } from './describe.ts'
import { examples, withJson } from './command-options.ts'

export const describeConfig: Describe = (program, run, context) => {
  const config = program.command('config').description('Validate, print or describe the settings.')

  withJson(config.command('check'))
    .description('Validate the settings and say which plugins and routes this deployment will have. Touches no database.')
    .addHelpText('after', examples('moorage config check', 'moorage config check --config moorage.yaml --json'))
    .action((options: CommonOptions) => run(async () => (await import('./config-check.ts')).checkConfig(context, options)))

  withJson(config.command('print'))
    .description('Print every setting with its value and where it came from; secrets are masked.')
    .addHelpText('after', examples('moorage config print', 'moorage config print --json | jq .settings.listen'))
    .action((options: CommonOptions) => run(async () => (await import('./config-print.ts')).printConfig(context, options)))

  withJson(config.command('schema'))
    .description('Print the JSON Schema of the settings file: every setting with its default and meaning.')
    .addHelpText('after', examples('moorage config schema > moorage.schema.json'))
    .action(() => run(async () => (await import('./config-print.ts')).printConfigSchema(context)))
}
