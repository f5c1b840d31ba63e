import { makeRetireEvents } from '../../core/audit/audit-chain.ts'
import { casesOf } from '../support/cases-of.ts'
import { eachDatabase } from '../support/databases.ts'
import type { AuditBench } from './audit-bench.ts'
import { auditBench, auditKey, entry, otherTenant, tenant } from './audit-bench.ts'

const day = 24 * 3600 * 1000
const firstPage = { page: 1, limit: 50 }

/** Retires as the job does, `days` after the rows were written. */
const retireAfter = async (bench: AuditBench, days: number, retentionDays: number): Promise<readonly string[]> => {
  const lines: string[] = []
  const note = (_fields: object, message: string) => void lines.push(message)
  const clock = { now: () => new Date(Date.now() + days * day) }
  const retire = makeRetireEvents({
    retention: bench.retention,
    settings: { retentionDays },
    key: auditKey,
    clock,
    log: { debug: note, info: note, warn: note, error: note },
  })
  await retire(new AbortController().signal)
  return lines
}

for (const database of eachDatabase()) {
  const onBench = casesOf(database.name, async () => auditBench(await database.open()))

  onBench('rows that are old enough go, of every account, and what follows still verifies', async (t, bench) => {
    await bench.record(entry(), entry({ tenantId: otherTenant }), entry())
    t.is((await retireAfter(bench, 31, 30)).length, 1)
    t.is((await bench.log.list({}, firstPage)).total, 0)
    await bench.record(entry({ objectName: 'later' }), entry({ tenantId: otherTenant }))
    t.deepEqual(await bench.verdicts(), { [tenant]: { state: 'whole', rows: 1 }, [otherTenant]: { state: 'whole', rows: 1 } })
  })

  onBench('younger rows stay, and with 0 days all of them', async (t, bench) => {
    await bench.record(entry(), entry())
    await retireAfter(bench, 29, 30)
    await retireAfter(bench, 10_000, 0)
    t.is((await bench.log.list({ tenantId: tenant }, firstPage)).total, 2)
    t.deepEqual(await bench.verdicts(), { [tenant]: { state: 'whole', rows: 2 } })
  })

  onBench('more rows than one piece are retired in one run', async (t, bench) => {
    await bench.record(...Array.from({ length: 3 }, () => entry()))
    const cutoff = new Date(Date.now() + day)
    const seal = () => new Uint8Array(32)
    t.deepEqual(await bench.retention.removeOldest(cutoff, 2, seal), { removed: 2, isDone: false })
    t.deepEqual(await bench.retention.removeOldest(cutoff, 2, seal), { removed: 1, isDone: false })
    t.deepEqual(await bench.retention.removeOldest(cutoff, 2, seal), { removed: 0, isDone: true })
  })

  onBench('someone without the audit key cannot cut a chain and pretend that it was retired', async (t, bench) => {
    await bench.record(entry(), entry(), entry())
    const [first] = await bench.db.query<{ id: number; hash: Uint8Array }>((k) => k('audit_events').orderBy('id').select('id', 'hash').limit(1))
    await bench.db.query((k) => k('audit_events').where('id', first?.id ?? 0).delete())
    t.is((await bench.verdicts())[tenant]?.state, 'altered')
    await bench.db.query((k) => k('audit_heads').where('tenant_id', tenant).update({ base_hash: first?.hash, base_seal: new Uint8Array(32) }))
    t.is((await bench.verdicts())[tenant]?.state, 'base-forged')
  })

  onBench('a copy of the log continues after the last row that it contains', async (t, bench) => {
    await bench.record(entry({ objectName: 'one' }), entry({ tenantId: otherTenant, objectName: 'foreign' }), entry({ objectName: 'two' }), entry({ objectName: 'three' }))
    const first = await bench.log.listAfter({ tenantId: tenant }, 0, 2)
    t.deepEqual(first.map((event) => event.objectName), ['one', 'two'])
    const rest = await bench.log.listAfter({ tenantId: tenant }, first.at(-1)?.id ?? 0, 2)
    t.deepEqual(rest.map((event) => event.objectName), ['three'])
    t.deepEqual(await bench.log.listAfter({ tenantId: tenant }, rest.at(-1)?.id ?? 0, 2), [])
  })
}
