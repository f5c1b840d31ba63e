import test from 'ava'
import fc from 'fast-check'
import { makeRedact } from '../../../adapters/helm/process/helm-output.ts'
import { redactAll, redactSecrets } from '../../../core/kernel/redaction.ts'

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

test('one list of words marks what is secret, for helm and for this service', (t) => {
  const keys = [
    'password', 'passphrase', 'clientSecret', 'token', 'apikey', 'KEY', 'signing_key', 'credentials', 'auth', 'privatePem', 'cert', 'dsn', 'connection', 'salt', 'hash', 'license', 'licence',
  ]
  for (const key of keys) {
    const values = { app: { [key]: ['hunter2-more'] } }
    for (const redact of [redactSecrets(values), makeRedact(values, 'http://127.0.0.1:1/x')]) t.is(redact('is hunter2-more'), 'is ***', key)
  }
  t.is(redactSecrets({ image: 'nginx:1.29', replicas: 12345 })('nginx:1.29, 12345 times'), 'nginx:1.29, 12345 times')
})

test('a secret is found in each form in which it is quoted', (t) => {
  const value = 'first "line"\n  pin\nlast line, ünïcode'
  const redact = redactSecrets({ secret: value, pin: { key: 4711 }, auth: [Object(12345) as never, 9007199254740993n] })
  for (const line of value.split('\n')) {
    for (const form of [line, line.trim(), JSON.stringify(line).slice(1, -1)]) {
      if (form.trim().length >= 4) t.is(redact(`<${form.trim()}>`), '<***>', form)
    }
  }
  for (const form of [value, 'last line, ünïcode', 'first "line"']) t.is(redact(`<${Buffer.from(form).toString('base64')}>`), '<***>', form)
  t.is(redact(JSON.stringify({ a: value })), '{"a":"***"}')
  t.is(redact('4711, 12345.0, 9007199254740993'), '***, ***.0, ***')
})
