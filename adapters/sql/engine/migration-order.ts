import { definedFields } from '../../../core/kernel/json.ts'
import type { OrderedMigration, PartMigrations } from '../kit/migration.ts'
import { MigrationRefused } from './migration-ledger.ts'
import { makeMigrationKnex } from './migration-run.ts'
import { afterNeeds, allNeeds, declarationFaults } from './part-declarations.ts'
import { tablesOf } from './statement-tables.ts'
import type { StatementTables } from './statement-tables.ts'

type Dialect = 'sqlite' | 'mysql'

/**
 * Returns the migrations of our own parts in the order of their numbers, which is the same in every database, whatever
 * parts it has. Throws `MigrationRefused` with every fault of the declarations.
 *
 * @internal
 */
export const ownMigrations = (own: readonly PartMigrations[]): readonly OrderedMigration[] => {
  refuse(declarationFaults(own, []))
  return byNumber(own)
}

/**
 * Returns the one order of all migrations: those of our own parts by their numbers, then those of each part from
 * outside, after the parts that it needs. Throws `MigrationRefused` with every fault. Asks no database.
 */
export const orderedMigrations = async (
  own: readonly PartMigrations[],
  outside: readonly PartMigrations[],
  dialect: Dialect,
): Promise<readonly OrderedMigration[]> => {
  if (outside.length === 0) return ownMigrations(own)
  const { faults, guarded } = await examined(own, outside, dialect)
  refuse(faults)
  return [...byNumber(own), ...guarded]
}

/**
 * Returns every fault of the migrations of parts from outside: of the declarations, and of the tables in the statements
 * that they run in a database of this kind. Asks no database.
 */
export const migrationFaults = async (
  own: readonly PartMigrations[],
  outside: readonly PartMigrations[],
  dialect: Dialect,
): Promise<readonly string[]> => (outside.length === 0 ? [] : (await examined(own, outside, dialect)).faults)

const examined = async (own: readonly PartMigrations[], outside: readonly PartMigrations[], dialect: Dialect) => {
  const faults = [...declarationFaults(own, outside)]
  const rules = await tableRules(own, outside, dialect)
  const guarded = afterNeeds(outside).flatMap(({ part, migrations }) =>
    migrations.map((migration): OrderedMigration => ({
      ...placed(migration, part),
      faultOf: (sql) => statementFaults(part, sql, rules)[0],
    })),
  )
  for (const migration of guarded) faults.push(...(await faultsOf(migration, dialect, rules)))
  return { faults, guarded }
}

