import test from 'ava'
import type { LostOperation } from '../../../core/packages/releases/release-state.ts'
import { makeRecoverRelease, interruptedDescription } from '../../../core/packages/releases/release-state.ts'
import type { HelmVerb } from '../../../core/packages/types.ts'
import type { TaskEnd } from '../../../core/tasks/ports.ts'
import { type Row, pause, place, recordsOf } from './recover-release.fixture.ts'

/** How a task ends whose worker died: true to the records, and each of them left in a documented state. */

const lost = (verb: HelmVerb, beforeRevision: number, keepsHistory = false): LostOperation => ({
  verb,
  beforeRevision,
  keepsHistory,
})

interface Case {
  readonly title: string
  readonly lost: LostOperation
  readonly rows: readonly Row[]
  readonly state: TaskEnd['state']
  readonly after: readonly string[]
  readonly says: RegExp
}
const cases: readonly Case[] = [
  {
    title: 'nothing was recorded',
    lost: lost('install', 0),
    rows: [],
    state: 'failed',
    after: [],
    says: /^No new revision was recorded.*namespace/,
  },
  {
    title: 'an install in the middle',
    lost: lost('install', 0),
    rows: [[1, 'pending-install']],
    state: 'failed',
    after: ['1 failed'],
    says: /No revision is live/,
  },
  {
    title: 'an install that helm had ended',
    lost: lost('install', 0),
    rows: [[1, 'failed']],
    state: 'failed',
    after: ['1 failed'],
    says: /revision 1 is recorded as failed/,
  },
  {
    title: 'an install that was done',
    lost: lost('install', 0),
    rows: [[1, 'deployed']],
    state: 'succeeded',
    after: ['1 deployed'],
    says: /Revision 1/,
  },
  {
    title: 'an upgrade not begun',
    lost: lost('upgrade', 2),
    rows: [
      [1, 'superseded'],
      [2, 'deployed'],
    ],
    state: 'failed',
    after: ['1 superseded', '2 deployed'],
    says: /^No new revision was recorded. Revision 2 is live/,
  },
  {
    title: 'an upgrade in the middle',
    lost: lost('upgrade', 1),
    rows: [
      [1, 'deployed'],
      [2, 'pending-upgrade'],
    ],
    state: 'failed',
    after: ['1 deployed', '2 failed'],
    says: /Revision 1 is live; revision 2 is recorded as failed/,
  },
  {
    title: 'an upgrade that was done',
    lost: lost('upgrade', 1),
    rows: [
      [1, 'superseded'],
      [2, 'deployed'],
    ],
    state: 'succeeded',
    after: ['1 superseded', '2 deployed'],
    says: /Revision 2/,
  },
  {
    title: 'a rollback in the middle',
    lost: lost('rollback', 2),
    rows: [
      [1, 'superseded'],
      [2, 'deployed'],
      [3, 'pending-rollback'],
    ],
    state: 'failed',
    after: ['1 superseded', '2 deployed', '3 failed'],
    says: /Revision 2 is live/,
  },
  {
    title: 'a rollback not begun, over a revision that another process left pending',
    lost: lost('rollback', 2),
    rows: [
      [1, 'deployed'],
      [2, 'pending-upgrade'],
    ],
    state: 'failed',
    after: ['1 deployed', '2 pending-upgrade'],
    says: /^No new revision/,
  },
  {
    title: 'an uninstall that was done',
    lost: lost('uninstall', 3),
    rows: [],
    state: 'succeeded',
    after: [],
    says: /uninstalled, and its history removed/,
  },
  {
    title: 'an uninstall that was done, with history',
    lost: lost('uninstall', 3, true),
    rows: [[3, 'uninstalled']],
    state: 'succeeded',
    after: ['3 uninstalled'],
    says: /history was kept/,
  },
  {
    title: 'an uninstall in the middle',
    lost: lost('uninstall', 3),
    rows: [[3, 'uninstalling']],
    state: 'failed',
    after: ['3 uninstalling'],
    says: /Uninstall it again/,
  },
  {
    title: 'an uninstall whose records are still to go',
    lost: lost('uninstall', 3),
    rows: [[3, 'uninstalled']],
    state: 'failed',
    after: ['3 uninstalled'],
    says: /Uninstall it again/,
  },
  {
    title: 'an uninstall not begun',
    lost: lost('uninstall', 3),
    rows: [[3, 'deployed']],
    state: 'failed',
    after: ['3 deployed'],
    says: /hooks before the deletion may have run/,
  },
]
for (const { title, lost: operation, rows, state, after, says } of cases) {
  test(`the worker died: ${title}`, async (t) => {
    const records = recordsOf(rows)
    const end = await makeRecoverRelease({ pause, releases: records.store })(place, operation)
    t.is(end.state, state)
    t.regex(end.message, says)
    t.deepEqual(records.rows(), after)
    const settled = records.amended.length
    t.deepEqual(
      records.amended.map((each) => (each as [number, object])[1]),
      Array.from({ length: settled }, () => ({ status: 'failed', description: interruptedDescription })),
    )
    const again = await makeRecoverRelease({ pause, releases: records.store })(place, operation)
    t.is(again.state, state, 'recovering twice says the same')
    t.is(records.amended.length, settled)
  })
}

test('unreadable results are unknown, and unamended ones pending', async (t) => {
  const silent = await makeRecoverRelease({ pause, releases: recordsOf([], { answers: false }).store })(
    place,
    lost('upgrade', 1),
  )
  t.like(silent, { state: 'unknown' })
  t.regex(silent.message, /did not answer/)
  const fixed = recordsOf(
    [
      [1, 'deployed'],
      [2, 'pending-upgrade'],
    ],
    { amends: false },
  )
  const stuck = await makeRecoverRelease({ pause, releases: fixed.store })(place, lost('upgrade', 1))
  t.like(stuck, { state: 'unknown' })
  t.regex(stuck.message, /pending-upgrade/)
})
