import type { HelmCli } from '../support/run-helm.ts'
import type { ChartServer } from './chart-server.ts'
import { randomUUID } from 'node:crypto'
import type { Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { untilObject } from './life-cycle.fixture.ts'
import { chartSource } from './chart-source.ts'
import type { FollowedTask, PackageClient } from './package-fixture.ts'

/** A cluster under a running service, and the helm that the service uses beside it. */
export interface LifeCycleBench {
  readonly client: PackageClient
  /** Offers the charts of `lifeCycleCharts`. */
  readonly charts: ChartServer
  /** The same helm, directly on the cluster. */
  readonly cli: HelmCli
  /** A namespace that nothing else uses. */
  namespace(): Promise<string>
  /** A namespace that nothing else uses, where workloads make progress. */
  namespaceAtWork(): Promise<string>
  /** What lies there, asked from the cluster itself; undefined when there is nothing. */
  object(path: string): Promise<unknown>
  close?(): Promise<void>
}

const secretWord = 'correct-horse-battery'
const releases = '/v3/releases'

const ends = (t: Assertions, task: FollowedTask, state: string): boolean =>
  t.is(task.state, state, `${task.message} ${task.error ?? ''}`)

/** Numbers without a gap, first Pending, last the task's own end, each step closed, and no secret anywhere. */
const isWellTold = (t: Assertions, task: FollowedTask): void => {
  t.deepEqual(
    task.events.map(({ seq }) => seq),
    task.events.map((_, index) => index + 1),
  )
  t.is(task.events[0]?.status, 'Pending')
  const last = task.events.at(-1)
  t.is(last?.id, task.id)
  t.is(last?.status, task.state === 'succeeded' ? 'Success' : 'Failed')
  const opened = new Set(task.events.filter(({ status }) => status === 'Started').map(({ id }) => id))
  const closed = new Set(
    task.events.filter(({ status }) => status === 'Success' || status === 'Failed').map(({ id }) => id),
  )
  t.deepEqual(
    [...opened].filter((id) => !closed.has(id)),
    [],
  )
  t.false(JSON.stringify(task).includes(secretWord))
}

interface ListedRelease {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly info: { readonly status: string; readonly description: string; readonly last_deployed: string }
  readonly chart: {
    readonly metadata: { readonly name: string; readonly version: string; readonly appVersion?: string }
  }
}

/** Our rows in the words of `helm list -o json` and `helm history -o json`. */
const asListed = ({ name, namespace, version, info, chart }: ListedRelease) => ({
  name,
  namespace,
  revision: String(version),
  status: info.status,
  chart: `${chart.metadata.name}-${chart.metadata.version}`,
  app_version: chart.metadata.appVersion ?? '',
})
const asHistory = ({ version, info, chart }: ListedRelease) => ({
  revision: version,
  status: info.status,
  chart: `${chart.metadata.name}-${chart.metadata.version}`,
  app_version: chart.metadata.appVersion ?? '',
  description: info.description,
})

const about: SuiteAbout = {
  name: 'life-cycle',
  ports: ['HelmRunner'],
  needs: 'A running service with a cluster, a chart repository with `lifeCycleCharts`, and the helm program beside it.',
  isShared: true,
}

/**
 * The life of releases over HTTP, each answer compared with what helm itself says. The bench is started by the first
 * case.
 */
export const lifeCycleSuite = contractSuite<LifeCycleBench>(about, (onBench) => {
  type Run = (t: Assertions, bench: LifeCycleBench, namespace: string) => Promise<void>
  const declare = (title: string, kind: 'namespace' | 'namespaceAtWork', run: Run): void =>
    onBench(title, async (t, bench) => run(t, bench, await bench[kind]()))
  const on = (title: string, run: Run): void => declare(title, 'namespace', run)
  /** For charts with workloads and hooks, as `harbour` is. */
  const onWorkloads = (title: string, run: Run): void => declare(title, 'namespaceAtWork', run)

  const install = (bench: LifeCycleBench, namespace: string, chart: string, more: object = {}): Promise<FollowedTask> =>
    bench.client.done('POST', `${releases}/`, {
      ...chartSource(bench.charts, chart),
      releaseName: 'web',
      namespace,
      wait: true,
      timeout: '60s',
      ...more,
    })
  const upgrade = (bench: LifeCycleBench, namespace: string, chart: string, more: object = {}): Promise<FollowedTask> =>
    bench.client.done('PUT', `${releases}/web/`, {
      ...chartSource(bench.charts, chart),
      namespace,
      wait: true,
      timeout: '60s',
      ...more,
    })

  const history = async (bench: LifeCycleBench, namespace: string): Promise<readonly ListedRelease[]> =>
    (await bench.client.send('GET', `${releases}/web/?namespace=${namespace}`)).json as readonly ListedRelease[]

  /** Ours and helm's, side by side. */
  const agrees = async (t: Assertions, bench: LifeCycleBench, namespace: string): Promise<void> => {
    const told = (await bench.cli.json('history', 'web', '-n', namespace)) as readonly ReturnType<typeof asHistory>[]
    t.deepEqual(
      (await history(bench, namespace)).map(asHistory),
      told.map(({ revision, status, chart, app_version, description }) => ({
        revision,
        status,
        chart,
        app_version,
        description,
      })),
    )
    const listed = (await bench.cli.json('list', '-n', namespace, '-f', '^web$')) as readonly (ReturnType<
      typeof asListed
    > & { updated: string })[]
    const ours = (await bench.client.send('GET', `${releases}/?namespace=${namespace}`))
      .json as readonly ListedRelease[]
    t.deepEqual(
      ours.map(asListed),
      listed.map(({ updated: _updated, ...row }) => row),
    )
  }
  const statuses = async (bench: LifeCycleBench, namespace: string): Promise<readonly string[]> =>
    (await history(bench, namespace)).map(({ version, info }) => `${version} ${info.status}`)

  const settings = async (bench: LifeCycleBench, namespace: string, part = 'settings'): Promise<unknown> =>
    (
      (await bench.object(`/api/v1/namespaces/${namespace}/configmaps/web-${part}`)) as
        { readonly data?: unknown } | undefined
    )?.data

  onWorkloads(
    'install, upgrade, failed upgrade, rollback and uninstall, with hooks and waits',
    async (t, bench, namespace) => {
      const installed = await install(bench, namespace, 'harbour', {
        stringValues: [`password=${secretWord}`],
        values: ['replicas=1'],
      })
      ends(t, installed, 'succeeded')
      isWellTold(t, installed)
      t.like(installed.result, { release: 'web', namespace, revision: 1, status: 'deployed' })
      const steps = installed.events.flatMap(({ step }) => (step === undefined ? [] : [step])).join('\n')
      t.regex(steps, /web-pre-install/)
      t.regex(steps, /web-post-install/)
      await agrees(t, bench, namespace)

      const upgraded = await upgrade(bench, namespace, 'harbour', {
        reuseValues: true,
        values: ['greeting=moin', 'replicas=2'],
      })
      ends(t, upgraded, 'succeeded')
      isWellTold(t, upgraded)
      t.deepEqual(await settings(bench, namespace), { greeting: 'moin' })
      const secret = (await bench.object(`/api/v1/namespaces/${namespace}/secrets/web-password`)) as {
        readonly data: { readonly password: string }
      }
      t.is(Buffer.from(secret.data.password, 'base64').toString(), secretWord)

      const failed = await upgrade(bench, namespace, 'harbour', {
        values: ['hooks.upgrade=fail', 'greeting=never'],
        reuseValues: true,
      })
      ends(t, failed, 'failed')
      isWellTold(t, failed)
      t.regex(failed.error ?? '', /web-pre-upgrade|hook/i)
      t.deepEqual(await settings(bench, namespace), { greeting: 'moin' })
      t.deepEqual(await statuses(bench, namespace), ['1 superseded', '2 deployed', '3 failed'])
      await agrees(t, bench, namespace)

      const back = await bench.client.done('POST', `${releases}/web/rollback`, {
        namespace,
        version: 1,
        wait: true,
        timeout: 60,
        description: 'back to the first',
      })
      ends(t, back, 'succeeded')
      isWellTold(t, back)
      t.deepEqual(await settings(bench, namespace), { greeting: 'hello' })
      t.is((await history(bench, namespace)).at(-1)?.info.description, 'back to the first')
      await agrees(t, bench, namespace)

      const gone = await bench.client.done('DELETE', `${releases}/web/`, { namespace, timeout: 60 })
      ends(t, gone, 'succeeded')
      isWellTold(t, gone)
      t.is(await bench.object(`/apis/apps/v1/namespaces/${namespace}/deployments/web`), undefined)
      t.is((await bench.client.send('GET', `${releases}/web/?namespace=${namespace}`)).status, 404)
      t.deepEqual((await bench.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    },
  )

  onWorkloads('one record reads the same by helm and by us', async (t, bench, namespace) => {
    ends(
      t,
      await install(bench, namespace, 'harbour', {
        stringValues: ['greeting=Grüße\\, 港'],
        values: ['hooks.isOn=true'],
      }),
      'succeeded',
    )
    const content = (await bench.client.send('GET', `${releases}/web/content?namespace=${namespace}`)).json as {
      readonly manifest: string
      readonly config: unknown
      readonly info: { readonly notes: string }
      readonly hooks: readonly { readonly name: string; readonly last_run: { readonly phase: string } }[]
    }
    t.is(content.manifest.trim(), (await bench.cli.must('get', 'manifest', 'web', '-n', namespace)).trim())
    t.deepEqual(content.config, await bench.cli.json('get', 'values', 'web', '-n', namespace))
    t.true((await bench.cli.must('get', 'notes', 'web', '-n', namespace)).includes(content.info.notes.trim()))
    t.deepEqual(
      content.hooks
        .filter(({ name: hook }) => hook.endsWith('-install'))
        .map(({ name: hook, last_run }) => [hook, last_run.phase])
        .toSorted(),
      [
        ['web-post-install', 'Succeeded'],
        ['web-pre-install', 'Succeeded'],
      ],
    )
    const status = (await bench.client.send('GET', `${releases}/web/status?namespace=${namespace}&version=1`)).json as {
      readonly chart: object
    }
    t.false('templates' in status.chart)
  })

  onWorkloads('releases that helm itself made are read, upgraded and removed', async (t, bench, namespace) => {
    const { archive } = bench.charts.chart('harbour')
    await bench.cli.must(
      'install',
      'web',
      bench.cli.file(`${randomUUID()}.tgz`, archive),
      '-n',
      namespace,
      '--wait',
      '--timeout',
      '60s',
      '--set',
      'greeting=ahoy',
    )
    await agrees(t, bench, namespace)
    ends(t, await upgrade(bench, namespace, 'harbour'), 'succeeded')
    t.deepEqual(await settings(bench, namespace), { greeting: 'ahoy' }, 'values stay when none are given')
    await bench.cli.must('rollback', 'web', '1', '-n', namespace, '--wait', '--timeout', '60s')
    await agrees(t, bench, namespace)
    ends(t, await bench.client.done('DELETE', `${releases}/web/?namespace=${namespace}`), 'succeeded')
    t.not((await bench.cli.run('status', 'web', '-n', namespace)).status, 0)
  })

  on('purge=false keeps the history, which a replacing install continues', async (t, bench, namespace) => {
    ends(t, await install(bench, namespace, 'minimal'), 'succeeded')
    ends(t, await bench.client.done('DELETE', `${releases}/web/`, { namespace, purge: false }), 'succeeded')
    t.deepEqual(await statuses(bench, namespace), ['1 uninstalled'])
    t.is(await settings(bench, namespace, 'minimal'), undefined)
    t.is(
      (
        await bench.client.send('POST', `${releases}/`, {
          ...chartSource(bench.charts, 'minimal'),
          releaseName: 'web',
          namespace,
        })
      ).status,
      409,
    )
    ends(t, await install(bench, namespace, 'minimal', { replace: true }), 'succeeded')
    t.is((await history(bench, namespace)).at(-1)?.info.status, 'deployed')
    await agrees(t, bench, namespace)
  })

  onWorkloads(
    'an atomic upgrade that fails is rolled back, an atomic install that fails leaves nothing',
    async (t, bench, namespace) => {
      ends(t, await install(bench, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
      const failed = await upgrade(bench, namespace, 'harbour', {
        atomic: true,
        timeout: '4s',
        values: ['hooks.isOn=false', 'claim.isOn=true', 'greeting=lost'],
      })
      ends(t, failed, 'failed')
      isWellTold(t, failed)
      t.deepEqual(await settings(bench, namespace), { greeting: 'hello' })
      t.deepEqual(await statuses(bench, namespace), ['1 superseded', '2 failed', '3 deployed'])
      await agrees(t, bench, namespace)
      const other = await bench.namespaceAtWork()
      const never = await install(bench, other, 'harbour', {
        atomic: true,
        timeout: '4s',
        values: ['hooks.isOn=false', 'claim.isOn=true'],
      })
      ends(t, never, 'failed')
      t.deepEqual((await bench.client.send('GET', `${releases}/?namespace=${other}&all=true`)).json, [])
      t.is(await settings(bench, other), undefined)
    },
  )

  onWorkloads('a dry run changes nothing and shows what would change, without secrets', async (t, bench, namespace) => {
    const tried = await install(bench, namespace, 'harbour', { dryRun: true, stringValues: [`password=${secretWord}`] })
    ends(t, tried, 'succeeded')
    isWellTold(t, tried)
    t.deepEqual((await bench.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    t.is(await settings(bench, namespace), undefined)
    ends(t, await install(bench, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
    const compared = await upgrade(bench, namespace, 'harbour', {
      dryRun: true,
      values: ['hooks.isOn=false', 'greeting=moin'],
      stringValues: [`password=${secretWord}`],
    })
    ends(t, compared, 'succeeded')
    isWellTold(t, compared)
    const diff = JSON.stringify(compared.result)
    t.regex(diff, /-\s*greeting: (\\")?hello/)
    t.regex(diff, /\+\s*greeting: (\\")?moin/)
    t.false(diff.includes(Buffer.from(secretWord).toString('base64')))
    t.deepEqual(await statuses(bench, namespace), ['1 deployed'])
  })

  on('what is refused before a task says so by its status, and changes nothing', async (t, bench, namespace) => {
    const refused = async (status: number, path: string, method: string, body: object): Promise<void> => {
      const answer = await bench.client.send(method, path, body)
      t.is(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`)
      t.is(typeof (answer.json as { message?: unknown }).message, 'string')
    }
    const source = chartSource(bench.charts, 'minimal')
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: 'Not A Name', namespace })
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: 'x'.repeat(54), namespace })
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: '--help', namespace })
    await refused(400, `${releases}/?response-id=no.word`, 'POST', { ...source, releaseName: 'web', namespace })
    await refused(404, `${releases}/web/`, 'PUT', { ...source, namespace })
    await refused(404, `${releases}/web/`, 'DELETE', { namespace })
    await refused(404, `${releases}/web/rollback`, 'POST', { namespace })
    t.deepEqual((await bench.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
  })

  on('the same response-id is one task, however often it is sent', async (t, bench, namespace) => {
    const id = `once_${randomUUID()}`
    const body = { ...chartSource(bench.charts, 'minimal'), releaseName: 'web', namespace }
    const answers = await Promise.all(
      [1, 2, 3].map(() => bench.client.send('POST', `${releases}/?response-id=${id}`, body)),
    )
    const tasks = new Set(answers.filter(({ status }) => status === 200).map(({ json }) => (json as { id: string }).id))
    t.is(tasks.size, 1, answers.map(({ text }) => text).join('\n'))
    const [task = ''] = tasks
    ends(t, await bench.client.follow(task), 'succeeded')
    const again = await bench.client.send('POST', `${releases}/?response-id=${id}`, body)
    t.is((again.json as { id: string }).id, task)
    t.deepEqual(await statuses(bench, namespace), ['1 deployed'])
  })

  onWorkloads(
    'while a task works on a release another one is refused, and a cancelled one ends true',
    async (t, bench, namespace) => {
      const id = await bench.client.accepted('POST', `${releases}/`, {
        ...chartSource(bench.charts, 'harbour'),
        releaseName: 'web',
        namespace,
        timeout: '100s',
        values: ['hooks.install=never'],
      })
      await untilObject(bench, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-install`)
      const second = await bench.client.send('POST', `${releases}/`, {
        ...chartSource(bench.charts, 'minimal'),
        releaseName: 'web',
        namespace,
      })
      t.is(second.status, 409, second.text)
      const cancelled = await bench.client.cancel(id)
      t.is(cancelled.status, 202, cancelled.text)
      const task = await bench.client.follow(id)
      ends(t, task, 'cancelled')
      isWellTold(t, task)
      t.deepEqual(await statuses(bench, namespace), ['1 failed'])
      ends(t, await upgrade(bench, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
      await agrees(t, bench, namespace)
    },
  )

  on('charts of many shapes install as helm itself renders them', async (t, bench) => {
    const untouched = await bench.namespace()
    for (const chart of ['umbrella', 'unicode', 'lookup', 'schema', 'definitions', 'keep']) {
      const namespace = await bench.namespace()
      ends(t, await install(bench, namespace, chart), 'succeeded')
      const { archive } = bench.charts.chart(chart)
      const drawn = await bench.cli.must(
        'install',
        'web',
        bench.cli.file(`${chart}.tgz`, archive),
        '-n',
        untouched,
        '--dry-run=server',
        '-o',
        'json',
      )
      const content = (await bench.client.send('GET', `${releases}/web/content?namespace=${namespace}`)).json as {
        readonly manifest: string
      }
      t.is(content.manifest, (JSON.parse(drawn) as { manifest: string }).manifest, chart)
    }
  })

  on(
    'values against the schema, and templates that fail, are reported and leave nothing',
    async (t, bench, namespace) => {
      const wrong = await install(bench, namespace, 'schema', { values: ['size=99'] })
      ends(t, wrong, 'failed')
      t.regex(`${wrong.message} ${wrong.error}`, /size/)
      const broken = await install(bench, namespace, 'broken')
      ends(t, broken, 'failed')
      t.regex(`${broken.message} ${broken.error}`, /\.Values\.must is needed/)
      const missing = await install(bench, namespace, 'not-there')
      ends(t, missing, 'failed')
      t.deepEqual((await bench.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    },
  )

  on(
    'an editor applies a model, changes it by a patch, and removes it; helm sees each revision',
    async (t, bench, namespace) => {
      const metadata = {
        resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' },
        release: { name: 'web', namespace },
      }
      const data = async (): Promise<unknown> =>
        (
          (await bench.object(`/api/v1/namespaces/${namespace}/configmaps/web`)) as
            { readonly data?: unknown } | undefined
        )?.data
      const applied = await bench.client.done('PUT', '/editor/', {
        metadata,
        resources: { configMap: { data: { high: '4.1' } } },
      })
      ends(t, applied, 'succeeded')
      isWellTold(t, applied)
      t.deepEqual(await data(), { high: '4.1' })
      await agrees(t, bench, namespace)
      const patched = await bench.client.done('PUT', '/editor/', {
        metadata,
        patch: [{ op: 'add', path: '/resources/configMap/data/low', value: '0.3' }],
      })
      ends(t, patched, 'succeeded')
      t.deepEqual(await data(), { high: '4.1', low: '0.3' })
      const model = await bench.client.send('PUT', '/editor/model', { metadata })
      t.deepEqual((model.json as { resources: { configMap: { data: unknown } } }).resources.configMap.data, {
        high: '4.1',
        low: '0.3',
      })
      await agrees(t, bench, namespace)
      const removed = await bench.client.done('DELETE', '/editor/', { metadata })
      ends(t, removed, 'succeeded')
      isWellTold(t, removed)
      t.is(await data(), undefined)
      t.not((await bench.cli.run('status', 'web', '-n', namespace)).status, 0)
    },
  )

  on(
    'an object with the policy keep outlives its release, one that left the chart does not',
    async (t, bench, namespace) => {
      ends(t, await install(bench, namespace, 'keep'), 'succeeded')
      ends(t, await upgrade(bench, namespace, 'keep', { values: ['hasExtra=false'] }), 'succeeded')
      t.is(await settings(bench, namespace, 'extra'), undefined)
      ends(t, await bench.client.done('DELETE', `${releases}/web/`, { namespace }), 'succeeded')
      t.deepEqual(await settings(bench, namespace, 'kept'), { value: 'kept' })
    },
  )
})
