import test from 'ava'
import { readWindow, segmentsOfCluster } from '../../../core/usage/months/cluster-time.ts'
import type { MonthKey } from '../../../core/usage/types.ts'

const seconds = (text: string): number => Date.parse(text) / 1000

test('a month reads its time, two months around it and the longest silence before it', (t) => {
  t.deepEqual({ ...readWindow(202611 as MonthKey) } as Record<string, number>, {
    month: 202611,
    from: seconds('2026-11-01T00:00:00Z'),
    to: seconds('2026-12-01T00:00:00Z'),
    firstPresence: 202609,
    lastPresence: 202701,
    outagesFrom: seconds('2026-09-27T00:00:00Z'),
  })
})

test('a cluster without a contract has segments of no product', (t) => {
  const segments = segmentsOfCluster(
    {
      id: 1 as never,
      uid: 'c',
      displayName: '',
      presence: [],
      outages: [],
      modeChanges: [],
      bindings: [],
      clientNamespaces: [],
    },
    [],
    202611 as MonthKey,
    seconds('2026-12-02T00:00:00Z') as never,
  )
  t.true(segments.size > 1)
  for (const each of segments.values()) t.deepEqual(each, [])
})
