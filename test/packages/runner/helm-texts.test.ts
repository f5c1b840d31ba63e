// process: waiting - uses components
import { execFile } from 'node:child_process'
import test from 'ava'
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import type { HelmOperation } from '../../../adapters/helm/process/arguments.ts'
import { argumentsOf, capabilitiesOf, nameProblem } from '../../../adapters/helm/process/arguments.ts'
import { cleanLine, StderrLines } from '../../../adapters/helm/process/child-process.ts'
import {
  asProgress,
  errorOf,
  makeRedact,
  readReleaseOutput,
  readTemplateOutput,
} from '../../../adapters/helm/process/helm-output.ts'
import type { ClusterAnswer, MemberCluster } from '../../../core/clusters/ports.ts'
import type { HelmFlags } from '../../../core/packages/releases/ports.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { chartTexts } from '../texts.ts'
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

test('the value of a key that sounds like a secret is shown nowhere, not in base64 either', (t) => {
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

test('the way into the cluster, and what helm overrides, are not shown', (t) => {
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

const document = (name: string, annotations = ''): string =>
  `# Source: c/templates/${name}.yaml\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${annotations}`
const hookOf = (name: string, events: string, more = ''): string =>
  document(name, `  annotations:\n    "helm.sh/hook": ${events}\n${more}`)

test('documents keep their order, text and source; hooks stand apart', async (t) => {
  const output = `\n---\n${document('a')}---\n${hookOf('b', 'pre-install,test-success', '    helm.sh/hook-weight: "-5"\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n')}---\n${document('c')}`
  const { manifest, hooks, notes, release } = await readTemplateOutput(chartTexts, output)
  t.is(manifest, `---\n${document('a')}---\n${document('c')}`)
  t.deepEqual(hooks, [
    {
      name: 'b',
      kind: 'ConfigMap',
      path: 'c/templates/b.yaml',
      manifest: hookOf(
        'b',
        'pre-install,test-success',
        '    helm.sh/hook-weight: "-5"\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n',
      )
        .split('\n')
        .slice(1)
        .join('\n')
        .trimEnd(),
      events: ['pre-install', 'test'],
      weight: -5,
      delete_policies: ['hook-succeeded', 'before-hook-creation'],
    },
  ])
  t.is(notes, '')
  t.is(release, undefined)
})

test('a document that only speaks of hooks, or cannot be read, is none', async (t) => {
  const odd = [
    `# Source: x\nkind: ConfigMap\ndata: { a: "helm.sh/hook: pre-install" }`,
    `# Source: y\nhelm.sh/hook: [`,
    `# Source: z\nmetadata: { annotations: { helm.sh/hook: 5 } }`,
    `# Source: w\nmetadata: { annotations: [helm.sh/hook] }`,
    '# helm.sh/hook',
  ]
  const { manifest, hooks } = await readTemplateOutput(chartTexts, odd.map((text) => `---\n${text}\n`).join(''))
  t.deepEqual(hooks, [])
  for (const text of odd) t.true(manifest.includes(text))
})

test('a text of dashes inside a document does not divide it', async (t) => {
  const block =
    '# Source: pem\nkind: Secret\nstringData:\n  key: |\n    -----BEGIN KEY-----\n    ---\n    -----END KEY-----'
  t.is((await readTemplateOutput(chartTexts, `---\n${block}\n`)).manifest, `---\n${block}\n`)
})

test('nothing that is printed breaks the reading', async (t) => {
  await t.notThrowsAsync(
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.string(),
            fc.constantFrom('---\n', 'helm.sh/hook', '\n', 'annotations:', '&a [*a]', '{"a":', '!!binary'),
          ),
        ),
        async (parts) => {
          const { manifest, hooks } = await readTemplateOutput(chartTexts, parts.join(''))
          const read = await readReleaseOutput(chartTexts, Buffer.from(parts.join('')))
          return (
            typeof manifest === 'string' && Array.isArray(hooks) && (read === undefined || read.release !== undefined)
          )
        },
      ),
    ),
  )
})

test('a record is read after any other output, and only a record', async (t) => {
  const record = {
    name: 'a',
    namespace: 'n',
    version: 2,
    info: { status: 'deployed', notes: 'hi' },
    manifest: 'm',
    hooks: [{ name: 'h' }],
    chart: { files: ['large'] },
  }
  const read = await readReleaseOutput(chartTexts, Buffer.from(`warning\n${JSON.stringify(record)}\n`))
  t.like(read, { manifest: 'm', notes: 'hi', hooks: [{ name: 'h' }], release: { version: 2 } })
  t.false('chart' in (read?.release ?? {}))
  for (const text of ['', 'null', '{}', '{"name":1}', '{"name":"a","version":"1"}', 'Rollback was a success!'])
    t.is(await readReleaseOutput(chartTexts, Buffer.from(text)), undefined, text)
})

