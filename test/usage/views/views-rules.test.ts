import { isDeepStrictEqual } from 'node:util'
import { crc32, gunzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { packText, unpackText } from '../../../adapters/sql/usage/packed-text.ts'
import {
  gzipPieces,
  joinedCrc,
  preferenceFor,
  preferredType,
} from '../../../composition/runtime/http/answer/reply-answer.ts'
import type { ReportedChange } from '../../../core/usage/views/ports.ts'
import { cpuQuantity, podDetails, sizeQuantity, volumeDetails } from '../../../core/usage/views/namespace-reports.ts'
import { csvCell } from '../../../core/formats/usage-csv.ts'
import { addFigures, narrowedItem, zeroFigures } from '../../../core/usage/views/views.ts'
import { divideTotal, makeRunningShares, numberText, totalShown } from '../../../core/usage/views/measures.ts'
import { perCoreMonth, perGibMonth } from '../../../core/usage/amounts.ts'
import { monthKey, parseMonthNumber } from '../../../core/usage/month.ts'
import type { UnixSeconds, UsageObject } from '../../../core/usage/types.ts'
import { monthNames } from '../../../core/usage/types.ts'
import { quotaItem } from '../../../core/usage/views/view-writer.ts'
import { anyText } from '../../support/any-text.ts'

const texts = anyText({ maxLength: 300 })
/** Of small units, in which sums are often half a thousandth. */
const smallUnit = fc.integer({ min: 2, max: 10_000 }).map((half) => BigInt(half) * 2n)
const monthUnit = fc.constantFrom(perCoreMonth(monthKey(2026, 2)), perGibMonth(monthKey(2026, 7)))
const amountsOf = (...more: readonly fc.Arbitrary<bigint>[]) =>
  fc.array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n }), ...more), { maxLength: 40 })
/** Amounts with a unit. Those of months are up to the largest that one object can have. */
const amounts = fc.oneof(
  fc.tuple(amountsOf(), smallUnit),
  fc.tuple(
    amountsOf(fc.bigInt({ min: 2n ** 43n - 5n, max: 2n ** 43n + 5n }), fc.bigInt({ min: 0n, max: 3n * 10n ** 15n })),
    monthUnit,
  ),
)
const sumOf = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0)

test('running shares add up to the total within a thousandth', (t) => {
  fc.assert(
    fc.property(amounts, fc.boolean(), ([given, unit], isOther) => {
      const exact = given.reduce((all, each) => all + each, 0n)
      const nearest = totalShown(given, unit)
      // Either of the two thousandths next to the exact sum may be the total.
      const [floor, ceiling] = [Number((exact * 1000n) / unit), Number((exact * 1000n + unit - 1n) / unit)]
      const total = isOther ? (nearest === floor ? ceiling : floor) : nearest
      const shares = makeRunningShares(exact, total, unit)
      const shown = given.map((amount) => shares.next(amount))
      if (sumOf(shown) !== total || shown.some((each) => each < 0)) return false
      return given.every((_, from) => {
        const difference =
          BigInt(sumOf(shown.slice(from))) * unit - given.slice(from).reduce((all, each) => all + each, 0n) * 1000n
        return difference < unit && difference > -unit
      })
    }),
  )
  t.throws(() => makeRunningShares(1000n, 7, 2000n), { instanceOf: RangeError })
})

test("an amount next to a unit's multiple is an integer division", (t) => {
  const parts = fc.record({
    unit: fc.oneof(smallUnit, monthUnit),
    multiple: fc.bigInt({ min: 1n, max: 3_000_000n }),
    less: fc.bigInt({ min: 0n, max: 2n }),
  })
  fc.assert(
    fc.property(parts, ({ unit, multiple, less }) => {
      const amount = (multiple * unit) / 1000n - less
      fc.pre(amount > 0n)
      const floor = Number((amount * 1000n) / unit)
      return (
        makeRunningShares(amount, floor, unit).next(amount) === floor && divideTotal(floor, [amount], unit)[0] === floor
      )
    }),
  )
  t.pass()
})

