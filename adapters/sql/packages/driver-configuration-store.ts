import type { Knex } from 'knex'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { DriverConfiguration, DriverConfigurationStore } from '../../../core/packages/ports.ts'
import type { StorageDriver } from '../../../core/packages/types.ts'
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

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'accountId' | 'clusterUid') => Knex.Value) =>
    k('package_drivers')
      .where('account_id', p('accountId'))
      .where('cluster_uid', p('clusterUid'))
      .select('id', 'account_id', 'cluster_uid', 'driver', 'created_at', 'updated_at'),
  ),
  put: db.prepare((k, p: (n: 'accountId' | 'clusterUid' | 'driver' | 'at') => Knex.Value) =>
    k('package_drivers')
      .insert({ account_id: p('accountId'), cluster_uid: p('clusterUid'), driver: p('driver'), created_at: p('at'), updated_at: p('at') })
      .onConflict(['account_id', 'cluster_uid'])
      .merge({ driver: p('driver'), updated_at: p('at') }),
  ),
})

/** DriverConfigurationStore over the table `package_drivers`. */
export const makeSqlDriverConfigurationStore = (db: SqlDatabase): ((runner: SqlRunner) => DriverConfigurationStore) => {
  const s = statements(db)
  return (runner) => {
    const find: DriverConfigurationStore['find'] = async (accountId, clusterUid) => {
      const row = await runner.first<DriverRow>(s.find, { accountId, clusterUid })
      return row === undefined ? undefined : configurationOf(row)
    }
    return {
      find,
      async put(accountId, clusterUid, driver, at) {
        await runner.run(s.put, { accountId, clusterUid, driver, at: at.getTime() })
        const stored = await find(accountId, clusterUid)
        if (stored === undefined) throw new Error('A driver configuration vanished in the transaction that wrote it.')
        return stored
      },
    }
  }
}
