import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { ClusterAccount, ClusterStore } from '../../../core/clusters/ports.ts'
import { ClusterChanged, ClusterNameTaken } from '../../../core/clusters/ports.ts'
import type { ClusterChange, ClusterLink } from '../../../core/clusters/types.ts'
import { toManagerMask } from '../../../core/clusters/types.ts'
import type { AccountId, ClusterId } from '../../../core/kernel/ids.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { ClusterRow } from './rows.ts'
import { clusterOf, newBinds, newColumns } from './rows.ts'

const columns = [
  'c.id',
  'c.owner_id',
  'c.name',
  'c.display_name',
  'c.uid',
  'c.external_id',
  'c.provider',
  'c.vendor',
  'c.endpoint',
  'c.location',
  'c.project',
  'c.kubernetes_version',
  'c.node_count',
  'c.managers',
  'c.hub_cluster_uid',
  'c.managed_cluster_name',
  'c.cluster_set_name',
  'c.infra_namespace',
  'c.phase',
  'c.phase_reason',
  'c.phase_message',
  'c.impersonates_users',
  'c.created_at',
  'c.checked_at',
  'c.imported_by',
  'c.version',
] as const

const changeableColumns = [
  'display_name',
  'provider',
  'infra_namespace',
  'impersonates_users',
  'endpoint',
  'uid',
  'hub_cluster_uid',
  'managed_cluster_name',
  'ref',
  'sealed_credential',
] as const

const withOwner = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .join('accounts as a', 'a.id', 'c.owner_id')
    .select(...columns, 'a.name as owner_name', 'a.kind as owner_kind')
    .select(
      k('clusters as h')
        .where('h.owner_id', k.ref('c.owner_id'))
        .where('h.uid', k.ref('c.hub_cluster_uid'))
        .whereNot('h.uid', '')
        .min('h.name')
        .as('hub_cluster_name'),
    )
    .select(k.raw('case when c.sealed_credential is null then 0 else 1 end as has_credential'))

const clusters = (k: Knex): Knex.QueryBuilder => withOwner(k, k('clusters as c'))

const links = (k: Knex): Knex.QueryBuilder =>
  k('clusters as c')
    .join('accounts as a', 'a.id', 'c.owner_id')
    .select(
      'c.id',
      'c.owner_id',
      'c.version',
      'c.impersonates_users',
      'c.uid',
      'c.hub_cluster_uid',
      'c.managed_cluster_name',
      'a.name as owner_name',
    )
    .select(k.raw('case when c.sealed_credential is null then 0 else 1 end as has_credential'))

