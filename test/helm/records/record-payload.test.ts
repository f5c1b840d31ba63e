import { gzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { amendInfo, goString } from '../../../adapters/helm/records/record-members.ts'
import {
  pack,
  packedBytes,
  PayloadUnreadable,
  smallRecordBytes,
  unpack,
  unpackSync,
} from '../../../adapters/helm/records/record-payload.ts'
import { releaseStatuses, storageDrivers } from '../../../core/packages/types.ts'
import { goJson, releaseJson } from './records.ts'
import { anyText } from '../../support/any-text.ts'

const largestRecordBytes = 32 * 1024 * 1024

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

for (const driver of storageDrivers) {
  test(`${driver}: packed data is unpacked byte for byte`, async (t) => {
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

test("the packed form has Helm's header, and a Secret one more base64 layer", async (t) => {
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

test('a record that unpacks beyond the limit is refused', async (t) => {
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

test('truncated, changed and non-base64 data is refused', async (t) => {
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

test('data without info or status is not a record', (t) => {
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
