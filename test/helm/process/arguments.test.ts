// process: waiting - uses components
import { execFile } from 'node:child_process'
import test from 'ava'
import fc from 'fast-check'
import type { HelmOperation } from '../../../adapters/helm/process/arguments.ts'
import { argumentsOf, nameProblem } from '../../../adapters/helm/process/arguments.ts'
import type { HelmFlags } from '../../../core/packages/releases/ports.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { anyText } from '../../support/any-text.ts'

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

test('each flag has its position and name for the major version of helm', (t) => {
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

test('no input skips a check, runs a hook or becomes a flag', (t) => {
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
