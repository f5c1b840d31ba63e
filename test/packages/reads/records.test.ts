import { gzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { WorkStopped } from '../../../adapters/outbound/bounded-threads.ts'
import { makeHeaderCache, makeHeaderDecoder } from '../../../adapters/helm/records/release-store.ts'
import { makeRe2NamePatterns } from '../../../adapters/helm/records/name-patterns.ts'
import { amendInfo, goString, headerOfBegin } from '../../../adapters/helm/records/record-members.ts'
import {
  headerOf,
  pack,
  packedBytes,
  PayloadUnreadable,
  smallRecordBytes,
  unpack,
  unpackSync,
} from '../../../adapters/helm/records/record-payload.ts'
import { makeTimeSlices } from '../../../adapters/helm/records/time-slices.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import type { ReleaseListOptions } from '../../../core/packages/releases/release-reads.ts'
import {
  lastDeployedSeconds,
  orderOf,
  selectRecords,
  shownStatuses,
  sliceOf,
  sortByDate,
} from '../../../core/packages/releases/release-reads.ts'
import type { ReleaseHeader, ReleaseRecordRef } from '../../../core/packages/types.ts'
import { releaseStatuses, storageDrivers } from '../../../core/packages/types.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'
import { findProblem } from './naive-list.ts'
import { goJson, refOfRecord, releaseJson, someRecords } from './records.ts'
import { anyText } from '../../support/any-text.ts'

const largestRecordBytes = 32 * 1024 * 1024

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

for (const driver of storageDrivers) {
  test(`${driver}: what is packed is unpacked byte for byte`, async (t) => {
    await fc.assert(
      fc.asyncProperty(anyText({ maxLength: 5000 }), async (text) => {
        const packed = packedBytes(driver, await pack(driver, text))
        t.is(unpackSync(packed).toString(), text.toWellFormed())
        t.is((await unpack(packed)).toString(), text.toWellFormed())
      }),
      { numRuns: 100 },
    )
  })
}

test("the packed form has Helm's header, and a Secret one layer of base64 more than a ConfigMap", async (t) => {
  const json = '{"name":"web"}'
  const inMap = Buffer.from(await pack('ConfigMap', json), 'base64')
  t.deepEqual([...inMap.subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255])
  t.is(Buffer.from(await pack('Secret', json), 'base64').toString(), inMap.toString('base64'))
})

test('a payload from before records were packed is the JSON itself', async (t) => {
  const json = Buffer.from('{"name":"web"}')
  t.is(unpackSync(packedBytes('ConfigMap', base64(json))).toString(), json.toString())
  t.is((await unpack(packedBytes('Secret', base64(Buffer.from(base64(json)))))).toString(), json.toString())
})

const zeros = gzipSync(Buffer.alloc(largestRecordBytes + 1))
const lying = (bytes: Buffer, size: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed.writeUInt32LE(size, changed.length - 4)
  return changed
}

test('a record that unpacks to more than the limit is refused, whatever size it declares', async (t) => {
  for (const bytes of [zeros, lying(zeros, 10), lying(zeros, 0), lying(zeros, smallRecordBytes + 1)]) {
    t.throws(() => unpackSync(bytes), { instanceOf: PayloadUnreadable })
    await t.throwsAsync(unpack(bytes), { instanceOf: PayloadUnreadable })
  }
  const largest = gzipSync(Buffer.alloc(largestRecordBytes, 32))
  t.is(unpackSync(largest).length, largestRecordBytes)
  t.is((await unpack(largest)).length, largestRecordBytes)
})

test('several packed pieces in a row do not pass as one', (t) => {
  const pieces = Buffer.concat([gzipSync('{"name":'), gzipSync('1}')])
  t.throws(() => unpackSync(pieces), { instanceOf: PayloadUnreadable })
})

test('what is cut short, changed or no base64 is refused', async (t) => {
  const good = gzipSync('{"name":"web","info":{}}')
  const changed = Buffer.from(good)
  changed[12] = (changed[12] ?? 0) ^ 0xff
  for (const bytes of [good.subarray(0, 12), good.subarray(0, good.length - 1), changed]) {
    t.throws(() => unpackSync(bytes), { instanceOf: PayloadUnreadable })
    await t.throwsAsync(unpack(bytes), { instanceOf: PayloadUnreadable })
  }
  for (const text of ['%%%%', 'abc', 'a===', 'YWJj\n', 'YW\nJj\n\n', 'YQ==YQ==', 'Ä===', 'ab-_', '===='])
    t.throws(() => packedBytes('ConfigMap', text), { instanceOf: PayloadUnreadable }, text)
  t.throws(() => packedBytes('Secret', base64(Buffer.from('%%%%'))), { instanceOf: PayloadUnreadable })
})

const someText = anyText({ maxLength: 30 })
/** Keys that look like ours, strings with brackets and quotes, numbers that no double holds. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('12345678901234567890', '1.0', '-0', '1e21', 'true', 'null'),
    someText.map(goString),
    fc.array(tie('value')).map((items) => `[${items.join(', ')}]`),
    fc.dictionary(fc.oneof(fc.constantFrom('info', 'status', 'description', '9', '10'), someText), tie('value')).map(
      (entries) =>
        `{${Object.entries(entries)
          .map(([key, item]) => `${goString(key)} : ${String(item)}`)
          .join(' ,')}}`,
    ),
  ),
})).value as fc.Arbitrary<string>

const someRecordText = fc
  .record({
    before: fc.array(anyValue, { maxLength: 3 }),
    after: fc.array(anyValue, { maxLength: 3 }),
    inside: fc.array(anyValue, { maxLength: 3 }),
    description: someText,
    status: fc.constantFrom(...releaseStatuses),
  })
  .map(({ before, after, inside, description, status }) => {
    const members = (prefix: string, values: readonly string[]): string[] =>
      values.map((value, index) => `${goString(`${prefix}${index}`)}:${value}`)
    const info = `"info":{${[...members('x', inside), `"description":${goString(description)}`, `"status": "${status}"`, '"notes":"status: {\\"description\\"}"'].join(',')}}`
    return { text: `{${[...members('b', before), info, ...members('a', after)].join(',')}}`, description, status }
  })

test('a record is amended where it must be, and every other byte stays', (t) => {
  fc.assert(
    fc.property(
      someRecordText,
      someText,
      fc.constantFrom(...releaseStatuses),
      ({ text, description, status }, nextDescription, nextStatus) => {
        const amended = amendInfo(text, { description: nextDescription, status: nextStatus })
        const parsed = JSON.parse(amended) as { readonly info: Readonly<Record<string, unknown>> }
        t.is(parsed.info['description'], nextDescription)
        t.is(parsed.info['status'], nextStatus)
        t.is(amendInfo(amended, { description, status }), text)
        t.is(amendInfo(text, {}), text)
        t.is(amendInfo(text, { status }), text)
      },
    ),
  )
})

test('a description that was empty is put where Helm writes it', (t) => {
  const { info, ...rest } = releaseJson({ name: 'web', namespace: 'shop', version: 1 }) as {
    readonly info: Readonly<Record<string, unknown>>
  }
  const { description: _, ...bare } = info
  t.is(
    amendInfo(goJson({ ...rest, info: bare }), { description: 'Ended by <us> & "them"' }),
    goJson({
      ...rest,
      info: {
        first_deployed: info['first_deployed'],
        last_deployed: info['last_deployed'],
        deleted: '',
        description: 'Ended by <us> & "them"',
        status: 'deployed',
      },
    }),
  )
})

test("strings are written as Go's encoder does", (t) => {
  t.is(
    goString('<a href="x">&\u2028\u2029\t\n\u0001é\u{1f600}\u007f'),
    '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\u2029\\t\\n\\u0001é\u{1f600}\u007f"',
  )
})

test('what has no info, or one without a status, is no record', (t) => {
  for (const text of [
    '{}',
    '[]',
    '"info"',
    '{"info":null}',
    '{"info":[1]}',
    '{"chart":{"info":{"status":"deployed"}}}',
  ]) {
    t.throws(() => amendInfo(text, { status: 'failed' }), { instanceOf: PayloadUnreadable }, text)
  }
  t.throws(() => amendInfo('{"info":{}}', { description: 'x' }), { instanceOf: PayloadUnreadable })
})

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

test('what Helm writes is read by its begin, also where the rest is larger than anything that is unpacked at once', async (t) => {
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

test('what is no record, or that of another release, is unreadable', async (t) => {
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

test('a cache answers what was kept last for that cluster, object and version, and keeps to its limit', (t) => {
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

test('one that is larger than the whole cache is not kept, and puts nothing else out', (t) => {
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

test('a list is what a naive reading of the rules makes of the records', (t) => {
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

test('without a word about statuses, releases that are deployed or failed are shown; all is everything but unknown', (t) => {
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

test('an order is named by words or numbers; flags win', (t) => {
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

test('a date is read in whole seconds, and one that cannot be read comes first', (t) => {
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

const patterns = makeRe2NamePatterns(makeTimeSlices(4))
const namesOf = async (pattern: string, ...names: readonly string[]): Promise<readonly string[]> => [
  ...(await unwrap(patterns.compile(pattern))(new Set(names))),
]

const somePattern = fc
  .array(fc.constantFrom('a', 'b', '-', '.', '[a-c]', '(a|b)', 'a*', 'b+', '(?:ab)?', '\\d', '^', '$'), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''))

test('a pattern matches where it occurs in the name', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      somePattern,
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', '7'), maxLength: 12 }), { maxLength: 120 }),
      async (pattern, names) => {
        t.deepEqual(
          await namesOf(pattern, ...names),
          [...new Set(names)].filter((name) => new RegExp(pattern).test(name)),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('while many names are matched, everything else has its turn', async (t) => {
  const names = Array.from({ length: 10_000 }, (_, index) => `release-${index}`)
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const found = await namesOf('(e|l|a|s|-)*[0-9]{1,40}7$', ...names)
  isDone = true
  t.is(found.length, 1_000 - 1)
  t.true(turns >= 100)
})

test('what is no regular expression is refused, and so is what only a back-tracking engine knows', (t) => {
  for (const pattern of ['(', '[a', 'a{2,1}', '*', '(?=a)', '(a)\\1', '\\'])
    t.is(tagOf(patterns.compile(pattern)), 'FilterRefused', pattern)
  t.is(shown(patterns.compile('('))?.kind, 'Unprocessable')
})

test('a pattern is bounded in length, and in size once its repetitions are written out', (t) => {
  t.is(tagOf(patterns.compile('a'.repeat(200))), 'done')
  for (const pattern of ['a'.repeat(201), '(a{30}){40}', '\\pL{999}', '(?:a{1000}){2}'])
    t.is(tagOf(patterns.compile(pattern)), 'FilterRefused', pattern)
})

test('a pattern that makes back-tracking engines hang is answered like any other', async (t) => {
  t.deepEqual(await namesOf('^(a+)+$', `${'a'.repeat(52)}!`), [])
})

test('work is done in its order, each answered what it made or threw', async (t) => {
  const slices = makeTimeSlices(5)
  const done: number[] = []
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4].map((n) =>
      slices.run(() => {
        done.push(n)
        if (n === 3) throw new Error('three')
        return n * 10
      }),
    ),
  )
  t.deepEqual(done, [1, 2, 3, 4])
  t.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message)),
    [10, 20, 'three', 40],
  )
  t.is(await slices.run(() => 5), 5)
})

test('once the time is up everything else has its turn', async (t) => {
  const slices = makeTimeSlices(0)
  const story: string[] = []
  const turns = (async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      story.push('other')
    }
  })()
  await Promise.all([turns, ...[1, 2, 3].map((n) => slices.run(() => void story.push(`work ${n}`)))])
  t.deepEqual(
    story.filter((line) => line !== 'other'),
    ['work 1', 'work 2', 'work 3'],
  )
  t.true(story.lastIndexOf('work 3') - story.indexOf('work 1') > 2, story.join(', '))
})
