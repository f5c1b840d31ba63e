import type { Knex } from 'knex'
import type { WorkloadStore } from '../../../core/authorization-server/workloads/ports.ts'
import type {
  FederatedCredentialContent,
  FederatedCredentialId,
} from '../../../core/authorization-server/workloads/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, columnsOf, int, pick, present, qualified } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { federatedCredentials, workloadUses } from '../tables/authorization-server.ts'
import { accounts, users } from '../tables/identity.ts'

const row = qualified(columnsOf(federatedCredentials), 'f')
const robotKey = pick(federatedCredentials, 'orgId', 'robotId')
const content = pick(
  federatedCredentials,
  'name',
  'issuer',
  'clusterUid',
  'audience',
  'conditions',
  'scopes',
  'lifeSeconds',
)

const from = (k: Knex): Knex.QueryBuilder => k('federated_credentials as f')
/** Those of active robot accounts. */
const inForce = (k: Knex, isActive: unknown): Knex.QueryBuilder =>
  from(k)
    .join('users as u', 'u.id', 'f.robot_id')
    .where('u.is_active', isActive as never)

const statements = (db: SqlDatabase) => ({
  list: db.prepare(robotKey, row, (k, p) =>
    from(k).where('f.org_id', p.orgId).where('f.robot_id', p.robotId).orderBy('f.name'),
  ),
  find: db.prepare({ ...robotKey, ...pick(federatedCredentials, 'id') }, row, (k, p) =>
    from(k).where('f.id', p.id).where('f.org_id', p.orgId).where('f.robot_id', p.robotId),
  ),
  ofLogin: db.prepare({ key: accounts.lowerName, isActive: aliased(users, 'u').isActive }, row, (k, p) =>
    inForce(k, p.isActive).join('accounts as a', 'a.id', 'f.robot_id').where('a.lower_name', p.key).orderBy('f.id'),
  ),
  lock: db.prepare({ ...pick(federatedCredentials, 'id'), isActive: aliased(users, 'u').isActive }, row, (k, p) =>
    inForce(k, p.isActive).where('f.id', p.id).forUpdate(),
  ),
  insert: insertInto(db, federatedCredentials, {
    omitted: ['id', 'lastUsedAt', 'lastRefusedAt', 'lastRefusal', 'version'],
  }),
  replace: db.prepare({ ...content, ...pick(federatedCredentials, 'id', 'version') }, (k, p) =>
    k('federated_credentials')
      .where('id', p.id)
      .where('version', p.version)
      .update({ ...assigned(content, p), ...values(federatedCredentials, { version: k.raw('?? + 1', ['version']) }) }),
  ),
  markUsed: db.prepare({ ...pick(federatedCredentials, 'id'), at: present(federatedCredentials.lastUsedAt) }, (k, p) =>
    k('federated_credentials')
      .where('id', p.id)
      .update(values(federatedCredentials, { lastUsedAt: p.at })),
  ),
  markRefused: db.prepare(
    {
      ...pick(federatedCredentials, 'id'),
      at: present(federatedCredentials.lastRefusedAt),
      reason: present(federatedCredentials.lastRefusal),
    },
    (k, p) =>
      k('federated_credentials')
        .where('id', p.id)
        .update(values(federatedCredentials, { lastRefusedAt: p.at, lastRefusal: p.reason })),
  ),
  remove: db.prepare(pick(federatedCredentials, 'id'), (k, p) => k('federated_credentials').where('id', p.id).delete()),
  insertUse: insertInto(db, workloadUses, { omitted: ['id'] }),
  expiredUses: db.prepare(
    { at: workloadUses.expiresAt, limit: int() },
    pick(workloadUses, 'idHash', 'robotId', 'tokenId', 'expiresAt'),
    (k, p) =>
      k('workload_uses')
        .where('expires_at', '<', p.at)
        .orderBy('expires_at')
        .limit(p.limit as never),
  ),
  removeUse: db.prepare(pick(workloadUses, 'idHash'), (k, p) => k('workload_uses').where('id_hash', p.idHash).delete()),
})

const credentialOf = ({ scopes, ...stored }: Row<typeof row>) => ({
  ...stored,
  scopes: scopes.split(' ').filter((word) => word !== ''),
})
const bindsOf = ({ scopes, ...given }: FederatedCredentialContent) => ({ ...given, scopes: scopes.join(' ') })

/** WorkloadStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlWorkloadStore = (db: SqlDatabase): ((runner: SqlRunner) => WorkloadStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(robot) {
      return (await runner.all(s.list, robot)).map(credentialOf)
    },
    async find(robot, id) {
      const found = await runner.first(s.find, { ...robot, id })
      return found === undefined ? undefined : credentialOf(found)
    },
    async ofLogin(login) {
      return (await runner.all(s.ofLogin, { key: accountNameKey(login), isActive: true })).map(credentialOf)
    },
    async lock(id) {
      const found = await runner.first(s.lock, { id, isActive: true })
      return found === undefined ? undefined : credentialOf(found)
    },
    async insert(robot, given, createdAt) {
      try {
        return (await runner.run(s.insert, { ...robot, ...bindsOf(given), createdAt }))
          .insertId as FederatedCredentialId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async replace({ id, version }, given) {
      try {
        return (await runner.run(s.replace, { id, version, ...bindsOf(given) })).affected > 0 ? 'replaced' : 'changed'
      } catch (error) {
        if (isUniqueViolation(error)) return 'taken'
        throw error
      }
    },
    async markUsed(id, at) {
      await runner.run(s.markUsed, { id, at })
    },
    async markRefused(id, reason, at) {
      await runner.run(s.markRefused, { id, reason, at })
    },
    async remove(id) {
      await runner.run(s.remove, { id })
    },
    async insertUse(use) {
      try {
        await runner.run(s.insertUse, use)
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },
    expiredUses: (at, limit) => runner.all(s.expiredUses, { at, limit }),
    async removeUse(idHash) {
      await runner.run(s.removeUse, { idHash })
    },
  })
}
