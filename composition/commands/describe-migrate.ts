import type { CommonOptions } from '../command-context.ts'
import type { Describe } from './describe.ts'
import { examples, withJson } from './command-options.ts'

export const describeMigrate: Describe = (program, run, context) => {
  const migrate = program.command('migrate').description('Schema migrations of the database.')

  withJson(migrate.command('up'))
    .description('Apply what is missing. Waits while another instance does it.')
    .addHelpText('after', examples('moorage migrate up', 'moorage migrate up --json'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateUp(context, options)))

  withJson(migrate.command('status'))
    .description('Say which migrations are applied and which are missing. Exits 0 in both cases.')
    .addHelpText('after', examples('moorage migrate status --json'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateStatus(context, options)))

  withJson(migrate.command('plan'))
    .description('Say what `up` would do, without doing it.')
    .addHelpText('after', examples('moorage migrate plan'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migratePlan(context, options)))

  withJson(migrate.command('unlock'))
    .description('Take away the lock of a migration whose process died. Only when no other process migrates.')
    .addHelpText('after', examples('moorage migrate unlock'))
    .action((options: CommonOptions) => run(async () => (await import('./migrate.ts')).migrateUnlock(context, options)))
}