test('figures are the shortest numbers of JSON', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.maxSafeNat(), fc.nat(5000), fc.integer({ min: -5000, max: 0 })),
      (shown) => numberText(shown) === String(shown / 1000),
    ),
  )
  t.is(numberText(12_340), '12.34')
})

test("an object's mean is exact and rounded half up", (t) => {
  const occupied = fc.array(
    fc.record({ seconds: fc.integer({ min: 1, max: 60_000 }), milliCpu: fc.nat(1_000_000_000), memoryMib: fc.nat(9) }),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(occupied, (given) => {
      let at = 0
      const segments = given.map(({ seconds, milliCpu, memoryMib }) => ({
        from: at as UnixSeconds,
        to: (at += seconds) as UnixSeconds,
        milliCpu,
        memoryMib,
        replicas: 1,
        generation: 1,
      }))
      const object = {
        id: 1,
        clusterId: 1,
        uid: 'u',
        product: 'dbProduct',
        group: 'g',
        kind: 'k',
        namespace: 'n',
        namespaceUid: 'n',
        name: 'o',
        createdAt: 0,
        deletedAt: undefined,
        trialEndsAt: undefined,
      } as unknown as UsageObject
      const item = JSON.parse(
        quotaItem(
          { object, clusterUid: 'c', parts: [], dailyEvents: [], segments, modes: [] },
          { key: 'c/u', members: '"name":"o"' },
        ),
      ) as Readonly<Record<'milliCPU' | 'memMiB', unknown>> & { readonly segments: readonly unknown[] }
      const summaryOf = (of: 'milliCpu' | 'memoryMib') => {
        const values = given.map((each) => each[of])
        const thousandths = given.reduce((all, each) => all + BigInt(each[of]) * BigInt(each.seconds), 0n) * 1000n
        const seconds = BigInt(at)
        return {
          min: Math.min(...(values.length === 0 ? [0] : values)),
          max: Math.max(0, ...values),
          mean: seconds === 0n ? 0 : Number((thousandths + seconds / 2n) / seconds) / 1000,
        }
      }
      return (
        isDeepStrictEqual(item.milliCPU, summaryOf('milliCpu')) &&
        isDeepStrictEqual(item.memMiB, summaryOf('memoryMib')) &&
        item.segments.length === given.length
      )
    }),
  )
  t.pass()
})

test('the largest remainders are raised, and the earlier of equal ones', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: 0n, max: 40n }), { minLength: 1, maxLength: 40 }),
      fc.bigInt({ min: 1n, max: 9_000n }),
      (given, unit) => {
        const total = totalShown(given, unit)
        const raised = total - given.reduce((all, each) => all + Number((each * 1000n) / unit), 0)
        const order = given
          .map((amount, index) => ({ index, remainder: (amount * 1000n) % unit }))
          .toSorted((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1))
        const expected = new Set(order.slice(0, raised).map(({ index }) => index))
        const shown = divideTotal(total, given, unit)
        return given.every(
          (amount, index) => shown[index]! - Number((amount * 1000n) / unit) === (expected.has(index) ? 1 : 0),
        )
      },
    ),
  )
  t.pass()
})

test('a total is divided within two thousandths of each amount', (t) => {
  fc.assert(
    fc.property(amounts, ([given, unit]) => {
      const total = totalShown(given, unit)
      const shown = divideTotal(total, given, unit)
      return (
        sumOf(shown) === total &&
        given.every((amount, index) => [0n, 1n].includes(BigInt(shown[index]!) - (amount * 1000n) / unit))
      )
    }),
  )
  t.deepEqual(divideTotal(1, [1n, 1n, 1n], 3000n), [1, 0, 0])
  t.throws(() => divideTotal(5, [1n], 3000n), { instanceOf: RangeError })
})

