import { gzipSync } from 'node:zlib'
import test from 'ava'
import fc from 'fast-check'
import { largestRecordBytes, pack, packedBytes, PayloadUnreadable, smallRecordBytes, unpack, unpackSync } from '../../../adapters/helm/records/record-payload.ts'
import { storageDrivers } from '../../../core/packages/types.ts'

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

for (const driver of storageDrivers) {
  test(`${driver}: what is packed is unpacked byte for byte`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 5000 }), async (text) => {
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
  for (const text of ['%%%%', 'abc', 'a===', 'YWJj\n', 'YW\nJj\n\n', 'YQ==YQ==', 'Ä===', 'ab-_', '====']) t.throws(() => packedBytes('ConfigMap', text), { instanceOf: PayloadUnreadable }, text)
  t.throws(() => packedBytes('Secret', base64(Buffer.from('%%%%'))), { instanceOf: PayloadUnreadable })
})
