import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import { randomUUID } from 'node:crypto'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { daySeconds } from '../../../core/usage/month.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import { callOf } from '../../sql/call.ts'
import { migratedSqlitePath } from '../../support/databases.ts'
import { clusterHeard, clusterUid, newObject, recorderOn, setClock, tablesOf } from './event-fixture.ts'
import { end, makeMonthsFixture, month, owner, start } from '../months-fixture.ts'

/**
 * Clusters whose clocks are a day ahead or behind. A figure is then off by the seconds of the skew at most, and never
 * counted twice.
 */

const hour = 3600
const text = (seconds: number): string => new Date(seconds * 1000).toISOString()

/**
 * A cluster reports each hour, from the first of the month until it is final, what its clock says: `skew(at)` seconds
 * ahead. An object of one core begins in the second hour. What is refused is sent again with the next report, as an
 * agent does. Returns the core-hours of the month.
 */
const reportMonth = async (skew: (at: number) => number) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  try {
    const fixture = await makeMonthsFixture(db)
    await db.query((k) =>
      k('clusters').insert({
        owner_id: owner,
        name: 'one',
        display_name: '',
        uid: clusterUid,
        provider: 'generic',
        endpoint: 'https://192.0.2.1',
        phase: 'Active',
        ref: randomUUID(),
        created_at: 0,
      }),
    )
    const clock = setClock(text(start))
    const recorder = recorderOn(db, clock)
    const refused: string[] = []
    let waiting: readonly ReportedEvent[] = []
    const beginsAt = start + hour
    const localBegin = text(beginsAt + skew(beginsAt))
    const object = newObject({ createdAt: localBegin })
    for (let at: number = start; at < end + 75 * hour; at += hour) {
      clock.set(text(at))
      if (at === end) await recorder.carry()
      const local = at + skew(at)
      const events = [...waiting, clusterHeard(text(local)), ...(at === beginsAt ? [object.created(text(local))] : [])]
      const before = at === beginsAt ? await tablesOf(db) : undefined
      const results = await recorder.send(events)
      waiting = events.filter((_, index) => results[index] === 'too-early')
      for (const result of results) if (result !== 'accepted' && result !== 'repeated') refused.push(result)
      if (
        before !== undefined &&
        waiting.length === events.length &&
        JSON.stringify(await tablesOf(db)) !== JSON.stringify(before)
      )
        throw new Error('a refused event has changed something')
    }
    fixture.setNow(end + 75 * hour)
    const closed = await fixture.close(callOf(), { ownerId: owner, month })
    if (isLeft(closed)) throw new Error(closed.left.message)
    const shown = await fixture.shown('objects-usage-view')
    const { cpu } = shown?.json['totals'] as { cpu: number }
    return {
      coreHours: Math.round((cpu * (end - start)) / hour),
      status: closed.right.month.status,
      refused: new Set(refused),
    }
  } finally {
    await db.close()
  }
}

const whole = (end - start) / hour

test('a clock that is right: from the creation to the end of the month', async (t) => {
  t.deepEqual(await reportMonth(() => 0), { coreHours: whole - 1, status: 'final', refused: new Set() })
})

test('events of a clock a day ahead are refused until their time', async (t) => {
  t.deepEqual(await reportMonth(() => daySeconds), {
    coreHours: whole - 1 - 24,
    status: 'final',
    refused: new Set(['too-early']),
  })
})

test('a clock that is a day behind: events are accepted, and count when it says', async (t) => {
  // Created on the last day of the month before, in which nothing of the cluster was heard earlier.
  t.deepEqual(await reportMonth(() => -daySeconds), { coreHours: whole, status: 'final', refused: new Set() })
})

test('a corrected clock counts the hours between once', async (t) => {
  const middle = start + 15 * daySeconds
  t.deepEqual(await reportMonth((at) => (at < middle ? -daySeconds : 0)), {
    coreHours: whole,
    status: 'final',
    refused: new Set(),
  })
  t.deepEqual(await reportMonth((at) => (at < middle ? daySeconds : 0)), {
    coreHours: whole - 1 - 24,
    status: 'final',
    refused: new Set(['too-early']),
  })
})
