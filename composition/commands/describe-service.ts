import type { CommonOptions } from '../command-context.ts'
import type { Describe } from './describe.ts'
import { examples, withConfig, withJson } from './command-options.ts'

export const describeService: Describe = (program, run, context) => {
  withConfig(program.command('serve'))
    .description('Bring the schema up to date, then listen until SIGTERM or SIGINT.')
    .option('--no-migrate', 'leave the schema alone (also MOORAGE_MIGRATE=false); refuses to start when it is behind')
    .addHelpText(
      'after',
      examples(
        'moorage serve',
        'moorage serve --config /etc/moorage.yaml',
        'MOORAGE_DATABASE_URL=mysql://moorage:secret@db:3306/moorage moorage serve',
      ) +
        '\n\nThe first start makes the data folder, the key ring and a site admin, whose generated password is printed once.',
    )
    .action((options: CommonOptions & { readonly migrate: boolean }) =>
      run(async () => (await import('./serve.ts')).serve(context, options)),
    )

  withJson(program.command('openapi'))
    .description('Print the OpenAPI document of this deployment; it is JSON, with or without --json.')
    .addHelpText('after', examples('moorage openapi > openapi.json', 'MOORAGE_DEPLOYMENT_TYPE=VendorHosted moorage openapi'))
    .action((options: CommonOptions) => run(async () => (await import('./openapi.ts')).printOpenApi(context, options)))

  withJson(program.command('doctor'))
    .description('Check Node, data folder, key ring, certificate, database, clock, message bus, mail and helm, and say what is wrong in plain words.')
    .addHelpText('after', examples('moorage doctor', 'moorage doctor --json') + '\n\nExits 1 when something must be repaired.')
    .action((options: CommonOptions) => run(async () => (await import('./doctor.ts')).doctor(context, options)))
}
