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
export interface LifeCycleFixture {
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
 * The life of releases over HTTP, each answer compared with what helm itself says. The setup is started by the first
 * case.
 */
export const lifeCycleSuite = contractSuite<LifeCycleFixture>(about, (onBench) => {
  type Run = (t: Assertions, setup: LifeCycleFixture, namespace: string) => Promise<void>
  const declare = (title: string, kind: 'namespace' | 'namespaceAtWork', run: Run): void =>
    onBench(title, async (t, setup) => run(t, setup, await setup[kind]()))
  const on = (title: string, run: Run): void => declare(title, 'namespace', run)
  /** For charts with workloads and hooks, as `harbour` is. */
  const onWorkloads = (title: string, run: Run): void => declare(title, 'namespaceAtWork', run)

  const install = (
    setup: LifeCycleFixture,
    namespace: string,
    chart: string,
    more: object = {},
  ): Promise<FollowedTask> =>
    setup.client.done('POST', `${releases}/`, {
      ...chartSource(setup.charts, chart),
      releaseName: 'web',
      namespace,
      wait: true,
      timeout: '60s',
      ...more,
    })
  const upgrade = (
    setup: LifeCycleFixture,
    namespace: string,
    chart: string,
    more: object = {},
  ): Promise<FollowedTask> =>
    setup.client.done('PUT', `${releases}/web/`, {
      ...chartSource(setup.charts, chart),
      namespace,
      wait: true,
      timeout: '60s',
      ...more,
    })

  const history = async (setup: LifeCycleFixture, namespace: string): Promise<readonly ListedRelease[]> =>
    (await setup.client.send('GET', `${releases}/web/?namespace=${namespace}`)).json as readonly ListedRelease[]

  /** Ours and helm's, side by side. */
  const agrees = async (t: Assertions, setup: LifeCycleFixture, namespace: string): Promise<void> => {
    const told = (await setup.cli.json('history', 'web', '-n', namespace)) as readonly ReturnType<typeof asHistory>[]
    t.deepEqual(
      (await history(setup, namespace)).map(asHistory),
      told.map(({ revision, status, chart, app_version, description }) => ({
        revision,
        status,
        chart,
        app_version,
        description,
      })),
    )
    const listed = (await setup.cli.json('list', '-n', namespace, '-f', '^web$')) as readonly (ReturnType<
      typeof asListed
    > & { updated: string })[]
    const ours = (await setup.client.send('GET', `${releases}/?namespace=${namespace}`))
      .json as readonly ListedRelease[]
    t.deepEqual(
      ours.map(asListed),
      listed.map(({ updated: _updated, ...row }) => row),
    )
  }
  const statuses = async (setup: LifeCycleFixture, namespace: string): Promise<readonly string[]> =>
    (await history(setup, namespace)).map(({ version, info }) => `${version} ${info.status}`)

  const settings = async (setup: LifeCycleFixture, namespace: string, part = 'settings'): Promise<unknown> =>
    (
      (await setup.object(`/api/v1/namespaces/${namespace}/configmaps/web-${part}`)) as
        | { readonly data?: unknown }
        | undefined
    )?.data

  onWorkloads(
    'install, upgrade, failed upgrade, rollback and uninstall, with hooks and waits',
    async (t, setup, namespace) => {
      const installed = await install(setup, namespace, 'harbour', {
        stringValues: [`password=${secretWord}`],
        values: ['replicas=1'],
      })
      ends(t, installed, 'succeeded')
      isWellTold(t, installed)
      t.like(installed.result, { release: 'web', namespace, revision: 1, status: 'deployed' })
      const steps = installed.events.flatMap(({ step }) => (step === undefined ? [] : [step])).join('\n')
      t.regex(steps, /web-pre-install/)
      t.regex(steps, /web-post-install/)
      await agrees(t, setup, namespace)

      const upgraded = await upgrade(setup, namespace, 'harbour', {
        reuseValues: true,
        values: ['greeting=moin', 'replicas=2'],
      })
      ends(t, upgraded, 'succeeded')
      isWellTold(t, upgraded)
      t.deepEqual(await settings(setup, namespace), { greeting: 'moin' })
      const secret = (await setup.object(`/api/v1/namespaces/${namespace}/secrets/web-password`)) as {
        readonly data: { readonly password: string }
      }
      t.is(Buffer.from(secret.data.password, 'base64').toString(), secretWord)

      const failed = await upgrade(setup, namespace, 'harbour', {
        values: ['hooks.upgrade=fail', 'greeting=never'],
        reuseValues: true,
      })
      ends(t, failed, 'failed')
      isWellTold(t, failed)
      t.regex(failed.error ?? '', /web-pre-upgrade|hook/i)
      t.deepEqual(await settings(setup, namespace), { greeting: 'moin' })
      t.deepEqual(await statuses(setup, namespace), ['1 superseded', '2 deployed', '3 failed'])
      await agrees(t, setup, namespace)

      const back = await setup.client.done('POST', `${releases}/web/rollback`, {
        namespace,
        version: 1,
        wait: true,
        timeout: 60,
        description: 'back to the first',
      })
      ends(t, back, 'succeeded')
      isWellTold(t, back)
      t.deepEqual(await settings(setup, namespace), { greeting: 'hello' })
      t.is((await history(setup, namespace)).at(-1)?.info.description, 'back to the first')
      await agrees(t, setup, namespace)

      const gone = await setup.client.done('DELETE', `${releases}/web/`, { namespace, timeout: 60 })
      ends(t, gone, 'succeeded')
      isWellTold(t, gone)
      t.is(await setup.object(`/apis/apps/v1/namespaces/${namespace}/deployments/web`), undefined)
      t.is((await setup.client.send('GET', `${releases}/web/?namespace=${namespace}`)).status, 404)
      t.deepEqual((await setup.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    },
  )

  onWorkloads('one record reads the same by helm and by us', async (t, setup, namespace) => {
    ends(
      t,
      await install(setup, namespace, 'harbour', {
        stringValues: ['greeting=Grüße\\, 港'],
        values: ['hooks.isOn=true'],
      }),
      'succeeded',
    )
    const content = (await setup.client.send('GET', `${releases}/web/content?namespace=${namespace}`)).json as {
      readonly manifest: string
      readonly config: unknown
      readonly info: { readonly notes: string }
      readonly hooks: readonly { readonly name: string; readonly last_run: { readonly phase: string } }[]
    }
    t.is(content.manifest.trim(), (await setup.cli.must('get', 'manifest', 'web', '-n', namespace)).trim())
    t.deepEqual(content.config, await setup.cli.json('get', 'values', 'web', '-n', namespace))
    t.true((await setup.cli.must('get', 'notes', 'web', '-n', namespace)).includes(content.info.notes.trim()))
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
    const status = (await setup.client.send('GET', `${releases}/web/status?namespace=${namespace}&version=1`)).json as {
      readonly chart: object
    }
    t.false('templates' in status.chart)
  })

  onWorkloads('releases that helm itself made are read, upgraded and removed', async (t, setup, namespace) => {
    const { archive } = setup.charts.chart('harbour')
    await setup.cli.must(
      'install',
      'web',
      setup.cli.file(`${randomUUID()}.tgz`, archive),
      '-n',
      namespace,
      '--wait',
      '--timeout',
      '60s',
      '--set',
      'greeting=ahoy',
    )
    await agrees(t, setup, namespace)
    ends(t, await upgrade(setup, namespace, 'harbour'), 'succeeded')
    t.deepEqual(await settings(setup, namespace), { greeting: 'ahoy' }, 'values stay when none are given')
    await setup.cli.must('rollback', 'web', '1', '-n', namespace, '--wait', '--timeout', '60s')
    await agrees(t, setup, namespace)
    ends(t, await setup.client.done('DELETE', `${releases}/web/?namespace=${namespace}`), 'succeeded')
    t.not((await setup.cli.run('status', 'web', '-n', namespace)).status, 0)
  })

  on('purge=false keeps the history, which a replacing install continues', async (t, setup, namespace) => {
    ends(t, await install(setup, namespace, 'minimal'), 'succeeded')
    ends(t, await setup.client.done('DELETE', `${releases}/web/`, { namespace, purge: false }), 'succeeded')
    t.deepEqual(await statuses(setup, namespace), ['1 uninstalled'])
    t.is(await settings(setup, namespace, 'minimal'), undefined)
    t.is(
      (
        await setup.client.send('POST', `${releases}/`, {
          ...chartSource(setup.charts, 'minimal'),
          releaseName: 'web',
          namespace,
        })
      ).status,
      409,
    )
    ends(t, await install(setup, namespace, 'minimal', { replace: true }), 'succeeded')
    t.is((await history(setup, namespace)).at(-1)?.info.status, 'deployed')
    await agrees(t, setup, namespace)
  })

  onWorkloads(
    'an atomic upgrade that fails is rolled back, an atomic install that fails leaves nothing',
    async (t, setup, namespace) => {
      ends(t, await install(setup, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
      const failed = await upgrade(setup, namespace, 'harbour', {
        atomic: true,
        timeout: '4s',
        values: ['hooks.isOn=false', 'claim.isOn=true', 'greeting=lost'],
      })
      ends(t, failed, 'failed')
      isWellTold(t, failed)
      t.deepEqual(await settings(setup, namespace), { greeting: 'hello' })
      t.deepEqual(await statuses(setup, namespace), ['1 superseded', '2 failed', '3 deployed'])
      await agrees(t, setup, namespace)
      const other = await setup.namespaceAtWork()
      const never = await install(setup, other, 'harbour', {
        atomic: true,
        timeout: '4s',
        values: ['hooks.isOn=false', 'claim.isOn=true'],
      })
      ends(t, never, 'failed')
      t.deepEqual((await setup.client.send('GET', `${releases}/?namespace=${other}&all=true`)).json, [])
      t.is(await settings(setup, other), undefined)
    },
  )

  onWorkloads('a dry run changes nothing and shows what would change, without secrets', async (t, setup, namespace) => {
    const tried = await install(setup, namespace, 'harbour', {
      dryRun: true,
      stringValues: [`password=${secretWord}`],
    })
    ends(t, tried, 'succeeded')
    isWellTold(t, tried)
    t.deepEqual((await setup.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    t.is(await settings(setup, namespace), undefined)
    ends(t, await install(setup, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
    const compared = await upgrade(setup, namespace, 'harbour', {
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
    t.deepEqual(await statuses(setup, namespace), ['1 deployed'])
  })

  on('what is refused before a task says so by its status, and changes nothing', async (t, setup, namespace) => {
    const refused = async (status: number, path: string, method: string, body: object): Promise<void> => {
      const answer = await setup.client.send(method, path, body)
      t.is(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`)
      t.is(typeof (answer.json as { message?: unknown }).message, 'string')
    }
    const source = chartSource(setup.charts, 'minimal')
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: 'Not A Name', namespace })
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: 'x'.repeat(54), namespace })
    await refused(422, `${releases}/`, 'POST', { ...source, releaseName: '--help', namespace })
    await refused(400, `${releases}/?response-id=no.word`, 'POST', { ...source, releaseName: 'web', namespace })
    await refused(404, `${releases}/web/`, 'PUT', { ...source, namespace })
    await refused(404, `${releases}/web/`, 'DELETE', { namespace })
    await refused(404, `${releases}/web/rollback`, 'POST', { namespace })
    t.deepEqual((await setup.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
  })

  on('the same response-id is one task, however often it is sent', async (t, setup, namespace) => {
    const id = `once_${randomUUID()}`
    const body = { ...chartSource(setup.charts, 'minimal'), releaseName: 'web', namespace }
    const answers = await Promise.all(
      [1, 2, 3].map(() => setup.client.send('POST', `${releases}/?response-id=${id}`, body)),
    )
    const tasks = new Set(answers.filter(({ status }) => status === 200).map(({ json }) => (json as { id: string }).id))
    t.is(tasks.size, 1, answers.map(({ text }) => text).join('\n'))
    const [task = ''] = tasks
    ends(t, await setup.client.follow(task), 'succeeded')
    const again = await setup.client.send('POST', `${releases}/?response-id=${id}`, body)
    t.is((again.json as { id: string }).id, task)
    t.deepEqual(await statuses(setup, namespace), ['1 deployed'])
  })

  onWorkloads(
    'while a task works on a release another one is refused, and a cancelled one ends true',
    async (t, setup, namespace) => {
      const id = await setup.client.accepted('POST', `${releases}/`, {
        ...chartSource(setup.charts, 'harbour'),
        releaseName: 'web',
        namespace,
        timeout: '100s',
        values: ['hooks.install=never'],
      })
      await untilObject(setup, `/apis/batch/v1/namespaces/${namespace}/jobs/web-pre-install`)
      const second = await setup.client.send('POST', `${releases}/`, {
        ...chartSource(setup.charts, 'minimal'),
        releaseName: 'web',
        namespace,
      })
      t.is(second.status, 409, second.text)
      const cancelled = await setup.client.cancel(id)
      t.is(cancelled.status, 202, cancelled.text)
      const task = await setup.client.follow(id)
      ends(t, task, 'cancelled')
      isWellTold(t, task)
      t.deepEqual(await statuses(setup, namespace), ['1 failed'])
      ends(t, await upgrade(setup, namespace, 'harbour', { values: ['hooks.isOn=false'] }), 'succeeded')
      await agrees(t, setup, namespace)
    },
  )

  on('charts of many shapes install as helm itself renders them', async (t, setup) => {
    const untouched = await setup.namespace()
    for (const chart of ['umbrella', 'unicode', 'lookup', 'schema', 'definitions', 'keep']) {
      const namespace = await setup.namespace()
      ends(t, await install(setup, namespace, chart), 'succeeded')
      const { archive } = setup.charts.chart(chart)
      const drawn = await setup.cli.must(
        'install',
        'web',
        setup.cli.file(`${chart}.tgz`, archive),
        '-n',
        untouched,
        '--dry-run=server',
        '-o',
        'json',
      )
      const content = (await setup.client.send('GET', `${releases}/web/content?namespace=${namespace}`)).json as {
        readonly manifest: string
      }
      t.is(content.manifest, (JSON.parse(drawn) as { manifest: string }).manifest, chart)
    }
  })

  on(
    'values against the schema, and templates that fail, are reported and leave nothing',
    async (t, setup, namespace) => {
      const wrong = await install(setup, namespace, 'schema', { values: ['size=99'] })
      ends(t, wrong, 'failed')
      t.regex(`${wrong.message} ${wrong.error}`, /size/)
      const broken = await install(setup, namespace, 'broken')
      ends(t, broken, 'failed')
      t.regex(`${broken.message} ${broken.error}`, /\.Values\.must is needed/)
      const missing = await install(setup, namespace, 'not-there')
      ends(t, missing, 'failed')
      t.deepEqual((await setup.client.send('GET', `${releases}/?namespace=${namespace}&all=true`)).json, [])
    },
  )

  on(
    'an editor applies a model, changes it by a patch, and removes it; helm sees each revision',
    async (t, setup, namespace) => {
      const metadata = {
        resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' },
        release: { name: 'web', namespace },
      }
      const data = async (): Promise<unknown> =>
        (
          (await setup.object(`/api/v1/namespaces/${namespace}/configmaps/web`)) as
            | { readonly data?: unknown }
            | undefined
        )?.data
      const applied = await setup.client.done('PUT', '/editor/', {
        metadata,
        resources: { configMap: { data: { high: '4.1' } } },
      })
      ends(t, applied, 'succeeded')
      isWellTold(t, applied)
      t.deepEqual(await data(), { high: '4.1' })
      await agrees(t, setup, namespace)
      const patched = await setup.client.done('PUT', '/editor/', {
        metadata,
        patch: [{ op: 'add', path: '/resources/configMap/data/low', value: '0.3' }],
      })
      ends(t, patched, 'succeeded')
      t.deepEqual(await data(), { high: '4.1', low: '0.3' })
      const model = await setup.client.send('PUT', '/editor/model', { metadata })
      t.deepEqual((model.json as { resources: { configMap: { data: unknown } } }).resources.configMap.data, {
        high: '4.1',
        low: '0.3',
      })
      await agrees(t, setup, namespace)
      const removed = await setup.client.done('DELETE', '/editor/', { metadata })
      ends(t, removed, 'succeeded')
      isWellTold(t, removed)
      t.is(await data(), undefined)
      t.not((await setup.cli.run('status', 'web', '-n', namespace)).status, 0)
    },
  )

  on(
    'an object with the policy keep outlives its release, one that left the chart does not',
    async (t, setup, namespace) => {
      ends(t, await install(setup, namespace, 'keep'), 'succeeded')
      ends(t, await upgrade(setup, namespace, 'keep', { values: ['hasExtra=false'] }), 'succeeded')
      t.is(await settings(setup, namespace, 'extra'), undefined)
      ends(t, await setup.client.done('DELETE', `${releases}/web/`, { namespace }), 'succeeded')
      t.deepEqual(await settings(setup, namespace, 'kept'), { value: 'kept' })
    },
  )
})
