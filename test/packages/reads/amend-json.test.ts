import test from 'ava'
import fc from 'fast-check'
import { amendInfo, goString } from '../../../adapters/helm/records/record-members.ts'
import { PayloadUnreadable } from '../../../adapters/helm/records/record-payload.ts'
import { releaseStatuses } from '../../../core/packages/types.ts'
import { goJson, releaseJson } from './records.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 30 }).map((text) => text.toWellFormed())
/** Keys that look like ours, strings with brackets and quotes, numbers that no double holds. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('12345678901234567890', '1.0', '-0', '1e21', 'true', 'null'),
    anyText.map(goString),
    fc.array(tie('value')).map((items) => `[${items.join(', ')}]`),
    fc.dictionary(fc.oneof(fc.constantFrom('info', 'status', 'description', '9', '10'), anyText), tie('value')).map((entries) => `{${Object.entries(entries).map(([key, item]) => `${goString(key)} : ${String(item)}`).join(' ,')}}`),
  ),
})).value as fc.Arbitrary<string>

const someRecordText = fc
  .record({ before: fc.array(anyValue, { maxLength: 3 }), after: fc.array(anyValue, { maxLength: 3 }), inside: fc.array(anyValue, { maxLength: 3 }), description: anyText, status: fc.constantFrom(...releaseStatuses) })
  .map(({ before, after, inside, description, status }) => {
    const members = (prefix: string, values: readonly string[]): string[] => values.map((value, index) => `${goString(`${prefix}${index}`)}:${value}`)
    const info = `"info":{${[...members('x', inside), `"description":${goString(description)}`, `"status": "${status}"`, '"notes":"status: {\\"description\\"}"'].join(',')}}`
    return { text: `{${[...members('b', before), info, ...members('a', after)].join(',')}}`, description, status }
  })

test('a record is amended where it must be, and every other byte stays', (t) => {
  fc.assert(
    fc.property(someRecordText, anyText, fc.constantFrom(...releaseStatuses), ({ text, description, status }, nextDescription, nextStatus) => {
      const amended = amendInfo(text, { description: nextDescription, status: nextStatus })
      const parsed = JSON.parse(amended) as { readonly info: Readonly<Record<string, unknown>> }
      t.is(parsed.info['description'], nextDescription)
      t.is(parsed.info['status'], nextStatus)
      t.is(amendInfo(amended, { description, status }), text)
      t.is(amendInfo(text, {}), text)
      t.is(amendInfo(text, { status }), text)
    }),
  )
})

test('a description that was empty is put where Helm writes it', (t) => {
  const { info, ...rest } = releaseJson({ name: 'web', namespace: 'shop', version: 1 }) as { readonly info: Readonly<Record<string, unknown>> }
  const { description: _, ...bare } = info
  t.is(
    amendInfo(goJson({ ...rest, info: bare }), { description: 'Ended by <us> & "them"' }),
    goJson({ ...rest, info: { first_deployed: info['first_deployed'], last_deployed: info['last_deployed'], deleted: '', description: 'Ended by <us> & "them"', status: 'deployed' } }),
  )
})

test("strings are written as Go's encoder does", (t) => {
  t.is(goString('<a href="x">&\u2028\u2029\t\n\u0001é\u{1f600}\u007f'), '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\u2029\\t\\n\\u0001é\u{1f600}\u007f"')
})

test('what has no info, or one without a status, is no record', (t) => {
  for (const text of ['{}', '[]', '"info"', '{"info":null}', '{"info":[1]}', '{"chart":{"info":{"status":"deployed"}}}']) {
    t.throws(() => amendInfo(text, { status: 'failed' }), { instanceOf: PayloadUnreadable }, text)
  }
  t.throws(() => amendInfo('{"info":{}}', { description: 'x' }), { instanceOf: PayloadUnreadable })
})