test('a packed text is the text, and gzip of pieces is all of them in a row', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ text: texts, isPacked: fc.boolean() }), { maxLength: 8 }), async (pieces) => {
      const given = async function* () {
        for (const { text, isPacked } of pieces) yield isPacked ? await packText(Buffer.from(text)) : text
      }
      const chunks: Uint8Array[] = []
      for await (const chunk of gzipPieces(given())) chunks.push(chunk)
      const whole = pieces.map(({ text }) => text).join('')
      for (const { text } of pieces)
        if (Buffer.from(await unpackText(await packText(Buffer.from(text)))).compare(Buffer.from(text)) !== 0)
          return false
      return gunzipSync(Buffer.concat(chunks)).equals(Buffer.from(whole))
    }),
  )
  const long = 'x'.repeat(200_000)
  const chunks: Uint8Array[] = []
  for await (const chunk of gzipPieces(
    (async function* () {
      yield long
    })(),
  ))
    chunks.push(chunk)
  t.is(gunzipSync(Buffer.concat(chunks)).toString(), long)
})

test('the checksum of two texts follows from that of each', (t) => {
  fc.assert(fc.property(texts, texts, (a, b) => joinedCrc(crc32(a), crc32(b), Buffer.byteLength(b)) === crc32(a + b)))
  t.pass()
})

test('a damaged text is an error', async (t) => {
  const packed = await packText(Buffer.from('{"cpu":1}'))
  await t.throwsAsync(unpackText({ ...packed, crc32: packed.crc32 ^ 1 }), { message: /damaged/ })
  await t.throwsAsync(unpackText({ ...packed, size: packed.size + 1 }), { message: /damaged/ })
})

test('a client gets the type that it prefers', (t) => {
  t.deepEqual(
    [
      'text/csv',
      'text/*',
      '*/*',
      'text/csv;q=0.5',
      'application/json',
      'text/csv;q=0, */*',
      'TEXT/CSV; header=present',
      '',
    ].map((accept) => preferenceFor(accept, 'text/csv; charset=utf-8').quality),
    [1, 1, 1, 0.5, 0, 0, 1, 0],
  )
  const [json, csv]: readonly { readonly contentType: string }[] = [
    { contentType: 'application/json' },
    { contentType: 'text/csv; charset=utf-8' },
  ]
  const isCsv = (accept: string | undefined): boolean => preferredType([json!, csv!], accept) === csv
  for (const accept of [
    'text/csv',
    'text/csv, */*',
    '*/*, text/csv',
    'text/*, */*;q=0.9',
    'application/json;q=0.5, text/csv',
    'TEXT/CSV; header=present',
    'text/csv;v="a,b", application/json;q=0.2',
    'text/csv,,',
    'application/json;q=0, */*',
  ])
    t.true(isCsv(accept), accept)
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/html, */*;q=0.8',
    'text/csv;q=0',
    'text/csv;q=0, */*',
    'text/csv;q=0, application/json;q=0',
    'application/json, text/csv',
    'application/json, text/plain, */*',
    'application/json; charset=utf-8, text/csv;q=0.9',
    'text/csv;q=0.9, application/json',
    'text',
    '/',
    ';q=1',
    'image/png',
  ])
    t.false(isCsv(accept), accept)
})

test('a cell is read back by a reader of RFC 4180, and none is a formula', (t) => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.stringMatching(/^[=+\-@＝＋－＠\t\r][\s\S]{0,9}$/)), (text) => {
      const cell = csvCell(text)
      // Whatever separates cells, a text does not begin another one.
      if (!/^"(?:[^"]|"")*"$/.test(cell)) return false
      const value = cell.slice(1, -1).replaceAll('""', '"')
      return /^[=+\-@＝＋－＠\t\r\n]/.test(text) ? value === `'${text}` : value === text
    }),
  )
  t.deepEqual([null, undefined, 12.5, [7, 9], true].map(csvCell), ['', '', '12.5', '"7 9"', '"true"'])
})

test('a month is 1 to 12 or an English name, and nothing else', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.boolean(), (month, isUpper) => {
      const name = monthNames[month - 1]!
      return (
        parseMonthNumber(isUpper ? name.toUpperCase() : name.toLowerCase()) === month &&
        parseMonthNumber(String(month)) === month &&
        parseMonthNumber(String(month).padStart(2, '0')) === month
      )
    }),
  )
  fc.assert(
    fc.property(
      fc.string(),
      (text) =>
        /^(0?[1-9]|1[0-2])$/.test(text) ||
        monthNames.some((name) => name.toLowerCase() === text.toLowerCase()) ||
        parseMonthNumber(text) === 0,
    ),
  )
  t.pass()
})

