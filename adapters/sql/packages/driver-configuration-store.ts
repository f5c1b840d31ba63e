import type { DriverConfiguration, DriverConfigurationStore } from '../../../core/packages/ports.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { Row } from '../kit/columns.ts'
import { packageDrivers } from '../tables/packages.ts'
import { columnsOf, pick } from '../kit/columns.ts'

const driverRow = columnsOf(packageDrivers)

const configurationOf = ({ accountId, ...row }: Row<typeof driverRow>): DriverConfiguration => ({
  ...row,
  userId: accountId,
})

/** DriverConfigurationStore over the table `package_drivers`. */
export const makeSqlDriverConfigurationStore = (db: SqlDatabase): ((runner: SqlRunner) => DriverConfigurationStore) => {
  const rowsOf = ownedRows(db, {
    table: packageDrivers,
    owner: { field: 'accountId', table: 'accounts' },
    name: 'clusterUid',
    shown: driverRow,
    content: pick(packageDrivers, 'driver'),
  })
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
