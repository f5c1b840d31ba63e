import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { ClusterOrder, ClusterSelection, ClusterStore } from '../../../core/clusters/ports.ts'
import { ClusterChanged, ClusterNameTaken } from '../../../core/clusters/ports.ts'
import type { Cluster, ClusterChange } from '../../../core/clusters/types.ts'
import { clusterPhases } from '../../../core/clusters/types.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, cutTo, int, long, nullableColumns, pick, present, selectedAs, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Shown } from '../kit/page-query.ts'
import { filteredRows, typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, literally, unlessNull } from '../kit/values.ts'
import { objectGrants } from '../tables/authz.ts'
import { clusters } from '../tables/clusters.ts'
import { accessTokens, accounts } from '../tables/identity.ts'
import { clusterOf, clusterRow, linkOf, linkRow, newColumns, statusColumns } from './rows.ts'

/** What a change sets. A new column of `clusters` belongs to it. */
const changeable = nullableColumns(
  without(
    clusters,
    'id',
    'ownerId',
    'name',
    'externalId',
    'vendor',
    'location',
    'project',
    'kubernetesVersion',
    'nodeCount',
    'managers',
    'clusterSetName',
    'phase',
    'phaseReason',
    'phaseMessage',
    'createdAt',
    'checkedAt',
    'importedBy',
    'version',
  ),
)

/** What an observation sets. */
const status = pick(clusters, 'phase', 'phaseReason', 'phaseMessage', 'checkedAt')
const facts = pick(clusters, 'kubernetesVersion', 'nodeCount', 'managers')

const withOwner = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'c.owner_id')

const withHub = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  withOwner(rows).select(
    k('clusters as h')
      .where('h.owner_id', k.ref('c.owner_id'))
      .where('h.uid', k.ref('c.hub_cluster_uid'))
      .whereNot('h.uid', '')
      .min('h.name')
      .as('hub_cluster_name'),
  )

const fromClusters = (k: Knex): Knex.QueryBuilder => withHub(k, k('clusters as c'))
const fromLinks = (k: Knex): Knex.QueryBuilder => withOwner(k('clusters as c'))

const clusterReads = (db: SqlDatabase) => ({
  listAll: typedPage(
    db,
    {},
    clusterRow,
    (k) => k('clusters as c'),
    (k, rows, cut) => cut(withHub(k, rows).orderBy(['a.lower_name', 'c.name'])),
  ),
  listOf: db.prepare(pick(clusters, 'ownerId'), clusterRow, (k, p) =>
    fromClusters(k).where('c.owner_id', p.ownerId).orderBy('c.name'),
  ),
  find: db.prepare(pick(clusters, 'ownerId', 'name'), clusterRow, (k, p) =>
    fromClusters(k).where('c.owner_id', p.ownerId).where('c.name', p.name),
  ),
  findByUid: db.prepare(pick(clusters, 'ownerId', 'uid'), clusterRow, (k, p) =>
    fromClusters(k).where('c.owner_id', p.ownerId).where('c.uid', p.uid).orderBy('c.id').limit(1),
  ),
  findSpoke: db.prepare(pick(clusters, 'ownerId', 'hubClusterUid', 'managedClusterName'), clusterRow, (k, p) =>
    fromClusters(k)
      .where('c.owner_id', p.ownerId)
      .where('c.hub_cluster_uid', p.hubClusterUid)
      .where('c.managed_cluster_name', p.managedClusterName)
      .orderBy('c.name')
      .limit(1),
  ),
  get: db.prepare(pick(clusters, 'id'), clusterRow, (k, p) => fromClusters(k).where('c.id', p.id)),
})

const countReads = (db: SqlDatabase) => ({
  byPhase: db.prepare({}, { phase: clusters.phase, count: selectedAs(long()) }, (k) =>
    k('clusters').groupBy('phase').count({ count: '*' }),
  ),
})

