import test from 'ava'
import fc from 'fast-check'
import type { AuditEntry } from '../../core/kernel/unit-of-work.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { makeAuditDenials } from '../../core/audit/denials.ts'
import { callBy, principal } from '../authz/callers.ts'

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

const bench = () => {
  const rows: AuditEntry[] = []
  let seconds = 0
  const denials = makeAuditDenials({
    writer: { write: (_call, entry) => Promise.resolve(void rows.push(entry)) },
    clock: { now: () => new Date(seconds * 1000) },
    log: silent,
  })
  return { rows, denials, wait: (more: number) => (seconds += more), total: () => rows.reduce((sum, row) => sum + Number(row.changes?.['repeats'] ?? 1), 0) }
}

const caller = callBy(principal(5), 'authz.deleteRole')
const denial = { code: 'AccessDenied', objectType: 'role', objectName: 'Viewers' }

test('the first refusal is written at once, equal ones within a minute are counted', async (t) => {
  const { rows, denials, wait } = bench()
  for (let times = 0; times < 5; times += 1) await denials.recordDenial(caller, denial)
  t.deepEqual(rows, [{ action: 'access.denied', objectType: 'role', objectName: 'Viewers', changes: { code: 'AccessDenied' } }])
  wait(60)
  await denials.recordDenial(caller, denial)
  t.deepEqual(rows.map(({ changes }) => changes?.['repeats']), [undefined, 4, undefined])
})

test('another caller, operation, code or object is another refusal', async (t) => {
  const { rows, denials } = bench()
  await denials.recordDenial(caller, denial)
  await denials.recordDenial(callBy(principal(6), 'authz.deleteRole'), denial)
  await denials.recordDenial({ ...caller, operation: 'authz.getRole' }, denial)
  await denials.recordDenial(caller, { ...denial, code: 'NotAuthenticated' })
  await denials.recordDenial(caller, { ...denial, objectName: 'Editors' })
  await denials.recordDenial({ ...caller, principal: undefined } as unknown as Call, denial)
  t.is(rows.length, 6)
})

test('what is only counted is written at the stop', async (t) => {
  const { rows, denials } = bench()
  await denials.recordDenial(caller, denial)
  await denials.recordDenial(caller, denial)
  await denials.flush()
  await denials.flush()
  t.deepEqual(rows.map(({ changes }) => changes?.['repeats']), [undefined, 1])
})

test('one caller writes at most 21 rows a minute however the object is varied, all of them at most 1,001, and none is lost', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 }), async (callers, objects) => {
      const { rows, denials } = bench()
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

test('a refusal that cannot be written is logged, and the caller is not told', async (t) => {
  const logged: string[] = []
  const denials = makeAuditDenials({
    writer: { write: () => Promise.reject(new Error('the disk is full')) },
    clock: { now: () => new Date(0) },
    log: { ...silent, error: (_fields, message) => void logged.push(message) },
  })
  await t.notThrowsAsync(denials.recordDenial(caller, denial))
  t.is(logged.length, 1)
})
