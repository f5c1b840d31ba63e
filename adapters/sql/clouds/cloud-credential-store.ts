import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { CredentialNameTaken, type CloudCredentialStore } from '../../../core/clouds/ports.ts'
import type { CloudCredentialId, CredentialContent, CredentialFilter, StoredCredential } from '../../../core/clouds/types.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
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

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'userId' | 'name') => Knex.Value) =>
    k('cloud_credentials').where('user_id', p('userId')).where('name', p('name')).select(...columns),
  ),
  lockUser: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('users').where('id', p('userId')).select('id').forUpdate()),
  count: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('cloud_credentials').where('user_id', p('userId')).count('* as total')),
  insert: db.prepare((k, p: (n: (typeof contentColumns)[number] | 'userId' | 'name' | 'at') => Knex.Value) =>
    k('cloud_credentials').insert({
      user_id: p('userId'),
      name: p('name'),
      ...Object.fromEntries(contentColumns.map((column) => [column, p(column)])),
      created_at: p('at'),
      updated_at: p('at'),
      version: 1,
    }),
  ),
  replace: db.prepare((k, p: (n: (typeof contentColumns)[number] | 'userId' | 'id' | 'version' | 'at') => Knex.Value) =>
    k('cloud_credentials')
      .where('user_id', p('userId'))
      .where('id', p('id'))
      .where('version', p('version'))
      .update({
        ...Object.fromEntries(contentColumns.map((column) => [column, p(column)])),
        updated_at: p('at'),
        version: k.raw('?? + 1', ['version']),
      }),
  ),
  idOf: db.prepare((k, p: (n: 'userId' | 'name') => Knex.Value) =>
    k('cloud_credentials').where('user_id', p('userId')).where('name', p('name')).select('id').forUpdate(),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) => k('cloud_credentials').where('user_id', p('userId')).where('id', p('id')).del()),
})

const filtered = (k: Knex, userId: UserId, filter: CredentialFilter): Knex.QueryBuilder => {
  const query = k('cloud_credentials').where('user_id', userId)
  if (filter.types !== undefined) void query.whereIn('type', [...filter.types])
  if (filter.fleetEndpoint !== undefined) void query.where('fleet_endpoint', filter.fleetEndpoint)
  return query
}

/** CloudCredentialStore over the table `cloud_credentials`. */
export const makeSqlCloudCredentialStore = (db: SqlDatabase): ((runner: SqlRunner) => CloudCredentialStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, filter, page) {
      const rows = await runner.query<CredentialRow>((k) =>
        filtered(k, userId, filter).select(...columns).orderBy('name').limit(page.limit).offset(pageOffset(page)),
      )
      const [counted] = await runner.query<{ total: number }>((k) => filtered(k, userId, filter).count('* as total'))
      return { items: rows.map(credentialOf), total: Number(counted?.total ?? 0) }
    },
    async find(userId, name) {
      const row = await runner.first<CredentialRow>(s.find, { userId, name })
      return row === undefined ? undefined : credentialOf(row)
    },
    async lockCount(userId) {
      await runner.first(s.lockUser, { userId })
      const counted = await runner.first<{ total: number }>(s.count, { userId })
      return Number(counted?.total ?? 0)
    },
    async insert(userId, name, content, at) {
      try {
        const { insertId } = await runner.run(s.insert, { ...contentBinds(content), userId, name, at: at.getTime() })
        return right(insertId as CloudCredentialId)
      } catch (error) {
        if (!isUniqueViolation(error, 'name')) throw error
        return left(CredentialNameTaken('The name of the credential is already in use.'))
      }
    },
    async replace(userId, id, version, content, at) {
      const { affected } = await runner.run(s.replace, { ...contentBinds(content), userId, id, version, at: at.getTime() })
      return affected > 0
    },
    async remove(userId, name) {
      const row = await runner.first<{ id: number }>(s.idOf, { userId, name })
      if (row === undefined) return undefined
      await runner.run(s.remove, { userId, id: row.id })
      return Number(row.id) as CloudCredentialId
    },
  })
}
