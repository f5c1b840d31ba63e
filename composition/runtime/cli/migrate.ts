import { MigrationRefused } from '../../../adapters/sql/engine/migration-ledger.ts'
import {
  isCurrent,
  migrateUp as runMigrations,
  migrationPlan,
  migrationStatus,
  unfinishedMigration,
  unlockMigrations,
} from '../../../adapters/sql/engine/migrator.ts'
import type { MigrationStatus, StatementEffect } from '../../../adapters/sql/engine/migrator.ts'
import type { OrderedMigration } from '../../../adapters/sql/kit/migration.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { CommonOptions, ExitCode } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { printJson } from '../../part/command-context.ts'
import { configOf } from './config.ts'
import { openStore } from '../service/foundation.ts'
import { StartRefused } from '../../part/boot.ts'
import { besideOthers, migrationsFor, postponed } from '../migrations.ts'

const onStore = async (
  context: RuntimeContext,
  options: CommonOptions,
  work: (database: SqlDatabase, migrations: readonly OrderedMigration[]) => Promise<void>,
): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const database = await openStore(config.settings)
  try {
    await work(database, await migrationsFor(config, database))
    return 0
  } catch (error) {
    if (error instanceof MigrationRefused) throw new StartRefused([error.message])
    throw error
  } finally {
    await database.close()
  }
}

interface UpOptions extends CommonOptions {
  readonly force?: boolean
}

export const migrateUp = (context: RuntimeContext, options: UpOptions): Promise<ExitCode> =>
  onStore(context, options, async (database, migrations) => {
    const waiting: string[] = []
    const { beside, aliveWithout } = besideOthers(database)
    const applied = await runMigrations(database, {
      migrations,
      beside,
      ...(options.force === true ? {} : { aliveWithout }),
      say: (line) => context.say(line),
      onPostponed: ({ id }, instances) => {
        waiting.push(id)
        context.say(`moorage: ${postponed(id, instances)}`)
      },
    })
    const ran = migrations.filter(({ id }) => applied.includes(id))
    if (options.json === true)
      return printJson(context, { applied, waiting, migrations: ran.map(({ id, part }) => ({ id, part })) })
    if (ran.length === 0 && waiting.length === 0) context.print('The schema is up to date.')
    for (const { id, part } of ran) context.print(`applied ${id} of the part ${part}`)
  })

export const migrateStatus = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database, known) => {
    const migrations = await migrationStatus(database, known)
    const isUpToDate = isCurrent(migrations)
    if (options.json === true) return printJson(context, { isCurrent: isUpToDate, migrations })
    const width = Math.max(...migrations.map(({ part }) => part?.length ?? 0))
    for (const { id, part, summary, state, finishedAt } of migrations) {
      context.print(
        `${state.padEnd(8)} ${(part ?? '').padEnd(width)} ${id}  ` +
          `${summary}${finishedAt === undefined ? '' : ` (${finishedAt.toISOString()})`}`,
      )
    }
    context.print(isUpToDate ? 'The schema is up to date.' : (unfinishedMigration(migrations) ?? adviceFor(migrations)))
  })

/** Of a schema that is not the one of this version. */
const adviceFor = (migrations: readonly MigrationStatus[]): string =>
  migrations.some(({ state }) => state === 'unknown')
    ? 'A newer version of Moorage, or of one of its parts, has migrated this database. Upgrade this one.'
    : 'Run: moorage migrate up'

export const migratePlan = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database, migrations) => {
    const plan = await migrationPlan(database, migrations)
    if (options.json === true) return printJson(context, { plan })
    if (plan.length === 0) context.print('Nothing to do: the schema is up to date.')
    for (const { id, part, summary, phase, statements, effects, fills } of plan) {
      context.print(`-- ${id} of the part ${part}${phase === undefined ? '' : `, ${phase}`}: ${summary}`)
      if (phase === 'contract') context.print('-- waits until no instance of an older release is alive')
      for (const [index, statement] of statements.entries()) {
        const effect = effects[index]
        if (effect !== undefined) context.print(`--   ${effectInWords(effect)}`)
        context.print(`${statement};`)
      }
      if (fills !== undefined)
        context.print(`--   the last statements run again for each ${fills.rowsAtATime} rows of ${fills.table}`)
    }
  })

const effectInWords = ({ lock, table, rows }: StatementEffect): string =>
  table === undefined ? 'a new table' : `${table}, about ${rows ?? 0} rows: ${lockInWords[lock]}`

const lockInWords: Readonly<Record<StatementEffect['lock'], string>> = {
  none: 'nothing waits',
  brief: 'statements on the table wait for a moment',
  online: 'reads the whole table; nothing waits',
  rows: 'changes of the same rows wait',
  writes: 'changes of the table wait until it ends',
}

export const migrateUnlock = (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> =>
  onStore(context, options, async (database) => {
    const result = await unlockMigrations(database)
    if (options.json === true) printJson(context, { result })
    else context.print(result)
  })
