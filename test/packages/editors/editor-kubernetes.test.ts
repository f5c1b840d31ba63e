// process: waiting - uses components
import { expectStatus } from '../../clusters/cluster-fixture.ts'
import { needing } from '../../support/components/needing.ts'
import { startOnRealCluster } from '../life-cycle-clusters.ts'
import { deployments } from './editor-fixture.ts'

/** The built-in editor of Deployments on a real API server, whose objects carry defaults, managers and versions. */
const test = needing('helm', 'kubernetes')

interface Deployment {
  readonly spec: {
    readonly replicas: number
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
  }
}

for (const version of ['helm3', 'helm4'] as const) {
  test.serial(`${version}: a model is applied, patched and removed`, async (t) => {
    const fixture = await startOnRealCluster(version)
    t.teardown(() => fixture.close())
    const namespace = await fixture.namespaceAtWork()
    const { client } = fixture
    const metadata = { resource: deployments, release: { name: 'quay', namespace } }
    const live = async (): Promise<Deployment | undefined> =>
      (await fixture.object(`/apis/apps/v1/namespaces/${namespace}/deployments/quay`)) as Deployment | undefined

    const options = { metadata, spec: { image: 'registry.example.com/quay:1', replicas: 1, port: 8080, expose: true } }
    const model = (await expectStatus(client.send('PUT', '/options/model', options), 200)).json
    const made = await client.done('PUT', '/editor/', model)
    t.is(made.state, 'succeeded', `${made.message} ${made.error}`)
    t.is((await live())?.spec.replicas, 1)

    const loaded = await expectStatus(client.send('PUT', '/editor/model', { metadata }), 200)
    t.deepEqual(Object.keys(loaded.json.resources).toSorted(), ['appsDeployment', 'service'])
    t.false(
      'status' in loaded.json.resources.appsDeployment ||
        'managedFields' in loaded.json.resources.appsDeployment.metadata,
    )
    const again = await client.done('PUT', '/editor/', loaded.json)
    t.is(again.state, 'succeeded', `${again.message} ${again.error}`)

    const patched = await client.done('PUT', '/editor/', {
      metadata,
      patch: [
        { op: 'replace', path: '/resources/appsDeployment/spec/replicas', value: 2 },
        {
          op: 'replace',
          path: '/resources/appsDeployment/spec/template/spec/containers/0/image',
          value: 'registry.example.com/quay:2',
        },
      ],
    })
    t.is(patched.state, 'succeeded', `${patched.message} ${patched.error}`)
    const changed = await live()
    t.deepEqual(
      [changed?.spec.replicas, changed?.spec.template.spec.containers[0]?.image],
      [2, 'registry.example.com/quay:2'],
    )

    const manifest = await expectStatus(client.send('PUT', '/editor/manifest', { metadata }), 200)
    t.deepEqual([...manifest.text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind).toSorted(), [
      'Deployment',
      'Service',
    ])
    const removed = await client.done('DELETE', '/editor/', { metadata })
    t.is(removed.state, 'succeeded', `${removed.message} ${removed.error}`)
    t.is(await live(), undefined)
    t.is((await client.send('PUT', '/editor/model', { metadata })).status, 404)
  })
}