const sealedRow = {
  ...pick(aliased(clusters, 'c'), 'id', 'name', 'ownerId', 'ref'),
  sealedCredential: present(aliased(clusters, 'c').sealedCredential),
  ownerName: linkRow.ownerName,
}

const linkReads = (db: SqlDatabase) => ({
  link: db.prepare(pick(clusters, 'id'), linkRow, (k, p) => fromLinks(k).where('c.id', p.id)),
  linkByUid: db.prepare(pick(clusters, 'ownerId', 'uid'), linkRow, (k, p) =>
    fromLinks(k)
      .where('c.owner_id', p.ownerId)
      .where('c.uid', p.uid)
      .whereNotNull('c.sealed_credential')
      .orderBy('c.id')
      .limit(1),
  ),
  sealed: db.prepare(
    pick(clusters, 'id', 'version'),
    { ...pick(clusters, 'ownerId', 'ref'), sealedCredential: present(clusters.sealedCredential) },
    (k, p) => k('clusters').where('id', p.id).where('version', p.version).whereNotNull('sealed_credential'),
  ),
  sealedAfter: db.prepare({ id: clusters.id, limit: int() }, sealedRow, (k, p) =>
    withOwner(k('clusters as c'))
      .where('c.id', '>', p.id)
      .whereNotNull('c.sealed_credential')
      .orderBy('c.id')
      .limit(p.limit),
  ),
})

const accountRow = {
  id: selectedAs(accounts.id),
  name: selectedAs(accounts.name),
  kind: selectedAs(accounts.kind),
}
const grantRow = { objectId: selectedAs(objectGrants.objectId), relation: selectedAs(objectGrants.relation) }

const accessReads = (db: SqlDatabase) => ({
  accountsOf: db.prepare({ userId: accounts.id }, accountRow, (k, p) =>
    k('accounts as a')
      .where('a.id', p.userId)
      .select('a.id', 'a.name', 'a.kind')
      .unionAll([
        k('org_members as m')
          .join('accounts as a', 'a.id', 'm.org_id')
          .where('m.user_id', p.userId)
          .select('a.id', 'a.name', 'a.kind'),
      ]),
  ),
  granted: db.prepare({ userId: objectGrants.subjectId }, grantRow, (k, p) =>
    k('object_grants as g')
      .join('org_members as m', (on) => on.on('m.org_id', 'g.org_id').on('m.user_id', 'g.subject_id'))
      .where('g.object_type', 'cluster')
      .where('g.subject_type', 'user')
      .where('g.subject_id', p.userId)
      .select('g.object_id', 'g.relation')
      .unionAll([
        k('object_grants as g')
          .join('team_members as t', (on) => on.on('t.team_id', 'g.subject_id').on('t.org_id', 'g.org_id'))
          .join('org_members as m', (on) => on.on('m.org_id', 't.org_id').on('m.user_id', 't.user_id'))
          .where('g.object_type', 'cluster')
          .where('g.subject_type', 'team')
          .where('t.user_id', p.userId)
          .select('g.object_id', 'g.relation'),
      ]),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, clusters, { omitted: ['id', 'version', 'clusterSetName'] }),
  change: db.prepare({ ...changeable, ...pick(clusters, 'id', 'version') }, (k, p) =>
    k('clusters')
      .where('id', p.id)
      .where('version', p.version)
      .update({ ...unlessNull(k, changeable, p), version: k.raw('?? + 1', ['version']) }),
  ),
  observeStatus: db.prepare({ ...status, id: clusters.id }, (k, p) =>
    k('clusters').where('id', p.id).update(assigned(status, p)),
  ),
  observeFacts: db.prepare({ ...facts, id: clusters.id }, (k, p) =>
    k('clusters').where('id', p.id).update(assigned(facts, p)),
  ),
  observeSet: db.prepare(pick(clusters, 'id', 'clusterSetName'), (k, p) =>
    k('clusters')
      .where('id', p.id)
      .update(assigned(pick(clusters, 'clusterSetName'), p)),
  ),
  removeGrants: db.prepare({ id: objectGrants.objectId }, (k, p) =>
    k('object_grants').where('object_type', 'cluster').where('object_id', p.id).del(),
  ),
  removeTokens: db.prepare({ id: present(accessTokens.onlyClusterId) }, (k, p) =>
    k('access_tokens').where('only_cluster_id', p.id).del(),
  ),
  remove: db.prepare(pick(clusters, 'id'), (k, p) => k('clusters').where('id', p.id).del()),
})

