// process: waiting - uses components
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { amendInfo } from '../../../adapters/helm/records/record-members.ts'
import { makeRe2NamePatterns } from '../../../adapters/helm/records/name-patterns.ts'
import { makeTimeSlices } from '../../../adapters/outbound/time-slices.ts'
import { parseRecord, pack, packedBytes, unpackSync } from '../../../adapters/helm/records/record-payload.ts'
import { makeHelmReleaseStore } from '../../../adapters/helm/records/release-store.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { ReleaseListOptions } from '../../../core/packages/releases/release-reads.ts'
import { makeReleaseReads } from '../../../core/packages/releases/release-reads.ts'
import { storageDrivers, type Release, type ReleaseHeader, type StorageDriver } from '../../../core/packages/types.ts'
import { chartArchive, chartYaml } from '../../support/charts/archive.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { unwrap } from '../../support/outcome.ts'
import { makeHelmCli } from '../../support/run-helm.ts'
import { memberOf } from './member-of.ts'
import { goJson, recordObject, releaseJson, someRecords, type RecordOf } from './records.ts'
import { anyText } from '../../support/any-text.ts'

/** What the helm commands write is read here as they read it, and what is written here is read by them. */
const test = needing('helm')

const chart = async (): Promise<Buffer> =>
  Buffer.from(
    await chartArchive({
      'Chart.yaml': chartYaml(
        'web',
        'description: A <b> & "c"\nappVersion: "2.1"\nkeywords: [one, two]\nmaintainers: [{name: Ann, email: ann@example.com}]\n',
        '1.4.0',
      ),
      'values.yaml':
        'replicas: 1\nratio: 1.5\nlarge: 12345678901234567890\ntext: "é 😀 \\u2028 \\u0001 \\b <&>"\nnested: {list: [1, two, null, {a: true}], empty: {}}\n',
      'templates/map.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-x"}\ndata: {a: "<{{ .Values.replicas }}>"}\n',
      'templates/hook.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-hook", annotations: {"helm.sh/hook": post-install, "helm.sh/hook-weight": "3"}}\n',
      'templates/NOTES.txt': 'Hi <there> & you',
      'README.md': '# Web\n',
    }),
  )

const openFixture = async (major: 'helm3' | 'helm4', driver: StorageDriver) => {
  const commands = await helm()
  if (commands === undefined) throw new Error('helm is switched off')
  const fake = await startFakeApi()
  const member = memberOf(fake)
  const store = makeHelmReleaseStore({ clock: { now: () => new Date() } })
  const cli = makeHelmCli(commands[major], fake.kubeconfig(), { HELM_DRIVER: driver.toLowerCase() })
  const cluster = member.as('ann')
  const reads = makeReleaseReads({
    memberClusters: { open: async () => right(cluster) },
    releases: store,
    driverOf: async () => driver,
    patterns: makeRe2NamePatterns(makeTimeSlices(4)),
  })
  const call = { signal: new AbortController().signal } as SignedInCall
  const grant = {} as AccessGrant
  return {
    fake,
    cli,
    store,
    cluster,
    signal: call.signal,
    list: async (options: ReleaseListOptions) =>
      unwrap(await reads.list(call, { grant, options, isFull: false })) as readonly ReleaseHeader[],
    history: async (name: string, namespace: string) =>
      unwrap(
        await reads.history(call, { grant, release: { name, namespace }, max: undefined, isFull: false }),
      ) as readonly ReleaseHeader[],
    content: async (name: string, namespace: string, version?: number): Promise<Release> =>
      unwrap(await reads.content(call, { grant, release: { name, namespace }, version })),
    /** The JSON of every stored record. */
    texts: () =>
      fake
        .all('v1', driver)
        .filter(({ metadata }) => metadata.labels?.['owner'] === 'helm')
        .map(({ data }) => unpackSync(packedBytes(driver, data?.['release'] ?? '')).toString()),
    close: async () => {
      cli.remove()
      await Promise.all([store.close(), member.close()])
      await fake.stop()
    },
  }
}
type Fixture = Awaited<ReturnType<typeof openFixture>>

interface CliRow {
  readonly name: string
  readonly namespace: string
  readonly revision: string
  readonly status: string
  readonly chart: string
  readonly app_version: string
}
const asCliRow = ({ name, namespace, version, info, chartMetadata }: ReleaseHeader): CliRow => ({
  name,
  namespace,
  revision: String(version),
  status: info.status,
  chart: `${String(chartMetadata['name'])}-${String(chartMetadata['version'])}`,
  app_version: String(chartMetadata['appVersion']),
})
const cliList = async ({ cli }: Fixture, ...args: readonly string[]): Promise<readonly CliRow[]> =>
  ((await cli.json('list', ...args)) as readonly (CliRow & { readonly updated: string })[]).map(
    ({ updated: _, ...row }) => row,
  )