test('what is too long for a record is not read for hooks', async (t) => {
  const long = hookOf('long', 'pre-install', `data:\n  a: ${'x'.repeat(1024 * 1024)}\n`)
  const { manifest, hooks } = await readTemplateOutput(chartTexts, `---\n${long}---\n${hookOf('short', 'pre-install')}`)
  t.deepEqual(
    hooks.map(({ name }) => name),
    ['short'],
  )
  t.true(manifest.includes('name: long'))
  const many = Array.from(
    { length: 10 },
    (_, index) => `---\n${hookOf(`h${index}`, 'pre-install', `data:\n  a: ${'x'.repeat(900 * 1024)}\n`)}`,
  ).join('')
  t.is((await readTemplateOutput(chartTexts, many)).hooks.length, 4)
})

const answering = (version: unknown, core: unknown, groups: unknown): MemberCluster => {
  const answers: Readonly<Record<string, unknown>> = { '/version': version, '/api': core, '/apis': groups }
  return {
    request: ({ target }: { target: string }) =>
      Promise.resolve(right({ status: 200, json: answers[target] } as unknown as ClusterAnswer)),
  } as unknown as MemberCluster
}
const ask = (version: unknown, core: unknown, groups: unknown) =>
  capabilitiesOf(answering(version, core, groups), new AbortController().signal)

const deployments = {
  metadata: { name: 'apps' },
  versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Deployment' } }] }],
}

test('version and kinds are read from the discovery of a cluster', async (t) => {
  const core = {
    items: [
      { metadata: { name: '' }, versions: [{ version: 'v1', resources: [{ responseKind: { kind: 'Pod' } }, {}] }] },
    ],
  }
  t.deepEqual(await ask({ gitVersion: 'v1.34.2' }, core, { items: [deployments] }), {
    kubeVersion: 'v1.34.2',
    apiVersions: ['v1', 'v1/Pod', 'apps/v1', 'apps/v1/Deployment'],
  })
})

test('what has a wrong shape is passed over, and the rest is read', async (t) => {
  t.deepEqual(
    (
      await ask(
        { gitVersion: 'v1.34.2' },
        { items: {} },
        { items: [null, { versions: 3 }, { versions: [null, {}, { version: 1 }] }, deployments] },
      )
    )?.apiVersions,
    ['apps/v1', 'apps/v1/Deployment'],
  )
  t.is(await ask(null, {}, {}), undefined)
  t.is(await ask({ gitVersion: 1 }, {}, {}), undefined)
})

const broken = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    fc.record({ items: tie('list') }),
    fc.record({ metadata: fc.jsonValue(), versions: tie('list') }, { requiredKeys: [] }),
    fc.record({ version: fc.jsonValue(), resources: tie('list') }, { requiredKeys: [] }),
    fc.record({ responseKind: fc.jsonValue() }),
  ),
  list: fc.oneof(fc.array(tie('node'), { maxLength: 3 }), tie('node')),
})).node

test('no answer of a cluster makes it throw', async (t) => {
  await t.notThrowsAsync(() =>
    fc.assert(
      fc.asyncProperty(broken, broken, async (core, groups) => {
        const read = await ask({ gitVersion: 'v1.34.2' }, core, groups)
        return read?.apiVersions.every((each) => typeof each === 'string') === true
      }),
    ),
  )
})

const operations = ['template', 'install', 'upgrade', 'rollback', 'uninstall'] as const
const release = { namespace: 'harbour', name: 'tide' }
const everyFlag: Required<HelmFlags> = {
  createNamespace: true,
  disableHooks: true,
  replace: true,
  wait: true,
  timeoutSeconds: 90,
  atomic: true,
  cleanupOnFail: true,
  force: true,
  recreate: true,
  resetValues: true,
  reuseValues: true,
  resetThenReuseValues: true,
  maxHistory: 5,
  install: true,
  description: 'why',
  devel: true,
  subNotes: true,
  skipCrds: true,
  includeCrds: true,
  disableOpenApiValidation: true,
  takeOwnership: true,
  keepHistory: true,
  dryRun: 'server',
}

const wordsOf = (operation: HelmOperation, major: 3 | 4, flags: HelmFlags): readonly string[] =>
  argumentsOf({
    operation,
    major,
    flags,
    release,
    isVerbose: true,
    revision: 2,
    ...(operation === 'rollback' || operation === 'uninstall'
      ? {}
      : { chartFile: 'chart.tgz', valuesFile: 'values.json' }),
  })

const withHelm = needing('helm')

/** What helm says to words that it does not know. */
const complaintOf = (path: string, words: readonly string[]): Promise<string> =>
  new Promise((resolve) =>
    execFile(
      path,
      [...words],
      { env: { HOME: '/nowhere', KUBECONFIG: '/nowhere/kubeconfig' }, timeout: 20_000 },
      (_error, _stdout, stderr) => resolve(stderr),
    ),
  )

