import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import {
  migrateUp as runMigrations,
  migrationPlan,
  migrationStatus,
  unfinishedMigration,
  unlockMigrations,
} from '../../adapters/sql/engine/migrator.ts'
import type { MigrationStatus } from '../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { CommandContext, CommonOptions, ExitCode } from './command-context.ts'
import { printJson } from './command-context.ts'
import { configOf } from './loaded-config.ts'
import { openStore } from '../service/foundation.ts'
import { StartRefused } from '../boot.ts'

const onStore = async (
  context: CommandContext,
  options: CommonOptions,
  work: (database: SqlDatabase) => Promise<void>,
): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const database = await openStore(settings)
  try {
    await work(database)
    return 0
  } catch (error) {
    if (error instanceof MigrationRefused) throw new StartRefused([error.message])
    throw error
  } finally {
    await database.close()
  }
}

export const migrateUp = (context: CommandContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database) => {
    const applied = await runMigrations(database, { say: (line) => context.say(line) })
    if (options.json === true) printJson(context, { applied })
    else if (applied.length === 0) context.print('The schema is up to date.')
    else for (const id of applied) context.print(`applied ${id}`)
  })

export const migrateStatus = (context: CommandContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database) => {
    const migrations = await migrationStatus(database)
    const isCurrent = migrations.every(({ state }) => state === 'done')
    if (options.json === true) return printJson(context, { isCurrent, migrations })
    for (const { id, summary, state, finishedAt } of migrations) {
      context.print(
        `${state.padEnd(8)} ${id}  ${summary}${finishedAt === undefined ? '' : ` (${finishedAt.toISOString()})`}`,
      )
    }
    context.print(isCurrent ? 'The schema is up to date.' : (unfinishedMigration(migrations) ?? adviceFor(migrations)))
  })

/** Of a schema that is not the one of this version. */
const adviceFor = (migrations: readonly MigrationStatus[]): string =>
  migrations.some(({ state }) => state === 'unknown')
    ? 'A newer version of Moorage has migrated this database. Upgrade this one.'
    : 'Run: moorage migrate up'

export const migratePlan = (context: CommandContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database) => {
    const plan = await migrationPlan(database)
    if (options.json === true) return printJson(context, { plan })
    if (plan.length === 0) context.print('Nothing to do: the schema is up to date.')
    for (const { id, summary, statements } of plan) {
      context.print(`-- ${id}: ${summary}`)
      for (const statement of statements) context.print(`${statement};`)
    }
  })

export const migrateUnlock = (context: CommandContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database) => {
    const result = await unlockMigrations(database)
    if (options.json === true) printJson(context, { result })
    else context.print(result)
  })
