import type { AccountId } from '../../../core/kernel/ids.ts'
import type { DriverConfiguration, DriverConfigurationStore } from '../../../core/packages/ports.ts'
import type { StorageDriver } from '../../../core/packages/types.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { Num, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface DriverRow {
  readonly id: Num
  readonly account_id: Num
  readonly cluster_uid: string
  readonly driver: string
  readonly created_at: Num
  readonly updated_at: Num
}

const configurationOf = (row: DriverRow): DriverConfiguration => ({
  id: Number(row.id),
  userId: Number(row.account_id) as AccountId,
  clusterUid: row.cluster_uid,
  driver: row.driver as StorageDriver,
  createdAt: new Date(Number(row.created_at)),
  updatedAt: new Date(Number(row.updated_at)),
})

const drivers = {
  table: 'package_drivers',
  owner: { column: 'account_id', table: 'accounts' },
  name: 'cluster_uid',
  shown: ['id', 'account_id', 'cluster_uid', 'driver', 'created_at', 'updated_at'],
  content: ['driver'],
} as const

/** DriverConfigurationStore over the table `package_drivers`. */
export const makeSqlDriverConfigurationStore = (db: SqlDatabase): ((runner: SqlRunner) => DriverConfigurationStore) => {
  const rowsOf = ownedRows<DriverRow, 'driver'>(db, drivers)
  return (runner) => {
    const rows = rowsOf(runner)
    const find: DriverConfigurationStore['find'] = async (accountId, clusterUid) => {
      const row = await rows.find(accountId, clusterUid)
      return row === undefined ? undefined : configurationOf(row)
    }
    return {
      find,
      async put(accountId, clusterUid, driver, at) {
        await rows.put(accountId, clusterUid, { driver }, at)
        const stored = await find(accountId, clusterUid)
        if (stored === undefined) throw new Error('A driver configuration vanished in the transaction that wrote it.')
        return stored
      },
    }
  }
}
