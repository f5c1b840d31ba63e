// process: waiting - uses components
import { makeHelmReleaseStore } from '../../../adapters/helm/records/release-store.ts'
import type { ReleaseRecordRef, StorageDriver } from '../../../core/packages/types.ts'
import { storageDrivers } from '../../../core/packages/types.ts'
import { kubernetes } from '../../support/components/available.ts'
import { untilAllowed } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import { shown, tagOf, unwrap } from '../../support/outcome.ts'
import { memberOf } from './member-of.ts'
import type { RecordOf } from './records.ts'
import { recordObject } from './records.ts'

const signal = new AbortController().signal

/** What the store relies on in the API of a cluster, on a real one. */
const withKubernetes = needing('kubernetes')

const releaseStoreRealOpenFixture = async () => {
  const plane = await kubernetes()
  if (plane === undefined) throw new Error('kubernetes is switched off')
  const namespace = await plane.createNamespace('releases')
  const member = memberOf({ kubeconfig: () => plane.kubeconfig(), uid: 'real' })
  const store = makeHelmReleaseStore({ clock: { now: () => new Date() } })
  const user = `reader-${namespace}`
  const plural = (driver: StorageDriver): string => `${driver.toLowerCase()}s`
  const allow = async (...verbs: readonly string[]): Promise<void> => {
    const made = [
      await plane.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, {
        metadata: { name: 'reader' },
        rules: [{ apiGroups: [''], resources: ['secrets', 'configmaps'], verbs }],
      }),
      await plane.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
        metadata: { name: 'reader' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
      }),
    ]
    if (made.some(({ status }) => status !== 201)) throw new Error(JSON.stringify(made))
    await untilAllowed(plane, user, { namespace, verb: verbs.at(-1) ?? '', resource: 'secrets' })
  }
  return {
    plane,
    namespace,
    store,
    allow,
    cluster: member.as(user),
    put: async (driver: StorageDriver, record: RecordOf): Promise<void> => {
      const { status, body } = await plane.request(
        'POST',
        `/api/v1/namespaces/${namespace}/${plural(driver)}`,
        await recordObject(driver, record),
      )
      if (status !== 201) throw new Error(JSON.stringify(body))
    },
    close: async () =>
      void (await Promise.all([
        store.close(),
        member.close(),
        plane.request('DELETE', `/api/v1/namespaces/${namespace}`),
      ])),
  }
}

for (const driver of storageDrivers) {
  withKubernetes(`${driver}s: records are indexed, read and amended by compare-and-set`, async (t) => {
    const fixture = await releaseStoreRealOpenFixture()
    t.teardown(() => fixture.close())
    await fixture.allow('get', 'list', 'update')
    const { namespace, store, cluster } = fixture
    const record = (version: number): RecordOf => ({
      name: 'web',
      namespace,
      version,
      status: version === 3 ? 'pending-upgrade' : 'superseded',
    })
    for (const version of [1, 2, 3]) await fixture.put(driver, record(version))
    const index = async (): Promise<readonly ReleaseRecordRef[]> =>
      unwrap(await store.index(cluster, driver, { namespace, name: 'web' }, signal)).toSorted(
        (a, b) => a.version - b.version,
      )
    const refs = await index()
    t.deepEqual(
      refs.map(({ version, status, objectName }) => [version, status, objectName]),
      [1, 2, 3].map((version) => [version, record(version).status, `sh.helm.release.v1.web.v${version}`]),
    )
    t.deepEqual(
      unwrap(await store.headers(cluster, driver, refs, signal)).map(({ version, chartMetadata }) => [
        version,
        chartMetadata['version'],
      ]),
      [
        [1, '1.1.0'],
        [2, '1.2.0'],
        [3, '1.3.0'],
      ],
    )
    const last = refs[2] as ReleaseRecordRef
    const change = { status: 'failed', description: 'The worker died' } as const
    t.deepEqual(
      (await Promise.all([1, 2, 3].map(() => store.amend(cluster, driver, last, change, signal))))
        .map(tagOf)
        .toSorted(),
      ['RecordChanged', 'RecordChanged', 'done'],
    )
    const amended = (await index())[2] as ReleaseRecordRef
    t.is(amended.status, 'failed')
    t.like(unwrap(await store.read(cluster, driver, amended, signal)).info, change)
  })
}

withKubernetes('pages of metadata are those of a real server', async (t) => {
  const fixture = await releaseStoreRealOpenFixture()
  t.teardown(() => fixture.close())
  await fixture.allow('list')
  const versions = Array.from({ length: 620 }, (_, index) => index + 1)
  const one = await recordObject('ConfigMap', { name: 'web', namespace: fixture.namespace, version: 1 })
  for (let at = 0; at < versions.length; at += 40) {
    await Promise.all(
      versions.slice(at, at + 40).map((version) =>
        fixture.plane.request('POST', `/api/v1/namespaces/${fixture.namespace}/configmaps`, {
          ...one,
          metadata: {
            ...one.metadata,
            name: `sh.helm.release.v1.web.v${version}`,
            labels: { ...one.metadata.labels, version: String(version) },
          },
          data: {},
        }),
      ),
    )
  }
  const found = unwrap(
    await fixture.store.index(fixture.cluster, 'ConfigMap', { namespace: fixture.namespace }, signal),
  )
  t.deepEqual(
    found.map(({ version }) => version).toSorted((a, b) => a - b),
    versions,
  )
})

withKubernetes("rights are the cluster's, in its words", async (t) => {
  const fixture = await releaseStoreRealOpenFixture()
  t.teardown(() => fixture.close())
  await fixture.put('Secret', { name: 'web', namespace: fixture.namespace, version: 1 })
  const { namespace, store, cluster } = fixture
  const refused = await store.index(cluster, 'Secret', { namespace }, signal)
  t.is(tagOf(refused), 'RecordsRefused')
  t.regex(shown(refused)?.message ?? '', /cannot list resource "secrets"/)
  await fixture.allow('list')
  const [ref] = unwrap(await store.index(cluster, 'Secret', { namespace }, signal))
  if (ref === undefined) return t.fail('no record')
  t.is(tagOf(await store.index(cluster, 'Secret', {}, signal)), 'RecordsRefused')
  t.is(tagOf(await store.headers(cluster, 'Secret', [ref], signal)), 'RecordsRefused')
  t.is(tagOf(await store.read(cluster, 'Secret', ref, signal)), 'RecordsRefused')
  t.is(tagOf(await store.amend(cluster, 'Secret', ref, { status: 'failed' }, signal)), 'RecordsRefused')
})
