import test from 'ava'
import fc from 'fast-check'
import { cleanLine, StderrLines } from '../../../adapters/helm/process/child-process.ts'
import { asProgress, errorOf, makeRedact } from '../../../adapters/helm/process/helm-output.ts'
import { anyText } from '../../support/any-text.ts'

test('an error is reported without its place in the program', (t) => {
  const helm3 = `install.go:225: 2026-11-22 02:55:11.048 +0000 UTC m=+0.136 [debug] Original chart version: ""
Error: INSTALLATION FAILED: failed pre-install: 1 error occurred:
\t* timed out waiting for the condition


helm.go:86: 2026-11-22 02:55:11.056 +0000 UTC m=+0.145 [debug] 1 error occurred:
\t* timed out waiting for the condition
helm.sh/helm/v3/pkg/kube.(*Client).IsReachable
`
  t.is(errorOf(helm3), 'failed pre-install: timed out waiting for the condition')
  t.is(
    errorOf('level=DEBUG msg=x\nError: UPGRADE FAILED: "rr4" has no deployed releases\n'),
    '"rr4" has no deployed releases',
  )
  t.is(
    errorOf('Error: INSTALLATION FAILED: execution error at (c1/templates/a.yaml:1:3): no'),
    'the template c1/templates/a.yaml:1:3 says: no',
  )
  t.is(errorOf('Error: one\nlevel=WARN msg=x\nError: two\n'), 'two')
  t.is(
    errorOf(
      'Error: YAML parse error on c1/templates/a.yaml: found unexpected end\n\nUse --debug flag to render out invalid YAML\n',
    ),
    'YAML parse error on c1/templates/a.yaml: found unexpected end',
  )
  t.is(
    errorOf(
      'Error: An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: db',
    ),
    'found in Chart.yaml, but missing in charts/ directory: db',
  )
  t.is(errorOf('Killed'), undefined)
  t.is(errorOf(`Error: ${'x'.repeat(10_000)}`)?.length, 2_001)
})

test('a secret at the place where an error is cut is not shown in part', (t) => {
  const redact = makeRedact({ password: 'hunter2-and-more' }, 'http://127.0.0.1:1/x')
  const shown = errorOf(`Error: ${'x'.repeat(1_990)}hunter2-and-more${'y'.repeat(100)}`, redact)
  t.false(shown?.includes('hunter2'))
  t.true(shown?.endsWith('***yyyyyyy…'))
})

test('progress is reported without times and places', (t) => {
  t.is(
    asProgress('client.go:142: 2026-11-22 03:02:21.186720337 +0000 UTC m=+0.306169489 [debug] creating 1 resource(s)'),
    'creating 1 resource(s)',
  )
  t.is(asProgress('level=DEBUG msg="waiting for resources" count=1'), 'waiting for resources count=1')
  t.is(asProgress('level=WARN msg="say \\"this\\""'), 'warn: say "this"')
  t.is(asProgress('level=INFO msg=done a=b'), 'done a=b')
  t.is(
    asProgress(
      'install.go:242: 2026-11-22 02:55:11.04 +0000 UTC m=+0.1 [debug] CHART PATH: /tmp/moorage-helm-1/chart.tgz',
    ),
    undefined,
  )
  t.is(asProgress('level=DEBUG msg="Chart path" path=/tmp/moorage-helm-1/chart.tgz'), undefined)
  t.is(asProgress('   '), undefined)
})

const key = fc.constantFrom(
  'password',
  'dbPassword',
  'token',
  'secretKey',
  'privateKey',
  'auth',
  'credentials',
  'apiKey',
)
const word = fc.stringMatching(/^[A-Za-z0-9/+_.-]{8,40}$/)

test('the value of a secret-like key is hidden, also in base64', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(key, word, fc.constantFrom('list', 'nested', 'plain', 'lines'), (name, value, how) => {
        const held =
          how === 'list'
            ? [value]
            : how === 'nested'
              ? { any: { deep: value } }
              : how === 'lines'
                ? `first line here\n${value}\n`
                : value
        const redact = makeRedact({ app: { [name]: held } }, 'http://127.0.0.1:1/x')
        const shown = redact(`no: "${value}", ${Buffer.from(value).toString('base64')} and ${value}${value}`)
        return !shown.includes(value) && !shown.includes(Buffer.from(value).toString('base64'))
      }),
    ),
  )
})

test("cluster access and helm's overridden values are hidden", (t) => {
  const redact = makeRedact({ image: 'nginx', replicas: 3 }, 'http://127.0.0.1:4000/0123456789abcdef')
  t.is(redact('Get "http://127.0.0.1:4000/0123456789abcdef/version": EOF'), 'Get "https://member-cluster/version": EOF')
  t.is(
    redact('warning: cannot overwrite table with non table for c1.tbl (map[x:map[secretish:tablesecret]])'),
    'warning: cannot overwrite table with non table for c1.tbl (…)',
  )
  t.is(redact('image nginx: 3 replicas'), 'image nginx: 3 replicas')
})

test('lines are cut, cleaned and counted', (t) => {
  const lines: string[] = []
  const reader = new StderrLines((line) => void lines.push(line))
  const euro = Buffer.from('€ one\n')
  reader.add(euro.subarray(0, 1))
  reader.add(euro.subarray(1))
  reader.add(Buffer.from('\u001b[31mred\u001b[0m\u0007\r\n\n'))
  reader.add(Buffer.from('x'.repeat(3_000)))
  reader.add(Buffer.from('y'.repeat(3_000)))
  reader.end()
  t.deepEqual(lines.slice(0, 2), ['€ one', 'red'])
  t.is(lines[2]?.length, 500)
  t.is(lines.length, 3)
  for (let at = 0; at < 3_000; at += 1) reader.add(Buffer.from(`line ${at}\n`))
  t.is(lines.length, 2_000)
  t.is(lines.at(-1), 'Helm says more than is kept.')
})

test('a cleaned line holds nothing that a terminal obeys', (t) => {
  t.notThrows(() => fc.assert(fc.property(anyText(), (text) => !/[\p{Cc}\u001b\u202e]/u.test(cleanLine(text)))))
})
