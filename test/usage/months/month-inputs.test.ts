import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlUsageClusterStore } from '../../../adapters/sql/usage/cluster-store.ts'
import { makeSqlUsageInputs } from '../../../adapters/sql/usage/usage-inputs.ts'
import { readWindow } from '../../../core/usage/months/cluster-time.ts'
import type { ReportedObject, UsageInputs } from '../../../core/usage/months/ports.ts'
import type { UsageClusterId } from '../../../core/usage/types.ts'
import { casesOf } from '../../support/cases-of.ts'
import { eachDatabase } from '../../support/databases.ts'
import { fillMonth, makeMonthsFixture, month, owner } from '../months-fixture.ts'

/** A database some of whose methods are others. */
const changed = (db: SqlDatabase, methods: Partial<SqlDatabase>): SqlDatabase =>
  Object.assign(Object.create(db) as SqlDatabase, methods)

const objectsOf = async (inputs: UsageInputs, cluster: UsageClusterId): Promise<readonly ReportedObject[]> => {
  const objects: ReportedObject[] = []
  for await (const page of inputs.objectsOf(cluster, readWindow(month))) objects.push(...page)
  return objects
}

for (const database of eachDatabase()) {
  const onMonth = casesOf(`${database.name}: inputs of a month`, async () => {
    const db = await database.open()
    const fixture = await makeMonthsFixture(db)
    return { db, cluster: (await fillMonth(fixture)).a.id as UsageClusterId, close: () => db.close() }
  })

  onMonth('the kinds of other clusters are not read', async (t, { db, cluster }) => {
    await db.query((k) =>
      k('usage_kinds').insert(['A', 'B', 'C'].map((kind) => ({ product: 'dbProduct', api_group: 'of.others', kind }))),
    )
    const groups: unknown[] = []
    const all: SqlDatabase['all'] = async (statement, binds) => {
      const rows = await db.all(statement, binds)
      for (const { group } of rows as readonly { readonly group?: string }[])
        if (group !== undefined) groups.push(group)
      return rows
    }
    const objects = await objectsOf(makeSqlUsageInputs(changed(db, { all })), cluster)
    t.true(objects.length > 1)
    t.deepEqual(groups, [objects[0]?.object.group])
  })

  onMonth('a cluster keeps its last name after its binding and its record are gone', async (t, { db, cluster }) => {
    const nameOf = async () =>
      (await makeSqlUsageInputs(db).factsOf(owner, readWindow(month))).clusters.find(({ id }) => id === cluster)
        ?.displayName
    const bound = await nameOf()
    const clusters = makeSqlUsageClusterStore(db)(db)
    await clusters.keepNames()
    const [{ cluster_uid: uid }] = (await db.query<{ readonly cluster_uid: string }>((k) =>
      k('usage_clusters').where('id', cluster).select('cluster_uid'),
    )) as [{ cluster_uid: string }]
    t.is(bound, `cluster ${uid}`)
    await db.query((k) => k('contract_clusters').delete())
    t.is(await nameOf(), bound)
    await db.query((k) =>
      k('clusters').insert({
        owner_id: owner,
        name: 'prod',
        display_name: 'Production',
        uid,
        provider: 'generic',
        endpoint: 'https://192.0.2.1',
        phase: 'Active',
        ref: 'r',
        created_at: 0,
      }),
    )
    await clusters.keepNames()
    await db.query((k) => k('clusters').delete())
    t.is(await nameOf(), 'Production')
  })

  onMonth('a database that was away once is asked again, whichever statement failed', async (t, { db, cluster }) => {
    const objects = await objectsOf(makeSqlUsageInputs(db), cluster)
    for (const failing of [1, 2]) {
      let asked = 0
      const first: SqlDatabase['first'] = async (statement, binds) => {
        if ((asked += 1) === failing) throw new Error('away')
        return db.first(statement, binds)
      }
      const inputs = makeSqlUsageInputs(changed(db, { first }))
      // The second one reads how long texts may be, which SQLite does not limit.
      if (failing === 1 || db.dialect === 'mysql') await t.throwsAsync(objectsOf(inputs, cluster), { message: 'away' })
      t.deepEqual(await objectsOf(inputs, cluster), objects)
    }
  })
}
