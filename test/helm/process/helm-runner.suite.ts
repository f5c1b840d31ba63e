import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { HelmChart, HelmEvent, HelmFlags, HelmRunner, HelmWork } from '../../../core/packages/releases/ports.ts'
import { chartArchive, chartYaml } from '../../support/charts/archive.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { ChartSpec } from './trial-charts.ts'
import type { Assertions } from '../../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../../composition/runtime/port-tests/contract-suite.ts'

/** A runner and the cluster that it works on. */
export interface RunnerFixture {
  readonly runner: HelmRunner
  readonly cluster: MemberCluster
  /** A namespace that nobody else uses. */
  namespace(): Promise<string>
  chart(spec: ChartSpec): Promise<HelmChart>
  /** The stored revisions of a release, oldest first, as `1 deployed`. */
  records(namespace: string, name: string): Promise<readonly string[]>
  close?(): Promise<void>
}

export interface Handle {
  readonly namespace: string
  readonly events: HelmEvent[]
  work(name: string, flags?: HelmFlags): HelmWork
}

const open = new AbortController().signal

export const handleOn = async ({ cluster, namespace }: RunnerFixture, tenantId = 1): Promise<Handle> => {
  const name = await namespace()
  const events: HelmEvent[] = []
  return {
    namespace: name,
    events,
    work: (release, flags = {}) => ({
      target: { cluster, driver: 'Secret', tenantId },
      release: { namespace: name, name: release },
      flags,
      onEvent: (event) => void events.push(event),
    }),
  }
}

export const messageOf = (outcome: Either<Failure, unknown>): string =>
  isLeft(outcome) ? outcome.left.message : 'done'

const about: SuiteAbout = {
  name: 'helm-runner',
  ports: ['HelmRunner'],
  needs: 'A cluster in which `namespace` makes namespaces that nothing else uses.',
  isShared: true,
}