test('figures add exactly in thousandths without other members', (t) => {
  const figure = fc.integer({ min: 0, max: 10 ** 9 }).map((thousandths) => thousandths / 1000)
  fc.assert(
    fc.property(
      fc.array(fc.record({ cpu: figure, free: fc.record({ trial: fc.record({ cpu: figure }) }) }), { minLength: 1 }),
      (items) => {
        const sum = items.reduce<ReturnType<typeof addFigures>>(
          addFigures,
          zeroFigures({ ...items[0]!, name: 'x', contractID: 7 }),
        )
        const expected = (of: (item: (typeof items)[number]) => number) =>
          sumOf(items.map((item) => Math.round(of(item) * 1000))) / 1000
        t.deepEqual(sum, {
          cpu: expected(({ cpu }) => cpu),
          free: { trial: { cpu: expected(({ free }) => free.trial.cpu) } },
        })
      },
    ),
    { numRuns: 50 },
  )
  t.is(narrowedItem({ kind: 'Redis', clusterUID: 'a' }, { kind: 'Redis', clusterUID: 'b' }), undefined)
})

const change = (
  generation: number,
  at: number,
  volumes: readonly (readonly [string, number])[] | undefined,
  more: Partial<ReportedChange> = {},
): ReportedChange => ({
  type: 'object.resized',
  generation,
  at: at as UnixSeconds,
  milliCpu: 3000,
  memoryMib: 6144,
  replicas: 3,
  details:
    volumes === undefined
      ? ''
      : JSON.stringify({
          pods: [{ milliCpu: 500, memoryMib: 2048, count: 3 }],
          volumes: volumes.map(([name, sizeMib]) => ({ name, sizeMib, createdAt: 100 })),
        }),
  ...more,
})

test('volumes have their sizes in the order of time, whatever the order of changes', (t) => {
  const changes = [
    change(1, 100, [
      ['data-0', 10_240],
      ['data-1', 512],
    ]),
    change(2, 200, [
      ['data-0', 20_480],
      ['data-1', 512],
    ]),
    change(3, 300, [['data-0', 20_480]]),
    change(4, 400, undefined),
  ]
  const expected = [
    { name: 'data-0', initialSize: '10Gi', expansions: [{ size: '20Gi', at: 200 }], createdAt: 100, deletedAt: null },
    { name: 'data-1', initialSize: '512Mi', expansions: [], createdAt: 100, deletedAt: 300 },
  ]
  fc.assert(
    fc.property(fc.shuffledSubarray(changes, { minLength: 4 }), (shuffled) =>
      t.deepEqual(volumeDetails({ deletedAt: undefined, changes: shuffled }), expected),
    ),
  )
  t.is(volumeDetails({ deletedAt: 500 as UnixSeconds, changes })[0]!.deletedAt, 500)
})

test('pods are those of the last change, or the total by replicas', (t) => {
  const now = 1000 as UnixSeconds
  t.deepEqual(podDetails({ deletedAt: undefined, changes: [change(2, 200, []), change(1, 100, undefined)] }, now), [
    { flavor: { cpu: '500m', memory: '2Gi' }, count: 3, age: 800 },
  ])
  t.deepEqual(podDetails({ deletedAt: undefined, changes: [change(1, 100, undefined)] }, now), [
    { flavor: { cpu: '1', memory: '2Gi' }, count: 3, age: 900 },
  ])
  t.deepEqual(podDetails({ deletedAt: 500 as UnixSeconds, changes: [change(1, 100, undefined)] }, now), [])
  t.deepEqual([0, 512, 1024, 1536].map(sizeQuantity), ['0Mi', '512Mi', '1Gi', '1536Mi'])
  t.deepEqual([0, 500, 1000, 1500].map(cpuQuantity), ['0', '500m', '1', '1500m'])
})