const refuse = (faults: readonly string[]): void => {
  if (faults.length === 0) return
  const [only] = faults
  throw new MigrationRefused(
    faults.length === 1
      ? `The migrations of the parts are refused. ${only}`
      : `The migrations of the parts are refused, for ${faults.length} reasons:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
  )
}

const placed = (migration: PartMigrations['migrations'][number], part: string): OrderedMigration => ({
  ...definedFields({ phase: migration.phase, fill: migration.fill }),
  id: migration.id,
  summary: migration.summary,
  up: (knex, dialect) => migration.up(knex, dialect),
  part,
})

const byNumber = (own: readonly PartMigrations[]): readonly OrderedMigration[] =>
  own
    .flatMap(({ part, migrations }) => migrations.map((migration) => placed(migration, part)))
    .toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))

/** What decides to which part a table belongs, and which parts may refer to it. */
interface TableRules {
  /** The tables that our own migrations make. */
  readonly own: ReadonlyMap<string, string>
  /** The parts from outside, those with the longest prefix first. */
  readonly prefixes: readonly { readonly part: string; readonly prefix: string }[]
  readonly needs: ReadonlyMap<string, ReadonlySet<string>>
}

const prefixOf = (part: string): string => `${part.replaceAll('-', '_')}_`

const tableRules = async (
  own: readonly PartMigrations[],
  outside: readonly PartMigrations[],
  dialect: Dialect,
): Promise<TableRules> => {
  const tables = new Map<string, string>()
  for (const migration of byNumber(own)) {
    for (const sql of await statementsOf(migration, dialect))
      for (const table of tablesOf(sql)?.changed ?? []) if (!tables.has(table)) tables.set(table, migration.part)
  }
  return {
    own: tables,
    prefixes: outside
      .map(({ part }) => ({ part, prefix: prefixOf(part) }))
      .toSorted((a, b) => b.prefix.length - a.prefix.length),
    needs: new Map(outside.map((part) => [part.part, allNeeds(part, [...own, ...outside])])),
  }
}

/** Returns the statements of a migration for a database whose queries return no rows. */
const statementsOf = async (migration: OrderedMigration, dialect: Dialect): Promise<readonly string[]> => {
  const statements: string[] = []
  const knex = makeMigrationKnex(dialect, {}, async (sql) => {
    statements.push(sql)
    return []
  })
  await migration.up(knex, dialect)
  await migration.fill?.rows(knex, dialect, 0, 1)
  return statements
}

const faultsOf = async (
  migration: OrderedMigration,
  dialect: Dialect,
  rules: TableRules,
): Promise<readonly string[]> => {
  try {
    const statements = await statementsOf(migration, dialect)
    const faults = statements.flatMap((sql) => statementFaults(migration.part, sql, rules))
    return [...new Set(faults)].map((fault) => `The migration ${migration.id} ${fault}`)
  } catch (error) {
    return [`The migration ${migration.id} fails where no table has a row, so its SQL cannot be read: ${String(error)}`]
  }
}

/** The part that a table belongs to, or undefined when it can belong to none. */
const ownerOf = (table: string, { own, prefixes }: TableRules): string | undefined =>
  own.get(table) ?? prefixes.find(({ prefix }) => table.startsWith(prefix))?.part

const isOfLedger = (table: string): boolean => table.startsWith('schema_')

const statementFaults = (part: string, sql: string, rules: TableRules): readonly string[] => {
  const tables = tablesOf(sql)
  if (tables === undefined) {
    return [
      `runs a statement whose tables cannot be checked: ${sql.slice(0, 100)}. It may create, alter, rename and drop ` +
        'tables and indexes, and insert, update, delete and select rows, one statement at a time.',
    ]
  }
  return [
    ...tables.changed.flatMap((table) => changeFaults(part, table, rules)),
    ...tables.references.flatMap((reference) => referenceFaults(part, reference, rules)),
    ...(tables.droppedIndex === undefined || tables.droppedIndex.startsWith(prefixOf(part))
      ? []
      : [`drops the index ${tables.droppedIndex}: the indexes of the part ${part} begin with ${prefixOf(part)}.`]),
  ]
}

const changeFaults = (part: string, table: string, rules: TableRules): readonly string[] => {
  const owner = ownerOf(table, rules)
  if (isOfLedger(table)) return [`changes the table ${table}, which records the migrations.`]
  if (owner === part) return []
  return owner === undefined
    ? [`changes the table ${table}: the tables of the part ${part} begin with ${prefixOf(part)}.`]
    : [`changes the table ${table}, which belongs to the part ${owner}.`]
}

const referenceFaults = (
  part: string,
  { table, onDelete }: StatementTables['references'][number],
  rules: TableRules,
): readonly string[] => {
  const owner = ownerOf(table, rules)
  if (owner === part) return []
  if (owner === undefined || isOfLedger(table)) return [`refers to the table ${table}, which no part has.`]
  return [
    ...(rules.needs.get(part)?.has(owner) === true
      ? []
      : [`refers to the table ${table} of the part ${owner}, which the part ${part} does not name in its needs.`]),
    ...(['cascade', 'set null'].includes(onDelete)
      ? []
      : [
          `refers to the table ${table} without \`on delete cascade\` or \`on delete set null\`: the part ${owner} ` +
            'could no longer delete its rows.',
        ]),
  ]
}
