import { gzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { WorkStopped } from '../../../adapters/outbound/bounded-threads.ts'
import { makeHeaderCache, makeHeaderDecoder } from '../../../adapters/helm/records/release-store.ts'
import { headerOfBegin } from '../../../adapters/helm/records/record-members.ts'
import { headerOf, PayloadUnreadable, smallRecordBytes } from '../../../adapters/helm/records/record-payload.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import type { ReleaseHeader } from '../../../core/packages/types.ts'
import { goJson, refOfRecord, releaseJson } from './records.ts'

const key = { name: 'web', namespace: 'shop', version: 3 }
const packed = (json: string): Buffer => gzipSync(json, { level: 9 })
/** Text that hardly packs. */
const noise = (chars: number, seed = 7): string => {
  let state = seed
  return Array.from({ length: chars }, () =>
    String.fromCharCode(33 + ((state = (state * 48271) % 2147483647) % 90)),
  ).join('')
}

const decoder = makeHeaderDecoder()
test.after.always(() => decoder.close())

const shuffledKeys = fc.shuffledSubarray(['name', 'info', 'chart', 'manifest', 'version', 'namespace', 'config'], {
  minLength: 7,
  maxLength: 7,
})

test('a header is the same, whatever the order of keys, the blanks and the packing', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      shuffledKeys,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.integer({ min: 0, max: 9000 }),
      async (order, hasBlanks, isPacked, isChartLast, notes) => {
        const whole = releaseJson({
          ...key,
          notes: noise(notes),
          config: { info: { status: 'none' }, chart: 1 },
        }) as Record<string, unknown>
        const chart = isChartLast
          ? Object.fromEntries(Object.entries(whole['chart'] as object).toReversed())
          : whole['chart']
        const release = { ...Object.fromEntries(order.map((each) => [each, whole[each]])), chart }
        const text = hasBlanks ? JSON.stringify(release, undefined, 2) : goJson(release)
        t.deepEqual(await decoder.decode(isPacked ? packed(text) : Buffer.from(text), key), headerOf(whole, key))
      },
    ),
    { numRuns: 100 },
  )
})

test('a record header is read from its beginning, whatever the rest', async (t) => {
  const release = releaseJson({
    ...key,
    notes: 'Some "notes" {',
    manifest: noise(200_000),
    values: { text: noise(2_000_000) },
  })
  const bytes = packed(goJson(release))
  t.deepEqual(headerOfBegin(bytes, key), headerOf(release, key))
  t.deepEqual(await decoder.decode(bytes, key), headerOf(release, key))
})

test('a large record that is written otherwise is read on a thread, several at a time', async (t) => {
  const own = makeHeaderDecoder()
  const { name, info, ...rest } = releaseJson({ ...key, manifest: noise(smallRecordBytes + 1) }) as Record<
    string,
    unknown
  >
  const bytes = packed(goJson({ ...rest, info, name }))
  t.is(headerOfBegin(bytes, key), undefined)
  const expected = headerOf({ ...rest, info, name }, key)
  t.deepEqual(await Promise.all([1, 2, 3].map(() => own.decode(bytes, key))), [expected, expected, expected])
  await t.throwsAsync(own.decode(bytes, { ...key, version: 4 }), { instanceOf: PayloadUnreadable })
  t.regex(
    await own.amend(bytes, key, { status: 'failed', description: 'ended' }),
    /"description":"ended".*"status":"failed"/s,
  )
  await t.throwsAsync(own.amend(bytes, { ...key, version: 4 }, { status: 'failed' }), { instanceOf: PayloadUnreadable })
  // A thread works on them one after the other: when it has answered one, it has others. What it had is no unreadable
  // record.
  const asked = Array.from({ length: 20 }, () => own.decode(bytes, key))
  const answered = Promise.allSettled(asked)
  await asked[0]
  await own.close()
  const broken = (await answered).filter((each) => each.status === 'rejected').map(({ reason }) => reason as unknown)
  t.true(broken.length > 0)
  for (const error of broken) t.true(error instanceof WorkStopped)
})

test('an invalid or foreign record is unreadable', async (t) => {
  const other = goJson(releaseJson({ ...key, name: 'other' }))
  const noStatus = goJson({ ...releaseJson(key), info: {} })
  for (const text of [
    '',
    'null',
    '[]',
    '{}',
    '{"name":"web"',
    other,
    noStatus,
    `x${goJson(releaseJson(key))}`,
    goJson(releaseJson(key)).slice(0, 60),
  ]) {
    await t.throwsAsync(decoder.decode(packed(text), key), { instanceOf: PayloadUnreadable }, text.slice(0, 60))
    await t.throwsAsync(decoder.decode(Buffer.from(text), key), { instanceOf: PayloadUnreadable }, text.slice(0, 60))
  }
})

const cluster = (id: number) => ({ id: id as ClusterId })
const header = (name: string, chars: number): ReleaseHeader => ({
  name,
  namespace: 'n',
  version: 1,
  info: { status: 'deployed', description: 'x'.repeat(chars) },
  chartMetadata: {},
})
const bare = JSON.stringify(header('a', 0)).length

test('a cache returns the latest value of its key and keeps its limit', (t) => {
  const step = fc.record({
    cluster: fc.integer({ min: 1, max: 2 }),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    resourceVersion: fc.constantFrom('1', '2'),
    chars: fc.integer({ min: 0, max: 300 }),
    isKept: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const limit = 3 * bare + 300
      const cache = makeHeaderCache(limit)
      /** Most recently used last. */
      let model: { readonly key: string; readonly header: ReleaseHeader; readonly chars: number }[] = []
      for (const { cluster: id, name, resourceVersion, chars, isKept } of steps) {
        const ref = { ...refOfRecord({ name, namespace: 'n', version: 1 }), resourceVersion }
        const key = `${id} ${name} ${resourceVersion}`
        const known = model.find((entry) => entry.key === key)
        model = model.filter((entry) => entry.key !== key)
        if (isKept) {
          const kept = header(name, chars)
          cache.keep(cluster(id), ref, kept)
          model.push({ key, header: kept, chars: bare + chars })
          while (model.reduce((sum, entry) => sum + entry.chars, 0) > limit) model.shift()
        } else {
          t.is(cache.find(cluster(id), ref), known?.header)
          if (known !== undefined) model.push(known)
        }
      }
    }),
  )
})

test('a value larger than the cache is not kept and evicts nothing', (t) => {
  const cache = makeHeaderCache(2 * bare)
  const ref = refOfRecord({ name: 'a', namespace: 'n', version: 1 })
  cache.keep(cluster(1), ref, header('a', 0))
  cache.keep(cluster(1), refOfRecord({ name: 'b', namespace: 'n', version: 1 }), header('b', 3 * bare))
  t.is(cache.find(cluster(1), refOfRecord({ name: 'b', namespace: 'n', version: 1 })), undefined)
  t.deepEqual(cache.find(cluster(1), ref), header('a', 0))
})

test('numbers that JSON has no word for are counted too', (t) => {
  const cache = makeHeaderCache(1000)
  const ref = refOfRecord({ name: 'a', namespace: 'n', version: 1 })
  const large = { ...header('a', 0), chartMetadata: { big: 12345678901234567890n } }
  cache.keep(cluster(1), ref, large)
  t.is(cache.find(cluster(1), ref), large)
})
