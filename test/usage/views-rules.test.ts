import { crc32, gunzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { packText, unpackText } from '../../adapters/sql/usage/packed-text.ts'
import { gzipPieces, joinedCrc } from '../../composition/http/answer/gzip-pieces.ts'
import { preferenceFor } from '../../composition/http/answer/streamed-answer.ts'
import type { ReportedChange } from '../../core/usage/views/namespace-ports.ts'
import { cpuQuantity, podDetails, sizeQuantity, volumeDetails } from '../../core/usage/views/namespace-report.ts'
import type { UnixSeconds } from '../../core/usage/types.ts'
import { csvCell } from '../../core/usage/views/csv.ts'
import { addFigures, narrowedItem, zeroFigures } from '../../core/usage/views/narrow-view.ts'
import { divideTotal, makeRunningShares, totalShown } from '../../core/usage/views/shares.ts'
import { parseMonthNumber } from '../../core/usage/month.ts'
import { monthNames } from '../../core/usage/types.ts'

const texts = fc.string({ unit: 'binary', maxLength: 300 })
const perUnit = fc.integer({ min: 2, max: 10_000 }).map((half) => BigInt(half) * 2n)
const amounts = fc.array(fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 12n })), { maxLength: 40 })
const sumOf = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0)

test('running shares add up to the total, and any run of them is less than a thousandth off', (t) => {
  fc.assert(
    fc.property(amounts, perUnit, fc.boolean(), (given, unit, isOther) => {
      const exact = given.reduce((all, each) => all + each, 0n)
      const nearest = totalShown(given, unit)
      // Either of the two thousandths next to the exact sum may be the total.
      const [floor, ceiling] = [Number((exact * 1000n) / unit), Number((exact * 1000n + unit - 1n) / unit)]
      const total = isOther ? (nearest === floor ? ceiling : floor) : nearest
      const shares = makeRunningShares(exact, total, unit)
      const shown = given.map((amount) => shares.next(amount))
      if (sumOf(shown) !== total || shown.some((each) => each < 0)) return false
      return given.every((_, from) => {
        const difference = BigInt(sumOf(shown.slice(from))) * unit - given.slice(from).reduce((all, each) => all + each, 0n) * 1000n
        return difference < unit && difference > -unit
      })
    }),
  )
  t.throws(() => makeRunningShares(1000n, 7, 2000n), { instanceOf: RangeError })
})

test('a total is divided by largest remainder, into the two thousandths next to each amount', (t) => {
  fc.assert(
    fc.property(amounts, perUnit, (given, unit) => {
      const total = totalShown(given, unit)
      const shown = divideTotal(total, given, unit)
      return sumOf(shown) === total && given.every((amount, index) => [0n, 1n].includes(BigInt(shown[index]!) - (amount * 1000n) / unit))
    }),
  )
  t.deepEqual(divideTotal(1, [1n, 1n, 1n], 3000n), [1, 0, 0])
  t.throws(() => divideTotal(5, [1n], 3000n), { instanceOf: RangeError })
})

test('a packed text is the text, and gzip of pieces is all of them in a row', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ text: texts, isPacked: fc.boolean() }), { maxLength: 8 }), async (pieces) => {
      const given = async function* () {
        for (const { text, isPacked } of pieces) yield isPacked ? await packText(text) : text
      }
      const chunks: Uint8Array[] = []
      for await (const chunk of gzipPieces(given())) chunks.push(chunk)
      const whole = pieces.map(({ text }) => text).join('')
      for (const { text } of pieces) if (Buffer.from(await unpackText(await packText(text))).compare(Buffer.from(text)) !== 0) return false
      return gunzipSync(Buffer.concat(chunks)).equals(Buffer.from(whole))
    }),
  )
  const long = 'x'.repeat(200_000)
  const chunks: Uint8Array[] = []
  for await (const chunk of gzipPieces((async function* () { yield long })())) chunks.push(chunk)
  t.is(gunzipSync(Buffer.concat(chunks)).toString(), long)
})

test('the checksum of two texts follows from that of each', (t) => {
  fc.assert(fc.property(texts, texts, (a, b) => joinedCrc(crc32(a), crc32(b), Buffer.byteLength(b)) === crc32(a + b)))
  t.pass()
})

test('a damaged text is an error', async (t) => {
  const packed = await packText('{"cpu":1}')
  await t.throwsAsync(unpackText({ ...packed, crc32: packed.crc32 ^ 1 }), { message: /damaged/ })
  await t.throwsAsync(unpackText({ ...packed, size: packed.size + 1 }), { message: /damaged/ })
})

test('a client gets the type that it prefers', (t) => {
  t.deepEqual(
    ['text/csv', 'text/*', '*/*', 'text/csv;q=0.5', 'application/json', 'text/csv;q=0, */*', 'TEXT/CSV; header=present', ''].map((accept) => preferenceFor(accept, 'text/csv; charset=utf-8')),
    [1, 1, 1, 0.5, 0, 0, 1, 0],
  )
})

