import test from 'ava'
import fc from 'fast-check'
import { makeRedact } from '../../adapters/helm/process/helm-output.ts'
import { redactAll, redactSecrets } from '../../core/kernel/secret.ts'

/** What callers gave is taken out of what others wrote, however much of it there is. */
test('nothing that is sought stays, wherever such texts overlap', (t) => {
  t.is(redactAll({ a: 'abcdef', b: 'cdefghij' })('x abcdefghij y'), 'x *** y')
  t.is(redactSecrets({ password: ['hunter2', 'hunter2-more'] })('hunter2-more, hunter2'), '***, ***')
  const texts = fc.array(fc.string({ minLength: 6, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') }), {
    maxLength: 8,
  })
  t.notThrows(() =>
    fc.assert(
      fc.property(texts, fc.string({ maxLength: 200, unit: fc.constantFrom('a', 'b', 'c', ' ') }), (values, text) => {
        const shown = redactAll({ values })(text)
        return values.every((each) => !shown.includes(each))
      }),
    ),
  )
})

test('a text beyond the time limit shows only its inspected part', (t) => {
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

test('helm and this service share one list of secret words', (t) => {
  const keys = [
    'password',
    'passphrase',
    'clientSecret',
    'token',
    'apikey',
    'KEY',
    'signing_key',
    'credentials',
    'auth',
    'privatePem',
    'cert',
    'dsn',
    'connection',
    'salt',
    'hash',
    'license',
    'licence',
  ]
  for (const key of keys) {
    const values = { app: { [key]: ['hunter2-more'] } }
    for (const redact of [redactSecrets(values), makeRedact(values, 'http://127.0.0.1:1/x')])
      t.is(redact('is hunter2-more'), 'is ***', key)
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
  for (const form of [value, 'last line, ünïcode', 'first "line"'])
    t.is(redact(`<${Buffer.from(form).toString('base64')}>`), '<***>', form)
  t.is(redact(JSON.stringify({ a: value })), '{"a":"***"}')
  t.is(redact('4711, 12345.0, 9007199254740993'), '***, ***.0, ***')
})

test('values are taken out of words that others wrote, also in pieces and in JSON', (t) => {
  const values = {
    image: 'registry.example.com/web:1',
    auth: { user: 'harbour', password: 'quiet "lantern"', pin: 123456 },
    text: 'line one of it\nline two of it',
  }
  const all = redactAll(values)
  t.is(all('failed at quiet "lantern" and 123456 near registry.example.com/web:1'), 'failed at *** and *** near ***')
  t.is(all('json: quiet \\"lantern\\"'), 'json: ***')
  t.is(all('  line two of it: bad'), '  ***: bad')
  const secrets = redactSecrets(values)
  t.is(
    secrets('pulling registry.example.com/web:1 as harbour, quiet "lantern"'),
    'pulling registry.example.com/web:1 as ***, ***',
  )
})

test('kinds and names of objects stay readable, although they are values too', (t) => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-frontend', namespace: 'storefront', labels: { tier: 'frontend' } },
    spec: { image: 'registry.example.com/web:1' },
  }
  const values = {
    resources: {
      appsDeployment: deployment,
      secret_config: { ...deployment, kind: 'Secret', apiVersion: 'v1', data: { pin: 'aHVudGVyMg==' } },
    },
  }
  const text =
    'Deployment.apps "web-frontend" is invalid: spec: Invalid value: "registry.example.com/web:1" in storefront, apps/v1, frontend; Secret "web-frontend" aHVudGVyMg==, Deploymentx'
  t.is(
    redactAll(values)(text),
    'Deployment.apps "web-frontend" is invalid: spec: Invalid value: "***" in storefront, apps/v1, ***; Secret "web-frontend" ***, ***x',
  )
  t.is(
    redactSecrets(values)('Secret "web-frontend" in storefront: aHVudGVyMg=='),
    'Secret "web-frontend" in storefront: ***',
  )
  // Of a chart that is no editor the objects are known from its rendering.
  const chart = redactAll({ fullnameOverride: 'orders-db', part: 'orders', password: 'orders-db-7' })
  t.is(
    chart('StatefulSet.apps "orders-db" is invalid: orders-db-7, orders'),
    'StatefulSet.apps "***" is invalid: ***, ***',
  )
  t.is(
    chart('StatefulSet.apps "orders-db" is invalid: orders-db-7, orders', ['StatefulSet', 'orders-db']),
    'StatefulSet.apps "orders-db" is invalid: ***, ***',
  )
})

test('no text of six characters or more survives', (t) => {
  const words = fc.dictionary(
    fc.string({ maxLength: 5 }),
    fc.string({ minLength: 6, maxLength: 12 }).filter((text) => text.trim().length >= 6 && !text.includes('*')),
  )
  fc.assert(
    fc.property(words, fc.string({ maxLength: 10 }), (values, around) => {
      const redact = redactAll(values)
      for (const text of Object.values(values)) t.false(redact(`${around}${text}${around}`).includes(text))
    }),
  )
})
