import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from '../../../adapters/helm/process/helm-finder.ts'
import type { HelmEvent } from '../../../core/packages/releases/ports.ts'
import type { FakeApi } from '../../support/fake-api.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import { handleOn, messageOf, type Handle } from './helm-runner.suite.ts'
import type { ProcessFixture } from './helm-process.fixture.ts'
import type { Assertions } from '../../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../../composition/runtime/port-tests/contract-suite.ts'

const open = new AbortController().signal
const endless = '{{- range until 100000 }}{{- range until 100000 }}{{- end }}{{- end }}\n'
const hungry = '{{- $s := "aaaaaaaaaaaaaaaa" }}{{- range until 40 }}{{- $s = print $s $s }}{{- end }}a: {{ len $s }}\n'
const chatty = '{{- range until 10000 }}\n# {{ repeat 400 "x" }}\n{{- end }}\n'
const callsAs = ({ calls }: FakeApi, namespace: string) => calls.filter((call) => call.namespace === namespace)

/** The real program, and the API that is its cluster. */
export interface HelmProcessBench {
  readonly fixture: ProcessFixture
  readonly api: FakeApi
  close?(): Promise<void>
}

const about: SuiteAbout = {
  name: 'helm-process',
  ports: ['HelmProcessRunner'],
  needs: 'A runner of the helm program and a Kubernetes API that records its requests.',
  isShared: true,
}

