import test from 'ava'
import { left } from 'fp-ts/lib/Either.js'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { HelmAftermath } from '../../../core/packages/releases/release-state.ts'
import { helmResult, describeReleaseState, releaseStateOf } from '../../../core/packages/releases/release-state.ts'
import { HelmBusy, HelmRefused, HelmStopped } from '../../../core/packages/releases/ports.ts'
import { RecordsRefused } from '../../../core/packages/ports.ts'
import type { HelmVerb } from '../../../core/packages/types.ts'
import { type Row, pause, place, recordsOf, refOf } from './recover-release.fixture.ts'

/** How a task ends whose helm failed: true to the records, and each of them left in a documented state. */

const running = { signal: new AbortController().signal }
const stopped = (reason: string) => ({ signal: AbortSignal.abort(reason) })
const about = (verb: HelmVerb, before: readonly Row[], wasAtomic = false): HelmAftermath => ({
  ...place,
  verb,
  before: releaseStateOf(before.map(refOf)),
  wasAtomic,
})

test('a failure names live objects and whether it was undone', async (t) => {
  const refused = HelmRefused('timed out')
  const ends = async (verb: HelmVerb, before: readonly Row[], after: readonly Row[], wasAtomic = false) =>
    helmResult({ pause, releases: recordsOf(after).store }, running, about(verb, before, wasAtomic), refused)
  const plain = await ends(
    'upgrade',
    [[1, 'deployed']],
    [
      [1, 'deployed'],
      [2, 'failed'],
    ],
  )
  t.like(plain, {
    state: 'failed',
    error: 'timed out',
    message: 'Revision 1 is live; revision 2 is recorded as failed.',
  })
  t.deepEqual(plain.result, {
    release: 'web',
    namespace: 'shop',
    driver: 'Secret',
    revision: 2,
    status: 'failed',
    live: 1,
  })
  t.is(
    (
      await ends(
        'upgrade',
        [[1, 'deployed']],
        [
          [1, 'superseded'],
          [2, 'failed'],
          [3, 'deployed'],
        ],
        true,
      )
    ).message,
    'Revision 3 is live. The upgrade was rolled back.',
  )
  t.is(
    (await ends('install', [], [], true)).message,
    'No revision is recorded. What had been installed was uninstalled again; a namespace and definitions of the chart may stay.',
  )
  t.is(
    (await ends('upgrade', [[1, 'deployed']], [[1, 'deployed']])).message,
    'Revision 1 is live. Nothing new was recorded.',
  )
})

test('a helm that was killed leaves no revision pending', async (t) => {
  const records = recordsOf([
    [1, 'deployed'],
    [2, 'pending-upgrade'],
  ])
  const end = await helmResult(
    { pause, releases: records.store },
    stopped('cancelled'),
    about('upgrade', [[1, 'deployed']]),
    HelmStopped('Helm was stopped.'),
  )
  t.like(end, {
    state: 'cancelled',
    message: 'Stopped as asked. Revision 1 is live; revision 2 is recorded as failed.',
  })
  t.deepEqual(records.rows(), ['1 deployed', '2 failed'])
  const stopping = await helmResult(
    { pause, releases: records.store },
    stopped('stopping'),
    about('upgrade', [[1, 'deployed']]),
    HelmStopped('Helm was stopped.'),
  )
  t.like(stopping, { state: 'failed' })
  const pending = recordsOf([
    [1, 'deployed'],
    [2, 'pending-upgrade'],
  ])
  t.like(
    await helmResult(
      { pause, releases: pending.store },
      stopped('lease-lost'),
      about('upgrade', [[1, 'deployed']]),
      HelmStopped('Helm was stopped.'),
    ),
    { state: 'unknown' },
  )
  t.deepEqual(pending.amended, [], 'a worker that lost the task changes nothing more')
  const late = await helmResult(
    { pause, releases: recordsOf([]).store },
    stopped('cancelled'),
    about('uninstall', [[1, 'deployed']]),
    undefined,
  )
  t.like(late, {
    state: 'succeeded',
    message: 'Release web is uninstalled. Its history was removed. It had gone too far to be stopped.',
  })
})

test('success stays one when the records cannot be read afterwards', async (t) => {
  const end = await helmResult(
    { pause, releases: recordsOf([], { answers: false }).store },
    running,
    about('install', []),
    undefined,
  )
  t.like(end, { state: 'succeeded', message: 'Release web is installed.' })
  const failed = await helmResult(
    { pause, releases: recordsOf([], { answers: false }).store },
    running,
    about('install', []),
    HelmRefused('no'),
  )
  t.like(failed, { state: 'failed', error: 'no' })
  t.regex(failed.message, /could not be read/)
})

test('the state is that of the newest revision, in any order of the records', (t) => {
  t.is(describeReleaseState(releaseStateOf([])), 'No revision is recorded.')
  t.is(
    describeReleaseState(
      releaseStateOf(
        (
          [
            [2, 'failed'],
            [10, 'failed'],
            [9, 'deployed'],
          ] as const
        ).map(refOf),
      ),
    ),
    'Revision 9 is live; revision 10 is recorded as failed.',
  )
})

