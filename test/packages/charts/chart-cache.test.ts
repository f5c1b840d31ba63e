import test from 'ava'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import { makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import { clockAt, reader, refOf, signal, stubChart, stubSource } from '../views/stub-charts.ts'

test('a chart is fetched once a minute, for the same user of the same cluster', async (t) => {
  const source = stubSource([stubChart('ferry', '1.0.0')])
  const clock = clockAt()
  const open = makeOpenChart({ source, clock, caches: lruCaches })
  const ask = async (version: string, userId: number, clusterId: number): Promise<number> => {
    const opened = await open(refOf('ferry', version), reader(userId, clusterId), signal)
    t.is(isRight(opened) ? opened.right.ref.version : opened.left.message, '1.0.0')
    return source.asked.length
  }
  t.is(await ask('1.0.0', 1, 1), 1)
  t.is(await ask('1.0.0', 1, 1), 1)
  t.is(await ask('1.0.0', 2, 1), 2, 'another user')
  t.is(await ask('1.0.0', 1, 2), 3, 'another cluster, and another account')
  t.is(await ask('', 1, 1), 4, 'the newest one')
  t.is(await ask('', 1, 1), 4)
  clock.at = 59_999
  t.is(await ask('1.0.0', 1, 1), 4)
  clock.at = 60_000
  t.is(await ask('1.0.0', 1, 1), 5)
  t.is(await ask('', 1, 1), 6)
  clock.at = 120_000
  t.is(await ask('', 3, 1), 7)
  t.is(await ask('1.0.0', 3, 1), 7, 'the version that the newest one resolved to')
})

test('concurrent views share one fetch, each for its own user', async (t) => {
  const source = stubSource([stubChart('ferry', '1.0.0')])
  const open = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  const gone = new AbortController()
  const asked = [
    open(refOf('ferry'), reader(1), signal),
    open(refOf('ferry'), reader(1), gone.signal),
    open(refOf('ferry'), reader(2), signal),
  ]
  gone.abort()
  t.deepEqual(
    (await Promise.allSettled(asked)).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.is(source.asked.length, 2)
})

test('a failed fetch is repeated on the next request', async (t) => {
  const source = stubSource([])
  const open = makeOpenChart({ source, clock: clockAt(), caches: lruCaches })
  for (const times of [1, 2]) {
    const opened = await open(refOf('ferry'), reader(), signal)
    t.is(isLeft(opened) ? opened.left.tag : 'opened', 'ChartMissing')
    t.is(source.asked.length, times)
  }
})

test('the cache keeps its size by evicting the least recently used', async (t) => {
  const sized = (name: string, bytes: number): Chart => ({
    ...stubChart(name, '1.0.0'),
    files: new Map([['x', new Uint8Array(bytes)]]),
  })
  const source = stubSource([sized('a', 1000), sized('b', 1000), sized('c', 1000), sized('large', 5000)])
  const open = makeOpenChart(
    { source, clock: clockAt(), caches: lruCaches },
    { maxBytes: 8000, maxChartBytes: 8000, keepMs: 1000 },
  )
  const isFetched = async (name: string): Promise<boolean> => {
    const before = source.asked.length
    await open(refOf(name), reader(), signal)
    return source.asked.length > before
  }
  t.deepEqual([await isFetched('a'), await isFetched('b'), await isFetched('a')], [true, true, false])
  t.true(await isFetched('c'), 'a third one does not fit beside two')
  t.deepEqual([await isFetched('a'), await isFetched('b')], [false, true])
  t.deepEqual([await isFetched('large'), await isFetched('large')], [true, true])
})