/** What the real program must not do, whatever a chart says. */
export const helmProcessSuite = contractSuite<HelmProcessBench>(about, (onBench) => {
  const on = (
    title: string,
    run: (t: Assertions, fixture: ProcessFixture, handle: Handle, api: FakeApi) => Promise<void>,
  ): void => onBench(title, async (t, { fixture, api }) => run(t, fixture, await handleOn(fixture), api))

  on('a template that never ends is killed', async (t, { withLimits, chart }, { work }) => {
    const runner = withLimits({ renderSeconds: 0.4, renderGraceSeconds: 0.2 })
    const ended = await runner.template(
      work('loop', { dryRun: 'client' }),
      await chart({ files: { 'templates/loop.yaml': endless } }),
      open,
    )
    t.is(tagOf(ended), 'HelmStopped')
    t.regex(messageOf(ended), /took longer than the 0.4 s that a rendering may take: .*MOORAGE_HELM_RENDER_SECONDS/)
    const dry = await runner.install(
      work('loop', { dryRun: 'server' }),
      await chart({ files: { 'templates/loop.yaml': endless } }),
      open,
    )
    t.is(tagOf(dry), 'HelmStopped')
  })

  if (onPath('prlimit', process.env['PATH'] ?? '') !== undefined)
    on('a template that wants all memory gets none of the machine’s', async (t, { runner, chart }, { work }) => {
      const ended = await runner.template(
        work('bloat', { dryRun: 'client' }),
        await chart({ files: { 'templates/bloat.yaml': hungry } }),
        open,
      )
      t.is(tagOf(ended), 'HelmStopped')
      t.regex(messageOf(ended), /memory/)
    })

  on('a rendering that writes without end is cut', async (t, { withLimits, chart }, { work }) => {
    const runner = withLimits({ outputBytes: 1024 * 1024 })
    const ended = await runner.template(
      work('flood', { dryRun: 'client' }),
      await chart({ files: { 'templates/flood.yaml': chatty } }),
      open,
    )
    t.is(tagOf(ended), 'HelmStopped')
    t.regex(messageOf(ended), /more than can be taken/)
  })

  on('a schema makes helm open no URL and no file', async (t, { runner, chart }, { work }) => {
    let asked = 0
    const elsewhere = createServer((_req, res) => (asked++, void res.end('{}'))).listen(0, '127.0.0.1')
    await new Promise((resolve) => elsewhere.once('listening', resolve))
    const { port } = elsewhere.address() as AddressInfo
    const folder = mkdtempSync(join(tmpdir(), 'moorage-schema-'))
    // Were it read, no values would fit.
    writeFileSync(join(folder, 'never.json'), 'false')
    try {
      for (const ref of [`http://127.0.0.1:${port}/schema.json`, `file://${folder}/never.json`]) {
        const files = { 'values.schema.json': JSON.stringify({ type: 'object', properties: { text: { $ref: ref } } }) }
        unwrap(
          await runner.template(work('spy', { dryRun: 'client' }), await chart({ files, values: { text: 'x' } }), open),
        )
        unwrap(
          await runner.install(work('spy', { dryRun: 'server' }), await chart({ files, values: { text: 'x' } }), open),
        )
      }
    } finally {
      elsewhere.close()
      rmSync(folder, { recursive: true })
    }
    t.is(asked, 0)
  })

  const looking =
    '{{- $s := lookup "v1" "Secret" .Release.Namespace "treasure" }}\nkind: ConfigMap\napiVersion: v1\nmetadata: { name: {{ .Release.Name }}-seen }\ndata: { seen: {{ ($s.data | default dict).gold | default "nothing" | quote }} }\n'

  on(
    '`lookup` sees what the caller may see, and the cluster gets the caller',
    async (t, fixture, { namespace, work }, api) => {
      api.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'treasure', namespace },
        data: { gold: 'Z29sZA==' },
      })
      const chart = await fixture.chart({ files: { 'templates/look.yaml': looking } })
      t.regex(unwrap(await fixture.runner.template(work('look'), chart, open)).manifest, /seen: "?Z29sZA==/)
      const stop = api.rules.forbid({ user: 'moorage:bob', resource: 'secrets', namespace })
      const asBob = { ...work('look'), target: { ...work('look').target, cluster: await fixture.as('bob') } }
      t.regex(
        messageOf(await fixture.runner.template(asBob, chart, open)),
        /forbidden: User "moorage:bob" cannot get resource "secrets"/,
      )
      t.regex(messageOf(await fixture.runner.install(asBob, chart, open)), /forbidden/)
      stop()
      const users = new Set(callsAs(api, namespace).map(({ user }) => user))
      t.deepEqual([...users].sort(), ['moorage:ann', 'moorage:bob'])
      t.true(callsAs(api, namespace).every(({ groups }) => groups.includes('moorage:org:quay')))
    },
  )

  on('a rendering for a client asks the cluster nothing', async (t, { runner, chart }, { namespace, work }, api) => {
    unwrap(
      await runner.template(
        work('blind', { dryRun: 'client' }),
        await chart({ files: { 'templates/look.yaml': looking } }),
        open,
      ),
    )
    t.deepEqual(callsAs(api, namespace), [])
  })

  on(
    'a look knows the version and kinds of the cluster, also where its CRDs are missing',
    async (t, { runner, chart }, { work }) => {
      const files = {
        'templates/odd.yaml': 'apiVersion: odd.example.com/v1\nkind: Odd\nmetadata: { name: odd }\n',
        'templates/kube.yaml':
          'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: kube }\ndata: { apps: {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" | quote }} }\n',
      }
      const { manifest } = unwrap(await runner.template(work('look'), await chart({ files }), open))
      t.regex(manifest, /kind: Odd/)
      t.regex(manifest, /kube: "?v1\.34\.2/)
      t.regex(manifest, /apps: "?true/)
      t.regex(manifest, /hasMongo: "?false/)
    },
  )

  on(
    'another release’s objects do not keep a look from being taken, but an install',
    async (t, { runner, chart }, { namespace, work }, api) => {
      api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'held-map', namespace }, data: {} })
      unwrap(await runner.template(work('held'), await chart({}), open))
      t.regex(
        messageOf(await runner.install(work('held'), await chart({}), open)),
        /cannot be imported into the current release/,
      )
      unwrap(await runner.install(work('held', { takeOwnership: true, replace: true }), await chart({}), open))
    },
  )

  on('records go where the driver says', async (t, { runner, chart }, { namespace, work }, api) => {
    const inMaps = work('maps')
    unwrap(
      await runner.install({ ...inMaps, target: { ...inMaps.target, driver: 'ConfigMap' } }, await chart({}), open),
    )
    t.is(api.all('v1', 'Secret', namespace).length, 0)
    t.true(api.all('v1', 'ConfigMap', namespace).some(({ metadata }) => metadata.name === 'sh.helm.release.v1.maps.v1'))
  })

  on(
    'an install that fails is taken back where that is asked',
    async (t, { runner, chart, records }, { namespace, work }, api) => {
      const failed = await runner.install(
        work('undo', { atomic: true, timeoutSeconds: 1 }),
        await chart({ neverReady: true }),
        open,
      )
      t.is(tagOf(failed), 'HelmRefused')
      t.deepEqual(await records(namespace, 'undo'), [])
      t.is(api.find('apps/v1', 'Deployment', namespace, 'undo-never'), undefined)
    },
  )

  on('values are in no message and no event', async (t, { runner, chart }, { work, events }) => {
    const password = 'lantern-under-the-quay'
    const values = { database: { password }, tlsKey: `-----BEGIN\n${password}-second-line\n-----END` }
    const files = {
      'templates/secret.yaml':
        'apiVersion: v1\nkind: Secret\nmetadata: { name: {{ .Release.Name }}-s }\nstringData: { p: {{ .Values.database.password | quote }} }\n',
    }
    unwrap(await runner.install(work('hush'), await chart({ files, values }), open))
    const failing = {
      'templates/fail.yaml':
        '{{ fail (printf "no good: %s %s" .Values.database.password (.Values.database.password | b64enc)) }}',
    }
    const failed = await runner.upgrade(work('hush'), await chart({ files: failing, values }), open)
    t.regex(messageOf(failed), /no good: \*\*\* \*\*\*/)
    const broken = { 'templates/broken.yaml': 'a: b: {{ .Values.database.password }}\n' }
    t.notRegex(
      messageOf(await runner.upgrade(work('hush'), await chart({ files: broken, values }), open)),
      new RegExp(password),
    )
    t.notRegex(JSON.stringify(events), new RegExp(`${password}|${Buffer.from(password).toString('base64')}`))
    t.notRegex(JSON.stringify(events), /127\.0\.0\.1:\d+\/[0-9a-f]{32}/)
    t.true(events.some((event) => event.kind === 'line'))
  })

  on('an error of a template is reported by its root, on one line', async (t, { runner, chart }, { work }) => {
    const failed = await runner.install(
      work('root'),
      await chart({ files: { 'templates/need.yaml': '{{ required "a berth is needed" .Values.berth }}' } }),
      open,
    )
    t.is(tagOf(failed), 'HelmRefused')
    t.regex(messageOf(failed), /a berth is needed/)
    t.notRegex(messageOf(failed), /\n|INSTALLATION FAILED|goroutine|\.go:\d+/)
  })

  on('a cluster that is out of reach is said to be', async (t, { runner, chart, as }, { work, namespace }, api) => {
    const login = `far-${namespace}`
    const stop = api.rules.answer({ path: '/version', user: `moorage:${login}` }, (_req, res) => res.destroy())
    const far = {
      ...work('far'),
      target: { ...work('far').target, cluster: await as(login) },
    }
    const failed = await runner.install(far, await chart({}), open)
    stop()
    t.is(tagOf(failed), 'HelmRefused')
    t.regex(messageOf(failed), /unreachable.*: The cluster/i)
    t.notRegex(messageOf(failed), /127\.0\.0\.1/)
  })

  on(
    'a rollback or removal that was cancelled is done to its end',
    async (t, { runner, chart, records }, { namespace, work }, api) => {
      unwrap(await runner.install(work('last'), await chart({}), open))
      const hold = api.rules.hold({ verb: 'delete', namespace, resource: 'configmaps' })
      const cancelling = new AbortController()
      const removing = runner.uninstall(work('last'), cancelling.signal)
      await hold.arrived
      cancelling.abort()
      setTimeout(() => hold.release(), 300)
      unwrap(await removing)
      t.deepEqual(await records(namespace, 'last'), [])
    },
  )

  on(
    'a stop ends what runs, and nothing is begun after it',
    async (t, { withLimits, chart, records }, { namespace, work }) => {
      const runner = withLimits({})
      const started = Promise.withResolvers<undefined>()
      const observed = {
        ...work('stop', { wait: true, timeoutSeconds: 60 }),
        onEvent: (event: HelmEvent) => {
          if (event.kind === 'call' && event.object?.resource === 'deployments') started.resolve(undefined)
        },
      }
      const running = runner.install(observed, await chart({ neverReady: true }), open)
      await started.promise
      await runner.close()
      t.is(tagOf(await running), 'HelmStopped')
      t.deepEqual(await records(namespace, 'stop'), ['1 failed'])
      t.is(tagOf(await runner.install(work('late'), await chart({}), open)), 'HelmStopped')
    },
  )
})