const clusterStatements = (db: SqlDatabase) => ({
  ...clusterReads(db),
  ...linkReads(db),
  ...countReads(db),
  ...accessReads(db),
  ...writes(db),
})
type ClusterStatements = ReturnType<typeof clusterStatements>

const unchanged = Object.fromEntries(Object.keys(changeable).map((field) => [field, undefined])) as Readonly<
  Record<keyof typeof changeable, undefined>
>

/** An undefined field leaves the column unchanged. */
const changeBinds = ({ sealed, ...change }: ClusterChange) => ({
  ...unchanged,
  ...change,
  ref: sealed?.ref,
  sealedCredential: sealed?.box,
})

const one = async (row: Promise<Row<typeof clusterRow> | undefined>): Promise<Cluster | undefined> => {
  const found = await row
  return found === undefined ? undefined : clusterOf(found)
}

const orderColumns: Readonly<Record<ClusterOrder, string>> = {
  name: 'c.name',
  displayName: 'c.display_name',
  created: 'c.created_at',
  nodes: 'c.node_count',
  phase: 'c.phase',
  provider: 'c.provider',
  version: 'c.kubernetes_version',
}

const selectedBy = (rows: Knex.QueryBuilder, { provider, phase, text: part }: ClusterSelection): void => {
  if (provider !== undefined) void rows.where('c.provider', provider)
  if (phase !== undefined) void rows.where('c.phase', phase)
  if (part === undefined) return
  const pattern = `%${literally(part.toLowerCase())}%`
  void rows.where((any) => {
    for (const column of ['name', 'display_name', 'uid', 'endpoint'])
      void any.orWhereRaw(`lower(c.${column}) like ? escape '!'`, [pattern])
  })
}

const inOrder =
  ({ order, isDescending }: ClusterSelection): Shown =>
  (k, rows, cut) =>
    cut(withHub(k, rows).orderBy([{ column: orderColumns[order], order: isDescending ? 'desc' : 'asc' }, 'c.name']))

type ClusterLists = Pick<ClusterStore, 'listOf' | 'listSelected' | 'listAll' | 'accountsOf' | 'listGranted'>

const clusterLists = (s: ClusterStatements, runner: SqlRunner): ClusterLists => ({
  listOf: async (ownerId) => (await runner.all(s.listOf, { ownerId })).map(clusterOf),
  listSelected: async (ownerId, selection, page) =>
    mapPage(
      await filteredRows(
        runner,
        clusterRow,
        (k) => k('clusters as c').where('c.owner_id', ownerId).modify(selectedBy, selection),
        inOrder(selection),
        page,
      ),
      clusterOf,
    ),
  async listAll(page) {
    return mapPage(await s.listAll(runner, {}, page), clusterOf)
  },
  async accountsOf(userId) {
    const rows = await runner.all(s.accountsOf, { userId })
    return rows.map(({ kind, ...account }) => ({ ...account, isOrganization: kind === 'organization' }))
  },
  async listGranted(userId, relations) {
    const grants = await runner.all(s.granted, { userId })
    const ids = new Set(grants.filter(({ relation }) => relations.includes(relation)).map(({ objectId }) => objectId))
    const found = await Promise.all([...ids].map((id) => one(runner.first(s.get, { id: id as ClusterId }))))
    return found.filter((cluster) => cluster !== undefined)
  },
})

