import { gzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { makeHeaderDecoder } from '../../../adapters/helm/records/header-decoder.ts'
import { headerOfBegin } from '../../../adapters/helm/records/record-members.ts'
import { headerOf, PayloadUnreadable, smallRecordBytes } from '../../../adapters/helm/records/record-payload.ts'
import { goJson, releaseJson } from './records.ts'

const key = { name: 'web', namespace: 'shop', version: 3 }
const packed = (json: string): Buffer => gzipSync(json, { level: 9 })
/** Text that hardly packs. */
const noise = (chars: number, seed = 7): string => {
  let state = seed
  return Array.from({ length: chars }, () => String.fromCharCode(33 + ((state = (state * 48271) % 2147483647) % 90))).join('')
}

const decoder = makeHeaderDecoder()
test.after.always(() => decoder.close())

const shuffledKeys = fc.shuffledSubarray(['name', 'info', 'chart', 'manifest', 'version', 'namespace', 'config'], { minLength: 7, maxLength: 7 })

test('a header is the same, whatever the order of keys, the blanks and the packing', async (t) => {
  await fc.assert(
    fc.asyncProperty(shuffledKeys, fc.boolean(), fc.boolean(), fc.boolean(), fc.integer({ min: 0, max: 9000 }), async (order, hasBlanks, isPacked, isChartLast, notes) => {
      const whole = releaseJson({ ...key, notes: noise(notes), config: { info: { status: 'none' }, chart: 1 } }) as Record<string, unknown>
      const chart = isChartLast ? Object.fromEntries(Object.entries(whole['chart'] as object).toReversed()) : whole['chart']
      const release = { ...Object.fromEntries(order.map((each) => [each, whole[each]])), chart }
      const text = hasBlanks ? JSON.stringify(release, undefined, 2) : goJson(release)
      t.deepEqual(await decoder.decode(isPacked ? packed(text) : Buffer.from(text), key), headerOf(whole, key))
    }),
    { numRuns: 100 },
  )
})

test("what Helm writes is read by its begin, also where the rest is larger than anything that is unpacked at once", async (t) => {
  const release = releaseJson({ ...key, notes: 'Some "notes" {', manifest: noise(200_000), values: { text: noise(2_000_000) } })
  const bytes = packed(goJson(release))
  t.deepEqual(headerOfBegin(bytes, key), headerOf(release, key))
  t.deepEqual(await decoder.decode(bytes, key), headerOf(release, key))
})

test('a large record that is written otherwise is read on a thread, several at a time, and the thread is made again', async (t) => {
  const own = makeHeaderDecoder()
  const { name, info, ...rest } = releaseJson({ ...key, manifest: noise(smallRecordBytes + 1) }) as Record<string, unknown>
  const bytes = packed(goJson({ ...rest, info, name }))
  t.is(headerOfBegin(bytes, key), undefined)
  const expected = headerOf({ ...rest, info, name }, key)
  t.deepEqual(await Promise.all([1, 2, 3].map(() => own.decode(bytes, key))), [expected, expected, expected])
  await t.throwsAsync(own.decode(bytes, { ...key, version: 4 }), { instanceOf: PayloadUnreadable })
  await own.close()
  t.deepEqual(await own.decode(bytes, key), expected)
  const interrupted = own.decode(bytes, key)
  await Promise.all([t.throwsAsync(interrupted, { message: /thread/ }), own.close()])
})

test('what is no record, or that of another release, is unreadable', async (t) => {
  const other = goJson(releaseJson({ ...key, name: 'other' }))
  const noStatus = goJson({ ...releaseJson(key), info: {} })
  for (const text of ['', 'null', '[]', '{}', '{"name":"web"', other, noStatus, `x${goJson(releaseJson(key))}`, goJson(releaseJson(key)).slice(0, 60)]) {
    await t.throwsAsync(decoder.decode(packed(text), key), { instanceOf: PayloadUnreadable }, text.slice(0, 60))
    await t.throwsAsync(decoder.decode(Buffer.from(text), key), { instanceOf: PayloadUnreadable }, text.slice(0, 60))
  }
})
