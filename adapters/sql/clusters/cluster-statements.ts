import type { Knex } from 'knex'
import { countOf } from '../counted-page.ts'
import type { SqlDatabase } from '../statement.ts'
import { newColumns } from './rows.ts'

const columns = [
  'c.id', 'c.owner_id', 'c.name', 'c.display_name', 'c.uid', 'c.external_id', 'c.provider', 'c.vendor', 'c.endpoint',
  'c.location', 'c.project', 'c.kubernetes_version', 'c.node_count', 'c.managers', 'c.hub_cluster_uid', 'c.infra_namespace',
  'c.phase', 'c.phase_reason', 'c.phase_message', 'c.impersonates_users', 'c.created_at', 'c.checked_at', 'c.imported_by',
  'c.version',
] as const

export const changeableColumns = [
  'display_name',
  'provider',
  'infra_namespace',
  'impersonates_users',
  'endpoint',
  'ref',
  'sealed_credential',
] as const

const clusters = (k: Knex): Knex.QueryBuilder =>
  k('clusters as c')
    .join('accounts as a', 'a.id', 'c.owner_id')
    .select(...columns, 'a.name as owner_name', 'a.kind as owner_kind')
    .select(k.raw('case when c.sealed_credential is null then 0 else 1 end as has_credential'))

const reads = (db: SqlDatabase) => ({
  listAll: db.prepare((k, p: (n: 'limit' | 'offset') => Knex.Value & number) =>
    clusters(k).orderBy(['a.lower_name', 'c.name']).limit(p('limit')).offset(p('offset')),
  ),
  countAll: db.prepare((k) => countOf(k, k('clusters').select('id'))),
  listOf: db.prepare((k, p: (n: 'ownerId') => Knex.Value) => clusters(k).where('c.owner_id', p('ownerId')).orderBy('c.name')),
  find: db.prepare((k, p: (n: 'ownerId' | 'name') => Knex.Value) =>
    clusters(k).where('c.owner_id', p('ownerId')).where('c.name', p('name')),
  ),
  findByUid: db.prepare((k, p: (n: 'ownerId' | 'uid') => Knex.Value & number) =>
    clusters(k).where('c.owner_id', p('ownerId')).where('c.uid', p('uid')).orderBy('c.id').limit(1),
  ),
  get: db.prepare((k, p: (n: 'id') => Knex.Value) => clusters(k).where('c.id', p('id'))),
  link: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('clusters as c')
      .join('accounts as a', 'a.id', 'c.owner_id')
      .where('c.id', p('id'))
      .select('c.id', 'c.owner_id', 'c.version', 'c.impersonates_users', 'a.name as owner_name'),
  ),
  sealed: db.prepare((k, p: (n: 'id' | 'version') => Knex.Value) =>
    k('clusters').where('id', p('id')).where('version', p('version')).whereNotNull('sealed_credential').select('owner_id', 'ref', 'sealed_credential'),
  ),
  accountsOf: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('accounts as a')
      .where('a.id', p('userId'))
      .select('a.id', 'a.name', 'a.kind')
      .unionAll([
        k('org_members as m').join('accounts as a', 'a.id', 'm.org_id').where('m.user_id', p('userId')).select('a.id', 'a.name', 'a.kind'),
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
    k('clusters').where('id', p('id')).update({ phase: p('phase'), phase_reason: p('reason'), phase_message: p('message'), checked_at: p('at') }),
  ),
  observeFacts: db.prepare((k, p: (n: 'id' | 'kubernetesVersion' | 'nodeCount' | 'managers') => Knex.Value) =>
    k('clusters').where('id', p('id')).update({ kubernetes_version: p('kubernetesVersion'), node_count: p('nodeCount'), managers: p('managers') }),
  ),
  removeGrants: db.prepare((k, p: (n: 'id') => Knex.Value) => k('object_grants').where('object_type', 'cluster').where('object_id', p('id')).del()),
  removeTokens: db.prepare((k, p: (n: 'id') => Knex.Value) => k('access_tokens').where('only_cluster_id', p('id')).del()),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('clusters').where('id', p('id')).del()),
})

/** Every statement of the store, composed once. */
export const clusterStatements = (db: SqlDatabase) => ({ ...reads(db), ...writes(db) })