const reads = (db: SqlDatabase) => ({
  listAll: pageQuery(
    db,
    (k) => k('clusters as c'),
    (k, rows, cut) => cut(withOwner(k, rows).orderBy(['a.lower_name', 'c.name'])),
  ),
  listOf: db.prepare((k, p: (n: 'ownerId') => Knex.Value) =>
    clusters(k).where('c.owner_id', p('ownerId')).orderBy('c.name'),
  ),
  find: db.prepare((k, p: (n: 'ownerId' | 'name') => Knex.Value) =>
    clusters(k).where('c.owner_id', p('ownerId')).where('c.name', p('name')),
  ),
  findByUid: db.prepare((k, p: (n: 'ownerId' | 'uid') => Knex.Value & number) =>
    clusters(k).where('c.owner_id', p('ownerId')).where('c.uid', p('uid')).orderBy('c.id').limit(1),
  ),
  findSpoke: db.prepare((k, p: (n: 'ownerId' | 'hubUid' | 'managedClusterName') => Knex.Value & number) =>
    clusters(k)
      .where('c.owner_id', p('ownerId'))
      .where('c.hub_cluster_uid', p('hubUid'))
      .where('c.managed_cluster_name', p('managedClusterName'))
      .orderBy('c.name')
      .limit(1),
  ),
  get: db.prepare((k, p: (n: 'id') => Knex.Value) => clusters(k).where('c.id', p('id'))),
  link: db.prepare((k, p: (n: 'id') => Knex.Value) => links(k).where('c.id', p('id'))),
  linkByUid: db.prepare((k, p: (n: 'ownerId' | 'uid') => Knex.Value) =>
    links(k)
      .where('c.owner_id', p('ownerId'))
      .where('c.uid', p('uid'))
      .whereNotNull('c.sealed_credential')
      .orderBy('c.id')
      .limit(1),
  ),
  sealed: db.prepare((k, p: (n: 'id' | 'version') => Knex.Value) =>
    k('clusters')
      .where('id', p('id'))
      .where('version', p('version'))
      .whereNotNull('sealed_credential')
      .select('owner_id', 'ref', 'sealed_credential'),
  ),
  accountsOf: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('accounts as a')
      .where('a.id', p('userId'))
      .select('a.id', 'a.name', 'a.kind')
      .unionAll([
        k('org_members as m')
          .join('accounts as a', 'a.id', 'm.org_id')
          .where('m.user_id', p('userId'))
          .select('a.id', 'a.name', 'a.kind'),
      ]),
  ),
  granted: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('object_grants as g')
      .join('org_members as m', (on) => on.on('m.org_id', 'g.org_id').on('m.user_id', 'g.subject_id'))
      .where('g.object_type', 'cluster')
      .where('g.subject_type', 'user')
      .where('g.subject_id', p('userId'))
      .select('g.object_id', 'g.relation')
      .unionAll([
        k('object_grants as g')
          .join('team_members as t', (on) => on.on('t.team_id', 'g.subject_id').on('t.org_id', 'g.org_id'))
          .join('org_members as m', (on) => on.on('m.org_id', 't.org_id').on('m.user_id', 't.user_id'))
          .where('g.object_type', 'cluster')
          .where('g.subject_type', 'team')
          .where('t.user_id', p('userId'))
          .select('g.object_id', 'g.relation'),
      ]),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: (n: (typeof newColumns)[number]) => Knex.Value) =>
    k('clusters').insert(Object.fromEntries(newColumns.map((name) => [name, p(name)]))),
  ),
  change: db.prepare((k, p: (n: (typeof changeableColumns)[number] | 'id' | 'version') => Knex.Value) =>
    k('clusters')
      .where('id', p('id'))
      .where('version', p('version'))
      .update({
        ...Object.fromEntries(changeableColumns.map((name) => [name, k.raw('coalesce(?, ??)', [p(name), name])])),
        version: k.raw('?? + 1', ['version']),
      }),
  ),
  observeStatus: db.prepare((k, p: (n: 'id' | 'phase' | 'reason' | 'message' | 'at') => Knex.Value) =>
    k('clusters')
      .where('id', p('id'))
      .update({ phase: p('phase'), phase_reason: p('reason'), phase_message: p('message'), checked_at: p('at') }),
  ),
  observeFacts: db.prepare((k, p: (n: 'id' | 'kubernetesVersion' | 'nodeCount' | 'managers') => Knex.Value) =>
    k('clusters')
      .where('id', p('id'))
      .update({ kubernetes_version: p('kubernetesVersion'), node_count: p('nodeCount'), managers: p('managers') }),
  ),
  observeSet: db.prepare((k, p: (n: 'id' | 'clusterSetName') => Knex.Value) =>
    k('clusters')
      .where('id', p('id'))
      .update({ cluster_set_name: p('clusterSetName') }),
  ),
  removeGrants: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('object_grants').where('object_type', 'cluster').where('object_id', p('id')).del(),
  ),
  removeTokens: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('access_tokens').where('only_cluster_id', p('id')).del(),
  ),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('clusters').where('id', p('id')).del()),
})

const clusterStatements = (db: SqlDatabase) => ({ ...reads(db), ...writes(db) })

interface LinkRow {
  readonly id: number
  readonly owner_id: number
  readonly owner_name: string
  readonly version: number
  readonly impersonates_users: number
  readonly uid: string
  readonly hub_cluster_uid: string
  readonly managed_cluster_name: string
  readonly has_credential: number
}

const linkOf = (row: LinkRow): ClusterLink => {
  const { hub_cluster_uid: hubClusterUid, managed_cluster_name: managedClusterName } = row
  const isManaged = row.has_credential === 0 && hubClusterUid !== '' && managedClusterName !== ''
  return {
    id: row.id as ClusterId,
    ownerId: row.owner_id as AccountId,
    ownerName: row.owner_name,
    version: row.version,
    impersonatesUsers: row.impersonates_users === 1,
    ...definedFields({
      managedBy: isManaged ? { hubClusterUid, managedClusterName, isOwnHub: hubClusterUid === row.uid } : undefined,
    }),
  }
}

interface SealedRow {
  readonly owner_id: number
  readonly ref: string
  readonly sealed_credential: Uint8Array
}
interface AccountRow {
  readonly id: number
  readonly name: string
  readonly kind: string
}

/** A null leaves the column unchanged. */
const changeBinds = (change: ClusterChange): Record<(typeof changeableColumns)[number], Bind> => ({
  display_name: change.displayName ?? null,
  provider: change.provider ?? null,
  infra_namespace: change.infraNamespace ?? null,
  impersonates_users: change.impersonatesUsers === undefined ? null : change.impersonatesUsers ? 1 : 0,
  endpoint: change.endpoint ?? null,
  uid: change.uid ?? null,
  hub_cluster_uid: change.hubClusterUid ?? null,
  managed_cluster_name: change.managedClusterName ?? null,
  ref: change.sealed?.ref ?? null,
  sealed_credential: change.sealed?.box ?? null,
})

