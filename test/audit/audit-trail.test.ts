import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { makeSqlAuditLog } from '../../adapters/sql/audit/audit-log.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { makeRetireEvents } from '../../core/audit/audit-chain.ts'
import { makeAuditDenials } from '../../core/audit/denials.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { Call } from '../../core/kernel/principal.ts'
import type { AuditEntry } from '../../core/kernel/unit-of-work.ts'
import { callBy, principal } from '../authz/callers.ts'
import { casesOf } from '../support/cases-of.ts'
import { eachDatabase } from '../support/databases.ts'
import type { AuditFixture } from './audit.fixture.ts'
import { makeAuditFixture, auditKey, entry, otherTenant, someCall, tenant } from './audit.fixture.ts'

const firstPage = { page: 1, limit: 30 }
const Refused = defineFailure('Refused', 'Conflict', 'A failure of this test.')

for (const database of eachDatabase()) {
  const onBench = casesOf(database.name, async () => makeAuditFixture(await database.open()))

  onBench('a row tells who, on whose behalf, how, from where, what, and when by the database', async (t, fixture) => {
    const before = await fixture.db.now()
    await fixture.record(entry())
    const after = await fixture.db.now()
    const { items, total } = await fixture.log.list({ tenantId: tenant }, firstPage)
    t.is(total, 1)
    t.like(items[0], {
      tenantId: tenant,
      actorId: 5,
      actorName: 'ada',
      impersonatorId: 1,
      impersonatorName: 'admin',
      method: 'token',
      tokenId: 1,
      sourceIp: '192.0.2.1',
      requestId: 'request-1',
      operation: 'authz.createRole',
      action: 'role.created',
      result: 'done',
      objectType: 'role',
      objectId: 3,
      objectName: 'Viewers',
      changes: '{"permissions":["cluster_mgmt/view clusters"],"count":1}',
    })
    const at = items[0]?.at.getTime() ?? 0
    t.true(before <= at && at <= after)
  })

  onBench('a refusal, a throw and a caller without a name leave what they should', async (t, fixture) => {
    await fixture.unitOfWork.run(someCall, async ({ audit }) => {
      await audit.record(entry())
      return left(Refused('no'))
    })
    await t.throwsAsync(
      fixture.unitOfWork.run(someCall, async ({ audit }) => {
        await audit.record(entry())
        throw new Error('broken')
      }),
    )
    t.is((await fixture.log.list({}, firstPage)).total, 0)
    await fixture.write({ ...someCall, principal: undefined }, { action: 'a.b', objectType: 'x' })
    t.like((await fixture.log.list({}, firstPage)).items[0], {
      tenantId: 0,
      actorId: undefined,
      method: 'none',
      objectId: undefined,
      changes: '{}',
    })
  })

  onBench('each tenant has its own chain, and both are whole', async (t, fixture) => {
    await fixture.record(
      entry(),
      entry({ tenantId: otherTenant }),
      entry({ objectName: 'ünïcode 𝕏' }),
      entry({ tenantId: otherTenant }),
      entry(),
    )
    t.deepEqual(await fixture.verdicts(), {
      [tenant]: { state: 'whole', rows: 3 },
      [otherTenant]: { state: 'whole', rows: 2 },
    })
  })

  for (const [title, spoil, verdict] of [
    ['a changed column', (id: number) => ({ where: { id }, change: { object_name: 'Editors' } }), 'altered'],
    ['a changed time', (id: number) => ({ where: { id }, change: { at: 1 } }), 'altered'],
    ['a result that no row has', (id: number) => ({ where: { id }, change: { result: 'undone' } }), 'altered'],
    [
      'a row moved to another tenant',
      (id: number) => ({ where: { id }, change: { tenant_id: otherTenant } }),
      'altered',
    ],
  ] as const) {
    onBench(`${title} breaks the chain there`, async (t, fixture) => {
      await fixture.record(entry(), entry(), entry())
      const { items } = await fixture.log.list({}, firstPage)
      const { where, change } = spoil(items[1]?.id ?? 0)
      await fixture.db.query((k) => k('audit_events').where(where).update(change))
      t.is((await fixture.verdicts())[tenant]?.state, verdict)
    })
  }

  onBench('a row taken from the middle breaks the chain, one from the end cuts it', async (t, fixture) => {
    await fixture.record(entry(), entry(), entry(), entry({ tenantId: otherTenant }), entry({ tenantId: otherTenant }))
    const ids = (await fixture.log.list({}, firstPage)).items.map(({ id }) => id).reverse()
    await fixture.db.query((k) =>
      k('audit_events')
        .whereIn('id', [ids[1] ?? 0, ids[4] ?? 0])
        .delete(),
    )
    t.deepEqual(await fixture.verdicts(), {
      [tenant]: { state: 'altered', rows: 2, brokenAt: ids[2] ?? 0 },
      [otherTenant]: { state: 'cut', rows: 1 },
    })
  })

  onBench('a chain whose end is not recorded any more is found, whatever its rows say', async (t, fixture) => {
    await fixture.record(entry(), entry(), entry({ tenantId: otherTenant }))
    await fixture.db.query((k) => k('audit_heads').where('tenant_id', tenant).delete())
    t.deepEqual(await fixture.verdicts(), {
      [tenant]: { state: 'headless', rows: 0 },
      [otherTenant]: { state: 'whole', rows: 1 },
    })
  })

  onBench('a forged row without the key is found', async (t, fixture) => {
    await fixture.record(entry())
    const [row] = await fixture.db.query<Record<string, unknown>>((k) => k('audit_events').select('*'))
    const forged = {
      ...row,
      id: Number(row?.['id']) + 1,
      previous_hash: row?.['hash'],
      hash: new Uint8Array(32).fill(1),
    }
    // The database computes it.
    delete (forged as Record<string, unknown>)['actor_key']
    await fixture.db.query((k) => k('audit_events').insert(forged))
    await fixture.db.query((k) => k('audit_heads').update({ hash: forged.hash }))
    t.like((await fixture.verdicts())[tenant], { state: 'altered', rows: 2 })
  })

  onBench('concurrent changes of one tenant, its first ones included, make one whole chain', async (t, fixture) => {
    const record = () =>
      fixture.unitOfWork.run(someCall, async ({ audit }) => {
        await audit.record(entry())
        return right(undefined)
      })
    await Promise.all(Array.from({ length: 12 }, record))
    t.deepEqual(await fixture.verdicts(), { [tenant]: { state: 'whole', rows: 12 } })
  })

  onBench('changes that record for two tenants in opposite orders all come through', async (t, fixture) => {
    const both = (first: AccountId, second: AccountId) =>
      fixture.unitOfWork.run(someCall, async ({ audit }) => {
        await audit.record(entry({ tenantId: first }))
        await audit.record(entry({ tenantId: second }))
        return right(undefined)
      })
    await fixture.record(entry(), entry({ tenantId: otherTenant }))
    await Promise.all(Array.from({ length: 20 }, () => [both(tenant, otherTenant), both(otherTenant, tenant)]).flat())
    t.deepEqual(await fixture.verdicts(), {
      [tenant]: { state: 'whole', rows: 41 },
      [otherTenant]: { state: 'whole', rows: 41 },
    })
  })

  onBench('rows of one change keep their order', async (t, fixture) => {
    await fixture.unitOfWork.run(someCall, async ({ audit }) => {
      for (const objectId of [1, 2, 3]) await audit.record(entry({ objectId }))
      return right(undefined)
    })
    const { items } = await fixture.log.list({}, firstPage)
    t.deepEqual(
      items.map(({ objectId }) => objectId),
      [3, 2, 1],
    )
    t.deepEqual(await fixture.verdicts(), { [tenant]: { state: 'whole', rows: 3 } })
  })

  onBench(
    'the log filters by action, actor in any case, and time; a tenant sees its own rows only',
    async (t, fixture) => {
      await fixture.record(entry(), entry({ action: 'role.deleted' }), entry({ tenantId: otherTenant }))
      const total = async (filter: Parameters<AuditFixture['log']['list']>[0]) =>
        (await fixture.log.list(filter, firstPage)).total
      t.is(await total({}), 3)
      t.is(await total({ tenantId: tenant }), 2)
      t.is(await total({ tenantId: otherTenant }), 1)
      t.is(await total({ tenantId: otherTenant, action: 'role.deleted' }), 0)
      t.is(await total({ tenantId: tenant, action: 'role.deleted' }), 1)
      t.is(await total({ actor: 'ADA' }), 3)
      t.is(await total({ actor: 'ad' }), 0)
      t.is(await total({ since: new Date(Date.now() + 3_600_000) }), 0)
      t.is(await total({ since: new Date(Date.now() - 3_600_000) }), 3)
    },
  )

  onBench('the log comes newest first, in pages', async (t, fixture) => {
    await fixture.record(entry({ objectId: 1 }), entry({ objectId: 2 }), entry({ objectId: 3 }))
    const second = await fixture.log.list({ tenantId: tenant }, { page: 2, limit: 2 })
    t.deepEqual([second.items.map(({ objectId }) => objectId), second.total], [[1], 3])
  })

  onBench('a denial is a row of its own with the result denied', async (t, fixture) => {
    await fixture.denials.write(someCall, {
      action: 'access.denied',
      objectType: 'role',
      changes: { code: 'AccessDenied' },
    })
    t.like((await fixture.log.list({}, firstPage)).items[0], { result: 'denied', action: 'access.denied', tenantId: 0 })
    t.deepEqual(await fixture.verdicts(), { 0: { state: 'whole', rows: 1 } })
  })
}

