import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { CredentialNameTaken, type CloudCredentialStore } from '../../../core/clouds/ports.ts'
import type {
  CloudCredentialId,
  CredentialContent,
  CredentialFilter,
  StoredCredential,
} from '../../../core/clouds/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { without } from '../kit/columns.ts'
import { cloudCredentials } from '../tables/clouds.ts'
import type { Binds, Row } from '../kit/columns.ts'

const content = without(cloudCredentials, 'id', 'userId', 'name', 'createdAt', 'updatedAt', 'version')
const credentialRow = without(cloudCredentials, 'fleetEndpoint', 'updatedAt')

const credentialOf = ({ sealedSpec, ...row }: Row<typeof credentialRow>): StoredCredential => ({
  ...row,
  box: sealedSpec,
})

const contentBinds = ({ box, ...binds }: CredentialContent): Binds<typeof content> => ({ ...binds, sealedSpec: box })

const narrowedBy =
  ({ types, fleetEndpoint }: CredentialFilter) =>
  (rows: Knex.QueryBuilder): void => {
    if (types !== undefined) void rows.whereIn('type', [...types])
    if (fleetEndpoint !== undefined) void rows.where('fleet_endpoint', fleetEndpoint)
  }

/** CloudCredentialStore over the table `cloud_credentials`. */
export const makeSqlCloudCredentialStore = (db: SqlDatabase): ((runner: SqlRunner) => CloudCredentialStore) => {
  const rowsOf = ownedRows(db, {
    table: cloudCredentials,
    owner: { field: 'userId', table: 'users' },
    name: 'name',
    shown: credentialRow,
    content,
  })
  return (runner) => {
    const rows = rowsOf(runner)
    return {
      list: async (userId, filter, page) => mapPage(await rows.list(userId, page, narrowedBy(filter)), credentialOf),
      async find(userId, name) {
        const row = await rows.find(userId, name)
        return row === undefined ? undefined : credentialOf(row)
      },
      lockCount: (userId) => rows.lockCount(userId),
      async insert(userId, name, content, at) {
        const id = await rows.insert(userId, name, contentBinds(content), at)
        return id === undefined
          ? left(CredentialNameTaken('The name of the credential is already in use.'))
          : right(id as CloudCredentialId)
      },
      replace: (userId, id, version, content, at) => rows.replace(userId, id, version, contentBinds(content), at),
      remove: async (userId, name) => (await rows.remove(userId, name)) as CloudCredentialId | undefined,
    }
  }
}