/** ClusterStore over the table `clusters`. Statements are composed once, then bound to a runner. */
export const makeSqlClusterStore = (db: SqlDatabase): ((runner: SqlRunner) => ClusterStore) => {
  const s = clusterStatements(db)
  return (runner) => {
    const one = async (id: ClusterId) => {
      const row = await runner.first<ClusterRow>(s.get, { id })
      return row === undefined ? undefined : clusterOf(row)
    }
    return {
      async listOf(ownerId, provider) {
        const rows = await runner.all<ClusterRow>(s.listOf, { ownerId })
        return rows.map(clusterOf).filter((cluster) => provider === undefined || cluster.provider === provider)
      },
      async listAll(page) {
        return mapPage(await s.listAll<ClusterRow>(runner, {}, page), clusterOf)
      },
      async accountsOf(userId) {
        const rows = await runner.all<AccountRow>(s.accountsOf, { userId })
        return rows.map((row): ClusterAccount => ({
          id: row.id as AccountId,
          name: row.name,
          isOrganization: row.kind === 'organization',
        }))
      },
      async listGranted(userId, relations) {
        const grants = await runner.all<{ object_id: number; relation: string }>(s.granted, { userId })
        const ids = [
          ...new Set(grants.filter(({ relation }) => relations.includes(relation)).map((grant) => grant.object_id)),
        ]
        const found = await Promise.all(ids.map((id) => one(id as ClusterId)))
        return found.filter((cluster) => cluster !== undefined)
      },
      async find(ownerId, name) {
        const row = await runner.first<ClusterRow>(s.find, { ownerId, name })
        return row === undefined ? undefined : clusterOf(row)
      },
      async findByUid(ownerId, uid) {
        const row = await runner.first<ClusterRow>(s.findByUid, { ownerId, uid })
        return row === undefined ? undefined : clusterOf(row)
      },
      async findSpoke(ownerId, hubUid, managedClusterName) {
        const row = await runner.first<ClusterRow>(s.findSpoke, { ownerId, hubUid, managedClusterName })
        return row === undefined ? undefined : clusterOf(row)
      },
      get: one,
      async link(id) {
        const row = await runner.first<LinkRow>(s.link, { id })
        return row === undefined ? undefined : linkOf(row)
      },
      async linkByUid(ownerId, uid) {
        const row = await runner.first<LinkRow>(s.linkByUid, { ownerId, uid })
        return row === undefined ? undefined : linkOf(row)
      },
      async sealed(id, version) {
        const row = await runner.first<SealedRow>(s.sealed, { id, version })
        return row === undefined
          ? undefined
          : { box: row.sealed_credential, ref: row.ref, ownerId: row.owner_id as AccountId }
      },
      async insert(cluster) {
        try {
          const { insertId } = await runner.run(s.insert, newBinds(cluster))
          const inserted = await one(insertId as ClusterId)
          if (inserted === undefined) throw new Error('the cluster that was just inserted is gone')
          return right(inserted)
        } catch (error) {
          if (!isUniqueViolation(error, 'name')) throw error
          return left(ClusterNameTaken(`The cluster name ${cluster.name} is already in use.`))
        }
      },
      async change(id, version, change) {
        const { affected } = await runner.run(s.change, { ...changeBinds(change), id, version })
        const changed = affected === 0 ? undefined : await one(id)
        return changed === undefined
          ? left(ClusterChanged('The cluster was changed by another request. Read it again.'))
          : right(changed)
      },
      async observe(id, status, facts, at) {
        await runner.run(s.observeStatus, {
          id,
          phase: status.phase,
          reason: status.reason ?? '',
          message: status.message.slice(0, 1000),
          at: at.getTime(),
        })
        if (facts === undefined) return
        const { kubernetesVersion, nodeCount } = facts
        await runner.run(s.observeFacts, {
          id,
          kubernetesVersion: kubernetesVersion.slice(0, 64),
          nodeCount,
          managers: toManagerMask(facts.managers),
        })
      },
      async observeSet(id, clusterSetName) {
        await runner.run(s.observeSet, { id, clusterSetName })
      },
      async remove(id) {
        await runner.run(s.removeGrants, { id })
        await runner.run(s.removeTokens, { id })
        return (await runner.run(s.remove, { id })).affected > 0
      },
    }
  }
}