/** What every HelmRunner keeps, the program itself and those that stand in for it. */
export const helmRunnerSuite = contractSuite<RunnerFixture>(about, (onBench) => {
  const on = (title: string, run: (t: Assertions, fixture: RunnerFixture, handle: Handle) => Promise<void>): void =>
    onBench(title, async (t, fixture) => run(t, fixture, await handleOn(fixture)))

  on('it tells its version', async (t, { runner }) => {
    const version = await runner.version()
    t.regex(version?.version ?? '', /^[34]\.\d+\.\d+/)
    t.true(version?.version.startsWith(`${version.major}.`))
  })

  on(
    'values are checked by the schemas of a chart, and what is said shows no value',
    async (t, { runner }, { work }) => {
      const schema = JSON.stringify({
        required: ['size'],
        properties: { size: { type: 'integer' }, list: { items: { type: 'string' } }, name: { pattern: '^x' } },
      })
      const yaml = chartYaml('web', 'dependencies:\n- {name: db, version: 1.x, condition: db.enabled}\n')
      const archive = await chartArchive({
        'Chart.yaml': yaml,
        'values.schema.json': schema,
        'charts/db/Chart.yaml': chartYaml('db'),
        'charts/db/values.schema.json': schema,
      })
      const schemas = { archive, root: 'web', paths: ['db'] }
      const check = (values: FreeObject) => runner.checkValues(work('tide'), schemas, values, open)
      t.is(messageOf(await check({ size: 1, db: { enabled: false } })), 'done')
      t.is(messageOf(await check({ size: 9007199254740993n, db: { size: 2 } })), 'done')
      for (const [values, path] of [
        [{ db: { size: 1 } }, '(root)'],
        [{ size: 'quiet lantern', db: { size: 1 } }, 'size'],
        [{ size: 1, list: [1], db: { size: 1 } }, 'list.0'],
        [{ size: 1, db: { size: 1, name: 'quiet lantern' } }, 'db.name'],
      ] as const) {
        const refused = await check(values)
        t.is(tagOf(refused), 'ValuesRefused')
        t.true(
          isLeft(refused) && refused.left.errors?.some((line) => line.startsWith(`${path}: `)),
          `${path}: ${messageOf(refused)}`,
        )
        t.false(JSON.stringify(refused).includes('lantern'))
      }
    },
  )

  on(
    'a release is installed, upgraded, rolled back and removed',
    async (t, { runner, chart, records }, { namespace, work }) => {
      const installed = unwrap(
        await runner.install(
          work('tide'),
          await chart({ text: 'low', notes: 'Mind the tide, {{ .Release.Name }}.' }),
          open,
        ),
      )
      t.is(installed.release?.version, 1)
      t.is(installed.release?.info.status, 'deployed')
      t.is(installed.release?.namespace, namespace)
      t.regex(installed.manifest, /# Source: berth\/templates\/map\.yaml[^]*text: "?low/)
      t.is(installed.notes.trim(), 'Mind the tide, tide.')
      t.deepEqual(await records(namespace, 'tide'), ['1 deployed'])

      const upgraded = unwrap(
        await runner.upgrade(work('tide', { description: 'higher' }), await chart({ text: 'high' }), open),
      )
      t.is(upgraded.release?.version, 2)
      t.is(upgraded.release?.info.description, 'higher')
      t.deepEqual(await records(namespace, 'tide'), ['1 superseded', '2 deployed'])

      unwrap(await runner.rollback(work('tide'), 1, open))
      t.deepEqual(await records(namespace, 'tide'), ['1 superseded', '2 superseded', '3 deployed'])
      unwrap(await runner.rollback(work('tide'), 0, open))
      t.is((await records(namespace, 'tide')).at(-1), '4 deployed')

      unwrap(await runner.uninstall(work('tide'), open))
      t.deepEqual(await records(namespace, 'tide'), [])
    },
  )

  on('history is kept where that is asked', async (t, { runner, chart, records }, { namespace, work }) => {
    unwrap(await runner.install(work('log'), await chart({}), open))
    unwrap(await runner.uninstall(work('log', { keepHistory: true }), open))
    t.deepEqual(await records(namespace, 'log'), ['1 uninstalled'])
  })

  on(
    'a taken name is refused, and so is what is not there',
    async (t, { runner, chart, records }, { namespace, work }) => {
      unwrap(await runner.install(work('buoy'), await chart({}), open))
      const again = await runner.install(work('buoy'), await chart({}), open)
      t.is(tagOf(again), 'HelmRefused')
      t.regex(messageOf(again), /cannot re-?use a name/)
      t.is(tagOf(await runner.upgrade(work('none'), await chart({}), open)), 'HelmRefused')
      t.is(tagOf(await runner.rollback(work('none'), 0, open)), 'HelmRefused')
      t.is(tagOf(await runner.rollback(work('buoy'), 7, open)), 'HelmRefused')
      const missing = await runner.uninstall(work('none'), open)
      t.regex(messageOf(missing), /not found/)
      t.deepEqual(await records(namespace, 'none'), [])
      t.deepEqual(await records(namespace, 'buoy'), ['1 deployed'])
    },
  )

  on(
    'an upgrade installs what is not there, where that is asked',
    async (t, { runner, chart, records }, { namespace, work }) => {
      t.is(unwrap(await runner.upgrade(work('pier', { install: true }), await chart({}), open)).release?.version, 1)
      t.deepEqual(await records(namespace, 'pier'), ['1 deployed'])
    },
  )

  on('names that could be taken for flags, or are none, never reach helm', async (t, { runner, chart }, { work }) => {
    for (const bad of ['-n', '--kubeconfig=x', 'UPPER', '', 'a b', 'a/b', 'x'.repeat(54)])
      t.is(tagOf(await runner.install(work(bad), await chart({}), open)), 'HelmRefused', bad)
    const elsewhere = { ...work('tide'), release: { namespace: '--all', name: 'tide' } }
    t.is(tagOf(await runner.uninstall(elsewhere, open)), 'HelmRefused')
  })

  on(
    'a dry run shows what would be, and changes nothing',
    async (t, { runner, chart, records }, { namespace, work, events }) => {
      const shown = unwrap(
        await runner.install(
          work('mast', { dryRun: 'server' }),
          await chart({ text: 'bare', hasHook: true, notes: 'later' }),
          open,
        ),
      )
      t.regex(shown.manifest, /text: "?bare/)
      t.is(shown.notes.trim(), 'later')
      t.deepEqual(
        shown.hooks.map(({ name: hook }) => hook),
        ['mast-hook'],
      )
      t.deepEqual(await records(namespace, 'mast'), [])
      t.deepEqual(
        events.filter((event) => event.kind === 'call' && !event.isDryRun),
        [],
      )
      unwrap(await runner.install(work('mast'), await chart({ text: 'bare' }), open))
      unwrap(await runner.upgrade(work('mast', { dryRun: 'server' }), await chart({ text: 'full' }), open))
      t.deepEqual(await records(namespace, 'mast'), ['1 deployed'])
    },
  )

  on('a rendering keeps hooks apart, and needs no free name', async (t, { runner, chart }, { work }) => {
    unwrap(await runner.install(work('sail'), await chart({}), open))
    for (const dryRun of ['client', 'server'] as const) {
      const { manifest, hooks, release } = unwrap(
        await runner.template(work('sail', { dryRun }), await chart({ text: 'seen', hasHook: true }), open),
      )
      t.regex(manifest, /^---\n# Source: berth\/templates\/map\.yaml\n[^]*text: "?seen/)
      t.notRegex(manifest, /-hook/)
      t.is(hooks.length, 1)
      t.like(hooks[0], { name: 'sail-hook', kind: 'ConfigMap', path: 'berth/templates/hook.yaml', weight: 3 })
      t.deepEqual(hooks[0]?.['events'], ['pre-install', 'pre-upgrade'])
      t.deepEqual(hooks[0]?.['delete_policies'], ['before-hook-creation'])
      t.is(release, undefined)
    }
  })

  on('values win over the chart’s own', async (t, { runner, chart }, { work }) => {
    const shown = unwrap(
      await runner.template(
        work('rope', { dryRun: 'client' }),
        await chart({ text: 'own', values: { text: 'given' } }),
        open,
      ),
    )
    t.regex(shown.manifest, /text: "?given/)
  })

  on(
    'events tell what was changed, in its order: record, hook, object, record',
    async (t, { runner, chart }, { namespace, work, events }) => {
      unwrap(await runner.install(work('knot'), await chart({ hasHook: true }), open))
      const calls = events.flatMap((event) => (event.kind === 'call' ? [event] : []))
      t.true(calls.every(({ isDryRun, status }) => !isDryRun && status < 500))
      t.true(calls.every(({ object }) => object?.namespace === namespace))
      const resources = calls
        .filter(({ status, method }) => status < 300 && method !== 'DELETE')
        .map(({ object }) => object?.resource)
      t.is(resources[0], 'secrets')
      t.is(resources.at(-1), 'secrets')
      t.true(resources.filter((resource) => resource === 'configmaps').length >= 2)
    },
  )

  on(
    'what never gets ready is recorded as failed when its time is over',
    async (t, { runner, chart, records }, { namespace, work }) => {
      const waited = await runner.install(
        work('fog', { wait: true, timeoutSeconds: 1 }),
        await chart({ neverReady: true }),
        open,
      )
      t.is(tagOf(waited), 'HelmRefused')
      t.deepEqual(await records(namespace, 'fog'), ['1 failed'])
    },
  )

  on(
    'a cancelled install is recorded as failed',
    async (t, { runner, chart, records }, { namespace, work, events }) => {
      const cancelling = new AbortController()
      const started = {
        ...work('gale', { wait: true, timeoutSeconds: 120 }),
        onEvent: (event: HelmEvent) => {
          events.push(event)
          if (event.kind === 'call' && event.object?.resource === 'deployments')
            setTimeout(() => cancelling.abort(), 100)
        },
      }
      const ended = await runner.install(started, await chart({ neverReady: true }), cancelling.signal)
      t.is(tagOf(ended), 'HelmStopped')
      t.deepEqual(await records(namespace, 'gale'), ['1 failed'])
    },
  )

  on(
    'what was cancelled before it began does not begin',
    async (t, { runner, chart, records }, { namespace, work }) => {
      t.is(tagOf(await runner.install(work('haze'), await chart({}), AbortSignal.abort())), 'HelmStopped')
      t.deepEqual(await records(namespace, 'haze'), [])
    },
  )
})