test('a cell is read back by a reader of RFC 4180, and none is a formula', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[=+\-@\t\r][\s\S]{0,9}$/)), (text) => {
      const cell = csvCell(text)
      const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
      if (!cell.startsWith('"') && /[",\r\n]/.test(cell)) return false
      return /^[=+\-@\t\r\n]/.test(text) ? value === `'${text}` : value === text
    }),
  )
  t.deepEqual([null, undefined, 12.5, [7, 9], true].map(csvCell), ['', '', '12.5', '7 9', 'true'])
})

test('a month is 1 to 12 or an English name, and nothing else', (t) => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 12 }), fc.boolean(), (month, isUpper) => {
    const name = monthNames[month - 1]!
    return parseMonthNumber(isUpper ? name.toUpperCase() : name.toLowerCase()) === month && parseMonthNumber(String(month)) === month && parseMonthNumber(String(month).padStart(2, '0')) === month
  }))
  fc.assert(fc.property(fc.string(), (text) => /^(0?[1-9]|1[0-2])$/.test(text) || monthNames.some((name) => name.toLowerCase() === text.toLowerCase()) || parseMonthNumber(text) === 0))
  t.pass()
})

test('figures are added exactly in thousandths, and other members are left out of totals', (t) => {
  const figure = fc.integer({ min: 0, max: 10 ** 9 }).map((thousandths) => thousandths / 1000)
  fc.assert(
    fc.property(fc.array(fc.record({ cpu: figure, free: fc.record({ trial: fc.record({ cpu: figure }) }) }), { minLength: 1 }), (items) => {
      const sum = items.reduce<ReturnType<typeof addFigures>>(addFigures, zeroFigures({ ...items[0]!, name: 'x', contractID: 7 }))
      const expected = (of: (item: (typeof items)[number]) => number) => sumOf(items.map((item) => Math.round(of(item) * 1000))) / 1000
      t.deepEqual(sum, { cpu: expected(({ cpu }) => cpu), free: { trial: { cpu: expected(({ free }) => free.trial.cpu) } } })
    }),
    { numRuns: 50 },
  )
  t.is(narrowedItem({ kind: 'Redis', clusterUID: 'a' }, { kind: 'Redis', clusterUID: 'b' }), undefined)
})

const change = (generation: number, at: number, volumes: readonly (readonly [string, number])[] | undefined, more: Partial<ReportedChange> = {}): ReportedChange => ({
  type: 'object.resized', generation, at: at as UnixSeconds, milliCpu: 3000, memoryMib: 6144, replicas: 3,
  details: volumes === undefined ? '' : JSON.stringify({ pods: [{ milliCpu: 500, memoryMib: 2048, count: 3 }], volumes: volumes.map(([name, sizeMib]) => ({ name, sizeMib, createdAt: 100 })) }), ...more,
})

test('volumes have their sizes in the order of time, whatever the order of changes', (t) => {
  const changes = [change(1, 100, [['data-0', 10_240], ['data-1', 512]]), change(2, 200, [['data-0', 20_480], ['data-1', 512]]), change(3, 300, [['data-0', 20_480]]), change(4, 400, undefined)]
  const expected = [
    { name: 'data-0', initialSize: '10Gi', expansions: [{ size: '20Gi', at: 200 }], createdAt: 100, deletedAt: null },
    { name: 'data-1', initialSize: '512Mi', expansions: [], createdAt: 100, deletedAt: 300 },
  ]
  fc.assert(fc.property(fc.shuffledSubarray(changes, { minLength: 4 }), (shuffled) => t.deepEqual(volumeDetails({ deletedAt: undefined, changes: shuffled }), expected)))
  t.is(volumeDetails({ deletedAt: 500 as UnixSeconds, changes })[0]!.deletedAt, 500)
})

test('pods are those of the last change; without a report of pods, the whole divided by replicas; none of a deleted database', (t) => {
  const now = 1000 as UnixSeconds
  t.deepEqual(podDetails({ deletedAt: undefined, changes: [change(2, 200, []), change(1, 100, undefined)] }, now), [{ flavor: { cpu: '500m', memory: '2Gi' }, count: 3, age: 800 }])
  t.deepEqual(podDetails({ deletedAt: undefined, changes: [change(1, 100, undefined)] }, now), [{ flavor: { cpu: '1', memory: '2Gi' }, count: 3, age: 900 }])
  t.deepEqual(podDetails({ deletedAt: 500 as UnixSeconds, changes: [change(1, 100, undefined)] }, now), [])
  t.deepEqual([0, 512, 1024, 1536].map(sizeQuantity), ['0Mi', '512Mi', '1Gi', '1536Mi'])
  t.deepEqual([0, 500, 1000, 1500].map(cpuQuantity), ['0', '500m', '1', '1500m'])
})