for (const major of [3, 4] as const) {
  for (const operation of operations) {
    withHelm(`helm ${major} knows every flag that ${operation} may be given`, async (t) => {
      const { helm3, helm4 } = (await helm())!
      const path = major === 3 ? helm3 : helm4
      const whole = wordsOf(operation, major, everyFlag)
      const said = await complaintOf(path, whole)
      t.notRegex(said, /unknown (?:shorthand )?flag|invalid argument|accepts \d|requires at/i, said)
      // It was understood as far as the files and the cluster, which are not there.
      t.regex(said, /^Error: /m)
    })
  }
}

test('each flag is said where it belongs, in the words of its major', (t) => {
  t.deepEqual(wordsOf('install', 4, { wait: true, atomic: true, timeoutSeconds: 90, createNamespace: true }), [
    'install',
    '--namespace=harbour',
    '--skip-schema-validation',
    '--output=json',
    '--debug',
    '--values=values.json',
    '--create-namespace',
    '--wait=watcher',
    '--timeout=90s',
    '--rollback-on-failure',
    '--',
    'tide',
    'chart.tgz',
  ])
  t.deepEqual(wordsOf('upgrade', 3, { wait: true, atomic: true, force: true, recreate: true, maxHistory: 0 }), [
    'upgrade',
    '--namespace=harbour',
    '--skip-schema-validation',
    '--output=json',
    '--debug',
    '--values=values.json',
    '--wait',
    '--atomic',
    '--force',
    '--recreate-pods',
    '--history-max=0',
    '--',
    'tide',
    'chart.tgz',
  ])
  t.deepEqual(wordsOf('rollback', 4, { force: true, recreate: true, dryRun: 'server' }), [
    'rollback',
    '--namespace=harbour',
    '--debug',
    '--force-replace',
    '--server-side=false',
    '--dry-run=server',
    '--',
    'tide',
    '2',
  ])
  t.deepEqual(wordsOf('rollback', 3, { dryRun: 'server' }), [
    'rollback',
    '--namespace=harbour',
    '--debug',
    '--dry-run',
    '--',
    'tide',
    '2',
  ])
  t.deepEqual(wordsOf('uninstall', 4, { wait: true, keepHistory: true, description: 'done\nwith' }), [
    'uninstall',
    '--namespace=harbour',
    '--debug',
    '--wait=legacy',
    '--description=done with',
    '--keep-history',
    '--',
    'tide',
  ])
})

const anyFlags = fc.record(
  Object.fromEntries(
    Object.entries(everyFlag).map(([flag, value]) => [
      flag,
      typeof value === 'boolean'
        ? fc.boolean()
        : typeof value === 'number'
          ? fc.double()
          : flag === 'dryRun'
            ? fc.constantFrom('server', 'client')
            : anyText(),
    ]),
  ),
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<HelmFlags>

test('whatever is asked: schemas are skipped, nothing else is run or fetched, and no text becomes a flag', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.constantFrom(...operations), fc.constantFrom<3 | 4>(3, 4), anyFlags, (operation, major, flags) => {
        const words = wordsOf(operation, major, flags)
        const end = words.indexOf('--')
        const rendersChart = operation !== 'rollback' && operation !== 'uninstall'
        const forbidden =
          /^--(?:post-renderer|enable-dns|dependency-update|repo|set|kube|verify|keyring|labels|plain-http|insecure)/
        return (
          words[0] === operation &&
          words.includes('--skip-schema-validation') === rendersChart &&
          words
            .slice(1, end)
            .every((word) => word.startsWith('--') && !forbidden.test(word) && !/\p{Cc}/u.test(word)) &&
          words.slice(end + 1).every((word) => !word.startsWith('-')) &&
          words.every(
            (word) =>
              !/^--(?:timeout|history-max)=/.test(word) ||
              /^--(?:timeout=[1-9]\d{0,5}s|history-max=\d{1,7})$/.test(word),
          ) &&
          words.filter((word) => word.startsWith('--values=')).length === (rendersChart ? 1 : 0)
        )
      }),
    ),
  )
})

test('a name or namespace passes only as Kubernetes and Helm write them', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.string({ maxLength: 70 }), (text) => {
        const fits = nameProblem({ namespace: 'ok', name: text }) === undefined
        return (
          fits === (text.length <= 53 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(text))
        )
      }),
    ),
  )
  for (const bad of ['-x', 'x-', '.', 'a..b', 'A', '', 'a_b', 'x'.repeat(64)])
    t.not(nameProblem({ namespace: bad, name: 'ok' }), undefined, bad)
  t.is(nameProblem({ namespace: 'a-1', name: 'web.v1' }), undefined)
})
