/**
 * What waits while a statement of a migration runs.
 * - `none`: nothing.
 * - `brief`: statements on the table, for a moment: only its description changes.
 * - `online`: nothing, but the statement reads the whole table and takes its time.
 * - `rows`: changes of the rows that it changes.
 * - `writes`: changes of the table until it ends; on SQLite, of the whole database.
 */
export type StatementLock = 'none' | 'brief' | 'online' | 'rows' | 'writes'

/**
 * Returns what waits while a statement that knex composed for a migration runs. MySQL 8 and MariaDB 10.6 and newer
 * change descriptions in place; what is not known to is taken to copy the table.
 */
export const lockOf = (sql: string, dialect: 'sqlite' | 'mysql'): StatementLock => {
  const statement = sql.trim().toLowerCase()
  if (/^select\b/.test(statement)) return 'none'
  if (dialect === 'sqlite') return /^(create table|alter table|drop)\b/.test(statement) ? 'brief' : 'writes'
  if (/^create table\b/.test(statement)) return 'none'
  if (/^(insert|update|delete)\b/.test(statement)) return 'rows'
  if (/^(drop table|rename table)\b/.test(statement)) return 'brief'
  if (/^create (unique )?index\b/.test(statement)) return 'online'
  return /^alter table\b/.test(statement) ? lockOfChange(statement) : 'writes'
}

const lockOfChange = (statement: string): StatementLock => {
  const changes = statement.replace(/^alter table \S+ /, '')
  if (/\b(modify|change|foreign key)\b/.test(changes)) return /^drop foreign key\b/.test(changes) ? 'brief' : 'writes'
  if (/^add (unique|index|key)\b/.test(changes)) return 'online'
  if (/^drop (index|key)\b/.test(changes) || /^rename\b/.test(changes)) return 'brief'
  if (/^add (column )?`/.test(changes)) return 'brief'
  // MariaDB only changes the description; MySQL before 8.0.29 copies the rows while changes go on.
  return /^drop (column )?`/.test(changes) ? 'online' : 'writes'
}