const day = 24 * 3600 * 1000
const auditRetentionFirstPage = { page: 1, limit: 50 }

/** Retires as the job does, `days` after the rows were written. */
const retireAfter = async (fixture: AuditFixture, days: number, retentionDays: number): Promise<readonly string[]> => {
  const lines: string[] = []
  const note = (_fields: object, message: string) => void lines.push(message)
  const clock = { now: () => new Date(Date.now() + days * day) }
  const retire = makeRetireEvents({
    retention: fixture.retention,
    settings: { retentionDays },
    key: auditKey,
    clock,
    log: { debug: note, info: note, warn: note, error: note },
  })
  await retire(new AbortController().signal)
  return lines
}

for (const database of eachDatabase()) {
  const onBench = casesOf(database.name, async () => makeAuditFixture(await database.open()))

  onBench('rows that are old enough go, of every account, and what follows still verifies', async (t, fixture) => {
    await fixture.record(entry(), entry({ tenantId: otherTenant }), entry())
    t.is((await retireAfter(fixture, 31, 30)).length, 1)
    t.is((await fixture.log.list({}, auditRetentionFirstPage)).total, 0)
    await fixture.record(entry({ objectName: 'later' }), entry({ tenantId: otherTenant }))
    t.deepEqual(await fixture.verdicts(), {
      [tenant]: { state: 'whole', rows: 1 },
      [otherTenant]: { state: 'whole', rows: 1 },
    })
  })

  onBench('younger rows stay, and with 0 days all of them', async (t, fixture) => {
    await fixture.record(entry(), entry())
    await retireAfter(fixture, 29, 30)
    await retireAfter(fixture, 10_000, 0)
    t.is((await fixture.log.list({ tenantId: tenant }, auditRetentionFirstPage)).total, 2)
    t.deepEqual(await fixture.verdicts(), { [tenant]: { state: 'whole', rows: 2 } })
  })

  onBench('more rows than one piece are retired in one run', async (t, fixture) => {
    await fixture.record(...Array.from({ length: 3 }, () => entry()))
    const cutoff = new Date(Date.now() + day)
    const seal = () => new Uint8Array(32)
    t.deepEqual(await fixture.retention.removeOldest(cutoff, 2, seal), { removed: 2, isDone: false })
    t.deepEqual(await fixture.retention.removeOldest(cutoff, 2, seal), { removed: 1, isDone: false })
    t.deepEqual(await fixture.retention.removeOldest(cutoff, 2, seal), { removed: 0, isDone: true })
  })

  onBench('someone without the audit key cannot cut a chain and pretend that it was retired', async (t, fixture) => {
    await fixture.record(entry(), entry(), entry())
    const [first] = await fixture.db.query<{ id: number; hash: Uint8Array }>((k) =>
      k('audit_events').orderBy('id').select('id', 'hash').limit(1),
    )
    await fixture.db.query((k) =>
      k('audit_events')
        .where('id', first?.id ?? 0)
        .delete(),
    )
    t.is((await fixture.verdicts())[tenant]?.state, 'altered')
    await fixture.db.query((k) =>
      k('audit_heads')
        .where('tenant_id', tenant)
        .update({ base_hash: first?.hash, base_seal: new Uint8Array(32) }),
    )
    t.is((await fixture.verdicts())[tenant]?.state, 'base-forged')
  })

  onBench('a copy of the log continues after the last row that it contains', async (t, fixture) => {
    await fixture.record(
      entry({ objectName: 'one' }),
      entry({ tenantId: otherTenant, objectName: 'foreign' }),
      entry({ objectName: 'two' }),
      entry({ objectName: 'three' }),
    )
    const first = await fixture.log.listAfter({ tenantId: tenant }, 0, 2)
    t.deepEqual(
      first.map((event) => event.objectName),
      ['one', 'two'],
    )
    const rest = await fixture.log.listAfter({ tenantId: tenant }, first.at(-1)?.id ?? 0, 2)
    t.deepEqual(
      rest.map((event) => event.objectName),
      ['three'],
    )
    t.deepEqual(await fixture.log.listAfter({ tenantId: tenant }, rest.at(-1)?.id ?? 0, 2), [])
  })

  onBench('pages by key and exports return the rows of a plain filter, for each filter', async (t, fixture) => {
    const names = ['ada', 'Ada', 'bob']
    const day = Date.UTC(2026, 4, 1)
    for (let at = 0; at < 40; at += 1) {
      const call = callBy(principal(5 + (at % 3), { login: names[at % 3] ?? '' }), 'authz.createRole')
      const action = at % 4 === 0 ? 'role.deleted' : 'role.created'
      await fixture.write(call, entry({ action, tenantId: at % 5 === 0 ? otherTenant : tenant }))
    }
    const all = await fixture.log.listAfter({}, 0, 100)
    t.is(all.length, 40)
    for (const [at, { id }] of all.entries())
      await fixture.db.query((k) =>
        k('audit_events')
          .where('id', id)
          .update({ at: day + at * 3_600_000 }),
      )
    const log = makeSqlAuditLog(fixture.db, 7)
    const rows = await fixture.log.listAfter({}, 0, 100)
    const tenants = [undefined, tenant, otherTenant, 99 as AccountId]
    const actions = [undefined, 'role.deleted', 'role.renamed']
    const sinces = [undefined, new Date(day + 20 * 3_600_000), new Date('2099-01-01T00:00:00Z')]
    for (const tenantId of tenants)
      for (const action of actions)
        for (const actor of [undefined, 'ADA', 'nobody'])
          for (const since of sinces) {
            const filter = definedFields({ tenantId, action, actor, since })
            const wanted = rows
              .filter((row) => tenantId === undefined || row.tenantId === tenantId)
              .filter((row) => action === undefined || row.action === action)
              .filter((row) => actor === undefined || row.actorName.toLowerCase() === actor.toLowerCase())
              .filter((row) => since === undefined || row.at >= since)
              .map(({ id }) => id)
            const paged: number[] = []
            for (let before: number | undefined, pages = 0; pages < 40; pages += 1) {
              const found = await log.list(filter, { page: 1, limit: 4, ...definedFields({ before }) })
              paged.push(...found.items.map(({ id }) => id))
              before = found.nextBefore
              if (before === undefined) break
            }
            t.deepEqual(paged, wanted.toReversed(), JSON.stringify(filter))
            const exported: number[] = []
            for (let after = 0, pages = 0; pages < 40; pages += 1) {
              const found = await log.listAfter(filter, after, 4)
              exported.push(...found.map(({ id }) => id))
              after = exported.at(-1) ?? 0
              if (found.length === 0) break
            }
            t.deepEqual(exported, wanted, JSON.stringify(filter))
          }
  })

  // SQLite has one writer at a time: its numbers are in the order of the commits.
  if (database.name === 'sqlite') continue

  onBench(
    'a copy of the whole log waits for a row that is not committed yet, as long as it may still come',
    async (t, fixture) => {
      const names = async (after: number) =>
        (await fixture.log.listAfter({}, after, 9)).map(({ objectName }) => objectName)
      await fixture.record(
        entry({ objectName: 'one' }),
        entry({ objectName: 'two' }),
        entry({ tenantId: otherTenant, objectName: 'three' }),
      )
      t.deepEqual(await names(0), ['one', 'two', 'three'])
      const [one, two, three] = await fixture.log.listAfter({}, 0, 3)
      const taken = async (id: number | undefined): Promise<Record<string, unknown> | undefined> => {
        const [row] = await fixture.db.query<Record<string, unknown>>((k) =>
          k('audit_events').where('id', id).select('*'),
        )
        await fixture.db.query((k) => k('audit_events').where('id', id).delete())
        // The database computes it.
        delete row?.['actor_key']
        return row
      }
      const put = (row: Record<string, unknown> | undefined) => fixture.db.query((k) => k('audit_events').insert(row))
      // What another transaction has written and not committed is a number without a row.
      const second = await taken(two?.id)
      t.deepEqual(await names(0), ['one'])
      t.deepEqual(await names(one?.id ?? 0), [])
      t.is((await fixture.log.listAfter({ tenantId: otherTenant }, 0, 9)).length, 1)
      await put(second)
      t.deepEqual(await names(one?.id ?? 0), ['two', 'three'])

      // Of two missing rows, the later one is committed while the log is read.
      await fixture.record(entry({ objectName: 'four' }))
      const [secondAgain, third] = [await taken(two?.id), await taken(three?.id)]
      const whileRead: SqlDatabase = {
        ...fixture.db,
        query: async (build) => (await put(third), fixture.db.query(build)),
      }
      t.deepEqual(await makeSqlAuditLog(whileRead).listAfter({}, one?.id ?? 0, 9), [])
      await put(secondAgain)
      t.deepEqual(await names(one?.id ?? 0), ['two', 'three', 'four'])

      await taken(two?.id)
      await fixture.db.query((k) => k('audit_events').update({ at: k.raw('at - 120000') }))
      t.deepEqual(await names(one?.id ?? 0), ['three', 'four'])
    },
  )
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

const fixture = () => {
  const rows: AuditEntry[] = []
  let seconds = 0
  const denials = makeAuditDenials({
    writer: { write: (_call, entry) => Promise.resolve(void rows.push(entry)) },
    clock: { now: () => new Date(seconds * 1000) },
    log: silent,
  })
  return {
    rows,
    denials,
    wait: (more: number) => (seconds += more),
    total: () => rows.reduce((sum, row) => sum + Number(row.changes?.['repeats'] ?? 1), 0),
  }
}

const caller = callBy(principal(5), 'authz.deleteRole')
const denial = { code: 'AccessDenied', objectType: 'role', objectName: 'Viewers' }

test('the first refusal is written at once, equal ones within a minute are counted', async (t) => {
  const { rows, denials, wait } = fixture()
  for (let times = 0; times < 5; times += 1) await denials.recordDenial(caller, denial)
  t.deepEqual(rows, [
    { action: 'access.denied', objectType: 'role', objectName: 'Viewers', changes: { code: 'AccessDenied' } },
  ])
  wait(60)
  await denials.recordDenial(caller, denial)
  t.deepEqual(
    rows.map(({ changes }) => changes?.['repeats']),
    [undefined, 4, undefined],
  )
})

test('another caller, operation, code or object is another refusal', async (t) => {
  const { rows, denials } = fixture()
  await denials.recordDenial(caller, denial)
  await denials.recordDenial(callBy(principal(6), 'authz.deleteRole'), denial)
  await denials.recordDenial({ ...caller, operation: 'authz.getRole' }, denial)
  await denials.recordDenial(caller, { ...denial, code: 'NotAuthenticated' })
  await denials.recordDenial(caller, { ...denial, objectName: 'Editors' })
  await denials.recordDenial({ ...caller, principal: undefined } as unknown as Call, denial)
  t.is(rows.length, 6)
})

test('counted requests are written at shutdown', async (t) => {
  const { rows, denials } = fixture()
  await denials.recordDenial(caller, denial)
  await denials.recordDenial(caller, denial)
  await denials.flush()
  await denials.flush()
  t.deepEqual(
    rows.map(({ changes }) => changes?.['repeats']),
    [undefined, 1],
  )
})

test('one caller writes at most 21 audit rows a minute, and none is lost', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 }), async (callers, objects) => {
      const { rows, denials } = fixture()
      for (let user = 1; user <= callers; user += 1) {
        for (let object = 1; object <= objects; object += 1) {
          await denials.recordDenial(callBy(principal(user)), { ...denial, objectName: `object ${object}` })
        }
      }
      t.true(rows.length <= Math.min(1_001, callers * 21))
      const firsts = rows.length
      await denials.flush()
      const repeats = rows.slice(firsts).reduce((sum, row) => sum + Number(row.changes?.['repeats']), 0)
      t.is(firsts + repeats, callers * objects)
    }),
    { numRuns: 40 },
  )
})

test('a refusal whose audit row fails is logged and not disclosed to the caller', async (t) => {
  const logged: string[] = []
  const denials = makeAuditDenials({
    writer: { write: () => Promise.reject(new Error('the disk is full')) },
    clock: { now: () => new Date(0) },
    log: { ...silent, error: (_fields, message) => void logged.push(message) },
  })
  await t.notThrowsAsync(denials.recordDenial(caller, denial))
  t.is(logged.length, 1)
})
