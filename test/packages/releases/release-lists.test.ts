import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { ReleaseListOptions } from '../../../core/packages/releases/release-reads.ts'
import {
  lastDeployedSeconds,
  orderOf,
  selectRecords,
  shownStatuses,
  sliceOf,
  sortByDate,
} from '../../../core/packages/releases/release-reads.ts'
import type { ReleaseRecordRef } from '../../../core/packages/types.ts'
import { findProblem } from './naive-list.ts'
import { refOfRecord, someRecords } from '../../helm/records/records.ts'

const flag = fc.option(fc.boolean(), { nil: undefined })
const someOptions: fc.Arbitrary<ReleaseListOptions> = fc.record({
  all: fc.option(fc.constant(true), { nil: undefined, freq: 4 }),
  sort: fc.constantFrom(undefined, 'name', 'name-desc', 'date', 'date-desc', 0, 1, 2, 3, '2', 'ByDateDesc'),
  byDate: flag,
  sortReverse: flag,
  uninstalled: flag,
  superseded: flag,
  uninstalling: flag,
  deployed: flag,
  failed: flag,
  pending: flag,
  limit: fc.integer({ min: 0, max: 6 }),
  offset: fc.integer({ min: 0, max: 6 }),
  filter: fc.constantFrom(undefined, '', 'web', '^a', '2$', 'nothing'),
})

test('a list agrees with a naive reading of the rules', (t) => {
  fc.assert(
    fc.property(someRecords, someOptions, (records, options) => {
      const pattern = new RegExp(options.filter ?? '')
      const selected = selectRecords(
        records.map(refOfRecord),
        options,
        new Set(records.map(({ name }) => name).filter((name) => pattern.test(name))),
      )
      const order = orderOf(options)
      if (isLeft(order)) return t.fail(order.left.message)
      const dated = (ref: ReleaseRecordRef) => ({
        ref,
        info: {
          status: ref.status,
          last_deployed: records.find((record) => refOfRecord(record).uid === ref.uid)?.lastDeployed,
        },
      })
      const ordered =
        order.right === 'name'
          ? selected
          : order.right === 'name-desc'
            ? [...selected].reverse()
            : order.right === 'date'
              ? sortByDate(selected.map(dated)).map(({ ref }) => ref)
              : [...sortByDate(selected.map(dated))].reverse().map(({ ref }) => ref)
      const shown = sliceOf(ordered, options).map(({ uid }) => uid)
      t.is(findProblem(records, options, shown), undefined)
    }),
    { numRuns: 500 },
  )
})

test('lists show deployed and failed releases by default, and all but unknown', (t) => {
  t.deepEqual([...shownStatuses({})], ['deployed', 'failed'])
  t.deepEqual([...shownStatuses({ deployed: false })], ['deployed', 'failed'])
  t.deepEqual([...shownStatuses({ pending: true })], ['pending-install', 'pending-upgrade', 'pending-rollback'])
  t.deepEqual([...shownStatuses({ superseded: true, failed: true })], ['failed', 'superseded'])
  t.deepEqual(
    [...shownStatuses({ all: true, failed: true })],
    [
      'deployed',
      'uninstalled',
      'superseded',
      'failed',
      'uninstalling',
      'pending-install',
      'pending-upgrade',
      'pending-rollback',
    ],
  )
})

test('an order has a word or a number, and flags win', (t) => {
  const named = (options: ReleaseListOptions): string => {
    const order = orderOf(options)
    return isLeft(order) ? order.left.tag : order.right
  }
  t.deepEqual([{}, { sort: '' }, { sort: 1 }, { sort: '2' }, { sort: 3 }, { sort: 'DATE-desc' }].map(named), [
    'name',
    'name',
    'name-desc',
    'date',
    'date-desc',
    'date-desc',
  ])
  t.deepEqual([{ sort: 4 }, { sort: 'size' }, { sort: -1, byDate: true }].map(named), [
    'ListOptionRefused',
    'ListOptionRefused',
    'ListOptionRefused',
  ])
  t.deepEqual(
    [
      { sort: 3, byDate: true },
      { sort: 3, sortReverse: true },
      { byDate: true, sortReverse: true },
    ].map(named),
    ['date', 'name-desc', 'date-desc'],
  )
})

test('dates count in whole seconds, and unreadable ones sort first', (t) => {
  const header = (last_deployed: string) => ({ info: { status: 'deployed' as const, last_deployed } })
  t.is(lastDeployedSeconds(header('2026-05-12T09:30:00.999999999+02:00')), Date.UTC(2026, 4, 12, 7, 30) / 1000)
  t.is(lastDeployedSeconds(header('')), undefined)
  t.deepEqual(
    sortByDate([
      header('2026-05-12T09:30:01Z'),
      header(''),
      header('2026-05-12T09:30:00.9Z'),
      header('2026-05-12T09:30:00.1Z'),
    ]).map(({ info }) => info.last_deployed),
    ['', '2026-05-12T09:30:00.9Z', '2026-05-12T09:30:00.1Z', '2026-05-12T09:30:01Z'],
  )
})