const liveThrough = async ({ cli }: Fixture): Promise<void> => {
  const archive = cli.file('web.tgz', await chart())
  await cli.must('install', 'web', archive, '-n', 'default', '--set', 'k=1')
  await cli.must('upgrade', 'web', archive, '-n', 'default', '--set', 'replicas=3', '--description', 'More & <more>')
  await cli.must('rollback', 'web', '1', '-n', 'default')
  await cli.must('install', 'api', archive, '-n', 'shop', '--create-namespace')
  await cli.must('install', 'old', archive, '-n', 'shop')
  await cli.must('uninstall', 'old', '-n', 'shop', '--keep-history')
}

for (const major of ['helm3', 'helm4'] as const) {
  for (const driver of storageDrivers) {
    test(`${major}, ${driver}: lists, histories and contents are those of the command`, async (t) => {
      const fixture = await openFixture(major, driver)
      t.teardown(() => fixture.close())
      await liveThrough(fixture)
      const listed = await fixture.list({ all: true })
      t.deepEqual(listed.map(asCliRow), await cliList(fixture, '-A', ...(major === 'helm3' ? ['--all'] : [])))
      t.deepEqual(
        listed.map(({ name, info }) => [name, info.status]),
        [
          ['api', 'deployed'],
          ['old', 'uninstalled'],
          ['web', 'deployed'],
        ],
      )
      const told = (await fixture.cli.json('history', 'web', '-n', 'default')) as readonly {
        readonly revision: number
        readonly status: string
        readonly description: string
        readonly updated: string
      }[]
      t.deepEqual(
        (await fixture.history('web', 'default')).map(({ version, info }) => [
          version,
          info.status,
          info['description'],
          Date.parse(String(info['last_deployed'])),
        ]),
        told.map(({ revision, status, description, updated }) => [revision, status, description, Date.parse(updated)]),
      )
      for (const version of [1, 2, 3]) {
        const release = await fixture.content('web', 'default', version)
        const { chart: _chart, hooks: _hooks, ...rest } = release
        const {
          chart: _c,
          hooks: _h,
          info,
          ...shown
        } = (await fixture.cli.json('status', 'web', '-n', 'default', '--revision', String(version))) as Release
        const { resources: _live, ...shownInfo } = info as Release['info'] & { readonly resources?: unknown }
        t.deepEqual(rest as unknown, { ...shown, info: shownInfo } as unknown, `revision ${version}`)
        t.is(
          (await fixture.cli.must('get', 'manifest', 'web', '-n', 'default', '--revision', String(version))).trimEnd(),
          release.manifest.trimEnd(),
        )
        t.deepEqual(
          release.config as unknown,
          await fixture.cli.json('get', 'values', 'web', '-n', 'default', '--revision', String(version)),
        )
      }
      t.is((await fixture.content('web', 'default')).version, 3)
    })

    test(`${major}, ${driver}: a record survives a round trip and is read by helm`, async (t) => {
      const fixture = await openFixture(major, driver)
      t.teardown(() => fixture.close())
      await liveThrough(fixture)
      const texts = fixture.texts()
      t.is(texts.length, 5)
      for (const text of texts) {
        t.is(goJson(parseRecord(text)), text)
        t.is(unpackSync(packedBytes(driver, await pack(driver, text))).toString(), text)
        const { status } = (JSON.parse(text) as Release).info
        t.is(amendInfo(amendInfo(text, { status: 'failed' }), { status }), text)
      }
      const [ref] = unwrap(
        await fixture.store.index(fixture.cluster, driver, { namespace: 'shop', name: 'api' }, fixture.signal),
      )
      if (ref === undefined) return t.fail('no record')
      const change = { status: 'failed', description: 'Ended by <us> & "them" \u2028' } as const
      unwrap(await fixture.store.amend(fixture.cluster, driver, ref, change, fixture.signal))
      const [told] = (await fixture.cli.json('history', 'api', '-n', 'shop')) as readonly {
        readonly status: string
        readonly description: string
      }[]
      t.like(told, change)
      t.deepEqual(
        (await cliList(fixture, '-n', 'shop', '--failed')).map(({ name, status }) => [name, status]),
        [['api', 'failed']],
      )
      await fixture.cli.must('upgrade', 'api', fixture.cli.file('web.tgz', await chart()), '-n', 'shop')
      t.deepEqual(
        (await fixture.history('api', 'shop')).map(({ version, info }) => [version, info.status]),
        [
          [1, 'superseded'],
          [2, 'deployed'],
        ],
      )
    })
  }

  test(`${major}: our records are read by helm, and lists agree in all options`, async (t) => {
    const fixture = await openFixture(major, 'Secret')
    t.teardown(() => fixture.close())
    await fc.assert(
      fc.asyncProperty(someRecords, someListing, async (records, listing) => {
        for (const object of fixture.fake.all('v1', 'Secret')) fixture.fake.remove(object)
        // One date each: helm gives equal ones no order.
        const dated = records.map((record, index): RecordOf => ({
          ...record,
          lastDeployed: `2026-05-12T09:${String(10 + ((index * 7) % 50)).padStart(2, '0')}:${String(index).padStart(2, '0')}Z`,
        }))
        for (const record of dated) fixture.fake.put(await recordObject('Secret', record))
        const { options, args } = listing(major)
        t.deepEqual(
          (await fixture.list({ ...options, namespace: 'shop' })).map(asCliRow),
          await cliList(fixture, '-n', 'shop', ...args),
          JSON.stringify(options),
        )
        const [newest] = dated.filter(({ namespace }) => namespace === 'shop').toSorted((a, b) => b.version - a.version)
        if (newest === undefined) return
        const shown = (await fixture.cli.json(
          'get',
          'metadata',
          newest.name,
          '-n',
          'shop',
          '--revision',
          String(newest.version),
        )) as Readonly<Record<string, unknown>>
        t.like(shown, {
          name: newest.name,
          revision: newest.version,
          status: newest.status,
          version: `1.${newest.version}.0`,
        })
      }),
      { numRuns: 12 },
    )
  })

  test(`${major}: a value of any kind survives the way through a record to the command`, async (t) => {
    const fixture = await openFixture(major, 'ConfigMap')
    t.teardown(() => fixture.close())
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), someValue, { minKeys: 1, maxKeys: 4 }),
        async (config) => {
          const record: RecordOf = { name: 'web', namespace: 'shop', version: 1, config }
          fixture.fake.put(await recordObject('ConfigMap', record, goJson(releaseJson(record))))
          t.deepEqual(await fixture.cli.json('get', 'values', 'web', '-n', 'shop'), config)
          t.deepEqual((await fixture.content('web', 'shop')).config as unknown, config)
        },
      ),
      { numRuns: 8 },
    )
  })
}

const someValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    anyText({ maxLength: 12 }),
    fc.boolean(),
    fc.integer(),
    fc.constant(0.25),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tie('value'), { maxKeys: 3 }),
  ),
})).value

interface Listing {
  readonly options: ReleaseListOptions
  readonly args: readonly string[]
}

const statusFlags = ['deployed', 'failed', 'pending', 'superseded', 'uninstalled', 'uninstalling'] as const
const someListing: fc.Arbitrary<(major: 'helm3' | 'helm4') => Listing> = fc
  .record({
    statuses: fc.oneof(
      fc.constant('all' as const),
      fc.subarray([...statusFlags], { minLength: 1 }).filter((flags) => flags.length > 1 || flags[0] !== 'superseded'),
    ),
    byDate: fc.boolean(),
    sortReverse: fc.boolean(),
    limit: fc.integer({ min: 0, max: 4 }),
    offset: fc.integer({ min: 0, max: 3 }),
    filter: fc.constantFrom('', 'web', '^a', '2$'),
  })
  .map(({ statuses, byDate, sortReverse, limit, offset, filter }) => (major) => ({
    options: {
      ...(statuses === 'all' ? { all: true } : Object.fromEntries(statuses.map((flag) => [flag, true]))),
      byDate,
      sortReverse,
      limit,
      offset,
      filter,
    },
    args: [
      // Helm 4 shows all unless told otherwise, and has no such flag.
      ...(statuses === 'all' ? (major === 'helm3' ? ['--all'] : []) : statuses.map((flag) => `--${flag}`)),
      ...(byDate ? ['--date'] : []),
      ...(sortReverse ? ['--reverse'] : []),
      ...(filter === '' ? [] : ['--filter', filter]),
      '--max',
      String(limit),
      '--offset',
      String(offset),
    ],
  }))
