import test from 'ava'
import { openLoading } from '../../adapters/sql/kernel/backup/loading.ts'
import { openSnapshot } from '../../adapters/sql/kernel/backup/snapshot.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

/** A database of MySQL that returns the name of the selected database, and refuses everything else. */
const databaseNamed = (name: string | null): SqlDatabase =>
  ({
    dialect: 'mysql',
    query: async () => [{ name }],
    openSchemaSession: async () => {
      throw new Error('a session was opened')
    },
  }) as unknown as SqlDatabase

for (const name of ['@primary', '@PRIMARY', 'moorage@replica', 'moorage_accounts:-80@primary'])
  test(`a backup, a restore and a reset of ${name} are refused`, async (t) => {
    const message = 'This command does not work on Vitess. Use the backups of Vitess.'
    await t.throwsAsync(openSnapshot(databaseNamed(name), { copy: '' }), { message })
    await t.throwsAsync(openLoading(databaseNamed(name)), { message })
  })

for (const name of ['moorage', 'moorage@primary.example', 'primary', null])
  test(`a backup and a restore of a database named ${name} are not refused`, async (t) => {
    const message = 'a session was opened'
    await t.throwsAsync(openSnapshot(databaseNamed(name), { copy: '' }), { message })
    await t.throwsAsync(openLoading(databaseNamed(name)), { message })
  })