test('a revision that another helm works on is left alone', async (t) => {
  const busy = [
    [1, 'deployed'],
    [2, 'pending-upgrade'],
  ] as const
  const inProgress = HelmRefused('another operation (install/upgrade/rollback) is in progress')
  const taken = HelmRefused('create: failed to create: secrets "sh.helm.release.v1.web.v2" already exists')
  for (const failure of [inProgress, taken, HelmBusy('Too many.'), undefined]) {
    const records = recordsOf(busy)
    await helmResult({ pause, releases: records.store }, running, about('upgrade', [[1, 'deployed']]), failure)
    t.deepEqual(records.amended, [], failure?.message)
  }
  const later = recordsOf([
    [1, 'superseded'],
    [2, 'deployed'],
    [3, 'pending-upgrade'],
  ])
  await helmResult(
    { pause, releases: later.store },
    running,
    about('upgrade', [[1, 'deployed']]),
    HelmStopped('Helm was stopped.'),
  )
  t.deepEqual(later.amended, [])
})

/** Records of a cluster that does not answer so many times. */
const awayFor = (rows: readonly Row[], silentReads: number, silentAmends = 0) => {
  const { store, rows: now } = recordsOf(rows)
  const unreachable = left(ClusterUnreachable('The cluster did not answer.'))
  const pauses: number[] = []
  let [reads, amends] = [silentReads, silentAmends]
  const releases: typeof store = {
    index: (...asked) => (reads-- > 0 ? Promise.resolve(unreachable) : store.index(...asked)),
    amend: (...asked) => (amends-- > 0 ? Promise.resolve(unreachable) : store.amend(...asked)),
  }
  return {
    deps: { releases, pause: (milliseconds: number) => Promise.resolve(void pauses.push(milliseconds)) },
    now,
    pauses,
  }
}

test("a cluster that returns after helm's end has no pending revision", async (t) => {
  const pending = [
    [1, 'deployed'],
    [2, 'pending-upgrade'],
  ] as const
  for (const [reads, amends] of [
    [3, 0],
    [0, 2],
    [2, 3],
  ] as const) {
    const away = awayFor(pending, reads, amends)
    const end = await helmResult(
      away.deps,
      running,
      about('upgrade', [[1, 'deployed']]),
      HelmStopped('The cluster went away.'),
    )
    t.is(end.message, 'Revision 1 is live; revision 2 is recorded as failed.')
    t.deepEqual(away.now(), ['1 deployed', '2 failed'])
    t.is(away.pauses.length, reads + amends)
  }
  const gone = awayFor(pending, 1000)
  t.regex(
    (await helmResult(gone.deps, running, about('upgrade', [[1, 'deployed']]), HelmStopped('The cluster went away.')))
      .message,
    /could not be read/,
  )
  t.true(
    gone.pauses.length > 1 && gone.pauses.every((each, at) => at === 0 || each > (gone.pauses[at - 1] ?? 0)),
    'pauses grow',
  )
  t.true(gone.pauses.reduce((sum, each) => sum + each, 0) <= 20_000)
})

test('a refused request is not repeated', async (t) => {
  const refused = awayFor([], 0)
  const releases = {
    ...refused.deps.releases,
    index: () => Promise.resolve(left(RecordsRefused('You may not list secrets.'))),
  }
  await helmResult({ ...refused.deps, releases }, running, about('upgrade', []), HelmRefused('no'))
  t.deepEqual(refused.pauses, [])
})

test('a user who lost the right gets the finished steps, and nothing of the release', async (t) => {
  const lostRights = stopped('rights-lost')
  const pending = recordsOf([
    [1, 'deployed'],
    [2, 'pending-upgrade'],
  ])
  const end = await helmResult(
    { pause, releases: pending.store },
    lostRights,
    about('upgrade', [[1, 'deployed']]),
    HelmStopped('Helm was ended. Helm said: secret things'),
  )
  t.deepEqual(pending.rows(), ['1 deployed', '2 failed'])
  t.like(end, {
    state: 'failed',
    error: 'The user who requested it may no longer connect to the cluster.',
    result: { release: 'web', namespace: 'shop' },
  })
  t.notRegex(end.message, /live|recorded as/)
  const fixed = recordsOf(
    [
      [1, 'deployed'],
      [2, 'pending-upgrade'],
    ],
    { amends: false },
  )
  t.regex(
    (
      await helmResult(
        { pause, releases: fixed.store },
        lostRights,
        about('upgrade', [[1, 'deployed']]),
        HelmStopped('Helm was ended.'),
      )
    ).message,
    /may be left pending/,
  )
  const late = await helmResult(
    {
      pause,
      releases: recordsOf([
        [1, 'superseded'],
        [2, 'deployed'],
      ]).store,
    },
    lostRights,
    about('upgrade', [[1, 'deployed']]),
    undefined,
  )
  t.deepEqual(late, {
    state: 'succeeded',
    message: 'Release web is upgraded. It had gone too far to be stopped.',
    result: { release: 'web', namespace: 'shop' },
  })
})

test('an upgrade that installed says so', async (t) => {
  const done = await helmResult(
    { pause, releases: recordsOf([[1, 'deployed']]).store },
    running,
    about('upgrade', []),
    undefined,
  )
  t.is(done.message, 'Release web is installed. Revision 1 is recorded as deployed.')
  const failed = await helmResult(
    { pause, releases: recordsOf([]).store },
    running,
    about('upgrade', [], true),
    HelmRefused('timed out'),
  )
  t.regex(failed.message, /uninstalled again/)
})
