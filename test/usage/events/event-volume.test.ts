import test from 'ava'
import type { SqlRunner } from '../../../adapters/sql/kit/statement.ts'
import { makeSqlClusterFactStore } from '../../../adapters/sql/usage/cluster-store.ts'
import { makeSqlUsageChangeStore } from '../../../adapters/sql/usage/object-store.ts'
import { planEvents } from '../../../core/usage/events/plan.ts'
import type { ObjectChange, ObjectIdentity, UsageEvent } from '../../../core/usage/events/types.ts'
import type { UnixSeconds, UsageClusterId, UsageObjectId } from '../../../core/usage/types.ts'
import { casesOf } from '../../support/cases-of.ts'
import { eachDatabase } from '../../support/databases.ts'

const at = 1_795_000_000 as UnixSeconds
const object: ObjectIdentity = {
  uid: '8e1f0c52-9d7a-4b0e-a1f4-0c5de3a2b911',
  product: 'dbProduct',
  group: 'databases.example.com',
  kind: 'Postgres',
  namespace: 'shop',
  namespaceUid: '5d0e4d9a-7c40-4c55-9d3e-0b1f6a2b9c01',
  name: 'orders',
  createdAt: at,
}
const changeOf = (generation: number): ObjectChange => ({
  type: 'object.resized',
  generation,
  at,
  milliCpu: 1000,
  memoryMib: 1024,
  replicas: 1,
  details: '',
  isTrial: false,
})

test('a report reads each change of its object once', (t) => {
  const [known, events] = [5000, 1000]
  let looks = 0
  const counted = <A extends object>(value: A, key: keyof A): A => {
    const content = value[key]
    return Object.defineProperty({ ...value }, key, { enumerable: true, get: () => ((looks += 1), content) })
  }
  const numbers = Array.from({ length: known }, (_, n) => n)
  const changes = numbers.map((n) => counted(changeOf(n), 'generation'))
  const modes = numbers.map((n) => counted({ id: `mode-${n}`, at, mode: 'prod' as const }, 'id'))
  const reported = Array.from({ length: events }, (_, n): readonly UsageEvent[] => [
    { kind: 'change', id: `change-${n}`, at, object, change: changeOf(known + n) },
    { kind: 'mode', id: `mode-${known + n}`, at, mode: 'non-prod' },
  ]).flat()
  const plan = planEvents(reported, {
    objects: new Map([[object.uid, { identity: object, lastHeardDay: 0, sendsHeartbeats: false, changes }]]),
    modes,
    namespaces: new Map(),
  })
  t.deepEqual(new Set(plan.verdicts), new Set(['accepted']))
  t.is(plan.objects.get(object.uid)?.changes.length, known + events)
  t.is(plan.modes.length, events)
  t.true(looks <= 4 * known, `${looks}`)
})

for (const database of eachDatabase()) {
  const onVolume = casesOf(`${database.name}: many changes`, async () => {
    const db = await database.open()
    return { db, close: () => db.close() }
  })

  onVolume('of the changes of mode at one second, only those that are reported again are read', async (t, { db }) => {
    const facts = makeSqlClusterFactStore(db)(db)
    const [cluster, other] = [1 as UsageClusterId, 2 as UsageClusterId]
    const modes = ['a', 'A', 'a ', 'b'].map((id) => ({ id, at, mode: 'prod' as const }))
    for (const id of [cluster, other]) await facts.insertModes(id, modes)
    t.deepEqual(
      await facts.findModes(cluster, [
        { id: 'a', at },
        { id: 'c', at },
        { id: 'b', at: (at + 1) as UnixSeconds },
      ]),
      [{ id: 'a', at, mode: 'prod' }],
    )
  })

  onVolume('objects may have more changes in all than a call can have arguments', async (t, { db }) => {
    const row = {
      object_id: 1,
      generation: 1,
      type: 'object.resized',
      at,
      milli_cpu: 1,
      memory_mib: 1,
      replicas: 1,
      details: '',
      is_trial: 0,
    }
    const rows = new Array(400_000).fill(row)
    const runner: SqlRunner = {
      dialect: db.dialect,
      all: async () => rows,
      first: db.first,
      run: db.run,
      query: db.query,
    }
    t.is((await makeSqlUsageChangeStore(db)(runner).listOf([1 as UsageObjectId])).length, rows.length)
  })
}
