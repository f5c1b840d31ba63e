import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { CredentialNameTaken, type CloudCredentialStore } from '../../../core/clouds/ports.ts'
import type {
  CloudCredentialId,
  CredentialContent,
  CredentialFilter,
  StoredCredential,
} from '../../../core/clouds/types.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { Bind, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface CredentialRow {
  readonly id: number
  readonly user_id: number
  readonly name: string
  readonly type: string
  readonly owner_id: number
  readonly ref: string
  readonly sealed_spec: Uint8Array
  readonly created_at: number
  readonly version: number
}

const columns = ['id', 'user_id', 'name', 'type', 'owner_id', 'ref', 'sealed_spec', 'created_at', 'version'] as const
const contentColumns = ['type', 'owner_id', 'fleet_endpoint', 'ref', 'sealed_spec'] as const

const credentialOf = (row: CredentialRow): StoredCredential => ({
  id: Number(row.id) as CloudCredentialId,
  userId: Number(row.user_id) as UserId,
  name: row.name,
  type: row.type,
  ownerId: Number(row.owner_id) as AccountId,
  ref: row.ref,
  box: row.sealed_spec,
  createdAt: new Date(Number(row.created_at)),
  version: Number(row.version),
})

const contentBinds = (content: CredentialContent): Record<(typeof contentColumns)[number], Bind> => ({
  type: content.type,
  owner_id: content.ownerId,
  fleet_endpoint: content.fleetEndpoint,
  ref: content.ref,
  sealed_spec: content.box,
})

const credentials = {
  table: 'cloud_credentials',
  owner: { column: 'user_id', table: 'users' },
  name: 'name',
  shown: columns,
  content: contentColumns,
} as const

const narrowedBy =
  ({ types, fleetEndpoint }: CredentialFilter) =>
  (rows: Knex.QueryBuilder): void => {
    if (types !== undefined) void rows.whereIn('type', [...types])
    if (fleetEndpoint !== undefined) void rows.where('fleet_endpoint', fleetEndpoint)
  }

/** CloudCredentialStore over the table `cloud_credentials`. */
export const makeSqlCloudCredentialStore = (db: SqlDatabase): ((runner: SqlRunner) => CloudCredentialStore) => {
  const rowsOf = ownedRows<CredentialRow, (typeof contentColumns)[number]>(db, credentials)
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
