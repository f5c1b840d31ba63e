import type { SchemaParameters } from './migrations/columns.ts'
import type { SchemaSession } from './statement.ts'

// The best first: compared by bytes, trailing spaces included. MariaDB has the first, MySQL 8 the second.
const collations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin']

/** What a server of this kind offers to the tables that migrations make. */
export const schemaParameters = async (session: SchemaSession, dialect: 'sqlite' | 'mysql'): Promise<SchemaParameters> => {
  if (dialect === 'sqlite') return {}
  const rows = await session.execute('select collation_name as name from information_schema.collations', [])
  const offered = new Set(rows.map((row) => String(row['name'])))
  const collation = collations.find((name) => offered.has(name))
  return collation === undefined ? {} : { collation }
}