type ClusterFinds = Pick<
  ClusterStore,
  'find' | 'findByUid' | 'findSpoke' | 'get' | 'link' | 'linkByUid' | 'sealed' | 'sealedAfter' | 'countByPhase'
>

const clusterFinds = (s: ClusterStatements, runner: SqlRunner): ClusterFinds => ({
  find: (ownerId, name) => one(runner.first(s.find, { ownerId, name })),
  findByUid: (ownerId, uid) => one(runner.first(s.findByUid, { ownerId, uid })),
  findSpoke: (ownerId, hubClusterUid, managedClusterName) =>
    one(runner.first(s.findSpoke, { ownerId, hubClusterUid, managedClusterName })),
  get: (id) => one(runner.first(s.get, { id })),
  async countByPhase() {
    const rows = await runner.all(s.byPhase, {})
    const none = Object.fromEntries(clusterPhases.map((phase) => [phase, 0]))
    return { ...none, ...Object.fromEntries(rows.map(({ phase, count }) => [phase, count])) }
  },
  async link(id) {
    const row = await runner.first(s.link, { id })
    return row === undefined ? undefined : linkOf(row)
  },
  async linkByUid(ownerId, uid) {
    const row = await runner.first(s.linkByUid, { ownerId, uid })
    return row === undefined ? undefined : linkOf(row)
  },
  async sealed(id, version) {
    const row = await runner.first(s.sealed, { id, version })
    return row === undefined ? undefined : { box: row.sealedCredential, ref: row.ref, ownerId: row.ownerId }
  },
  async sealedAfter(id, limit) {
    const rows = await runner.all(s.sealedAfter, { id, limit })
    return rows.map(({ sealedCredential: box, ...record }) => ({ ...record, box }))
  },
})

type ClusterWrites = Pick<ClusterStore, 'insert' | 'change' | 'observe' | 'observeSet' | 'remove'>

const clusterWrites = (s: ClusterStatements, runner: SqlRunner): ClusterWrites => ({
  async insert(cluster) {
    try {
      const { insertId } = await runner.run(s.insert, newColumns(cluster))
      const inserted = await one(runner.first(s.get, { id: insertId as ClusterId }))
      if (inserted === undefined) throw new Error('the cluster that was just inserted is gone')
      return right(inserted)
    } catch (error) {
      if (!isUniqueViolation(error, 'name')) throw error
      return left(ClusterNameTaken(`The cluster name ${cluster.name} is already in use.`))
    }
  },
  async change(id, version, change) {
    const { affected } = await runner.run(s.change, { ...changeBinds(change), id, version })
    const changed = affected === 0 ? undefined : await one(runner.first(s.get, { id }))
    return changed === undefined
      ? left(ClusterChanged('The cluster was changed by another request. Read it again.'))
      : right(changed)
  },
  async observe(id, observed, found, checkedAt) {
    await runner.run(s.observeStatus, { id, ...statusColumns(observed), checkedAt })
    if (found === undefined) return
    const { kubernetesVersion, nodeCount, managers } = found
    const version = cutTo(clusters.kubernetesVersion, kubernetesVersion)
    await runner.run(s.observeFacts, { id, kubernetesVersion: version, nodeCount, managers })
  },
  async observeSet(id, clusterSetName) {
    await runner.run(s.observeSet, { id, clusterSetName })
  },
  async remove(id) {
    await runner.run(s.removeGrants, { id })
    await runner.run(s.removeTokens, { id })
    return (await runner.run(s.remove, { id })).affected > 0
  },
})

/** ClusterStore over the table `clusters`. Statements are composed once, then bound to a runner. */
export const makeSqlClusterStore = (db: SqlDatabase): ((runner: SqlRunner) => ClusterStore) => {
  const s = clusterStatements(db)
  return (runner) => ({ ...clusterLists(s, runner), ...clusterFinds(s, runner), ...clusterWrites(s, runner) })
}
