import test from 'ava'
import fc from 'fast-check'
import { redactAll, redactSecrets } from '../../../core/packages/releases/redaction.ts'

/** What callers gave is taken out of what others wrote, however much of it there is. */
test('nothing that is sought stays, wherever such texts overlap', (t) => {
  t.is(redactAll({ a: 'abcdef', b: 'cdefghij' })('x abcdefghij y'), 'x *** y')
  t.is(redactSecrets({ password: ['hunter2', 'hunter2-more'] })('hunter2-more, hunter2'), '***, ***')
  const texts = fc.array(fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') }), { maxLength: 8 })
  t.notThrows(() =>
    fc.assert(
      fc.property(texts, fc.string({ maxLength: 200, unit: fc.constantFrom('a', 'b', 'c', ' ') }), (values, text) => {
        const shown = redactAll({ values })(text)
        return values.every((each) => !shown.includes(each))
      }),
    ),
  )
})

test('a text that would take too long shows only what was looked at', (t) => {
  const secrets = Array.from({ length: 20_000 }, (_, index) => `${'a'.repeat(24)}${index}`)
  const text = `${'b'.repeat(100)}${'a'.repeat(200_000)} tail ${secrets[7]}`
  const shown = redactSecrets({ secrets })(text)
  t.true(shown.startsWith('b'.repeat(100)))
  t.true(shown.endsWith('***'))
  t.false(shown.includes('tail'))
})

test('with too many texts to seek nothing is shown', (t) => {
  const redact = redactAll({ values: Array.from({ length: 10 }, (_, index) => String(index).repeat(1024 * 1024)) })
  t.is(redact('anything'), '***')
  t.is(redact(''), '')
})
