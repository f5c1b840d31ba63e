// process: own - kills the service
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { kubernetes, spokeKubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { accounts, serviceAccounts, configMaps, managedClusters, namespaces } from '../support/hub/api/kinds.ts'
import { issueTokens } from '../support/hub/control-plane/fill-token-secrets.ts'
import { startTestHub } from '../support/hub/test-hub.ts'
import { until } from '../support/until.ts'
import { startKilledService } from '../spokes/killed-service.ts'
import { eventsOf, untilEnd } from '../tasks/task-client.ts'

/** The task of client organizations, in processes that are killed between a change and its answer. */
const test = needing('kubernetes', 'spoke-kubernetes')

test('a creation or deletion is completed once after its process is killed', async (t) => {
  const [hubServer, spokeServer] = [(await kubernetes())!, (await spokeKubernetes())!]
  const hub = await startTestHub(hubServer, { spokes: spokeServer })
  const tokens = issueTokens(hub.spoke, (namespace) => namespace.startsWith(hub.prefix))
  const service = await startKilledService(hubServer, spokeServer)
  t.teardown(async () => {
    await service.stop()
    await tokens.stop()
    await hub.stop()
  })
  const { owner, token, toHub, toSpoke, database } = service
  const spoke = hub.name()
  await hub.client.create(managedClusters, { metadata: { name: spoke }, spec: { hubAcceptsClient: true } })
  await until(`the namespace of ${spoke}`, () => hub.client.get(namespaces, spoke))
  await expectStatus(importCluster(service.send, token, owner, spoke, toSpoke.kubeconfig), 200)
  const hubUid = (await hub.client.get(namespaces, 'kube-system'))!.metadata.uid!
  await database.query((k) =>
    k('clusters').where('name', spoke).update({ hub_cluster_uid: hubUid, managed_cluster_name: spoke }),
  )
  const send = (method: string, path: string, body?: object) =>
    expectStatus(
      service.send(method, `/api/v1/user/client/${path}`, { token, ...(body === undefined ? {} : { body }) }),
      200,
    )
  const tasks = async () =>
    (await expectStatus(service.send('GET', `/api/v1/tasks?account=${owner}&kind=client-orgs.settle`, { token }), 200))
      .json as readonly { readonly id: string }[]

  type Change = readonly [typeof toHub, string, RegExp]
  /** Begins the work, and kills the process after each of the changes. */
  const killedAfter = async (changes: readonly Change[], begin: () => Promise<unknown>) => {
    let begun: Promise<unknown> | undefined
    for (const [entrance, method, path] of changes) {
      const lost = entrance.loseAnswer(method, path)
      if (begun === undefined) {
        begun = begin()
        await begun
      } else await service.killAndStart()
      await lost
    }
    await service.killAndStart()
    const [task] = await tasks()
    return untilEnd(service, token, task!.id)
  }

  /** A client organization whose creation and deletion are killed after these changes. */
  const live = async (name: string, creating: readonly Change[], deleting: readonly Change[]) => {
    const created = await killedAfter(creating, () =>
      send('POST', 'create', {
        clientOrg: { orgName: name },
        hubClusterUID: hubUid,
        hubClusterOwnerName: owner,
        userPermission: { userName: `${name}-admin`, email: `${name}@example.com`, permissions: [{ name: spoke }] },
        useGateway: true,
      }),
    )
    t.is(created.state, 'succeeded', JSON.stringify(created))
    t.is(
      (await eventsOf(service, token, created.id)).filter(({ msg }) => msg.includes('Another one continues')).length,
      creating.length,
    )
    const all = [name, `${name}-gw`, `${name}-monitoring`]
    for (const namespace of all) {
      t.truthy(await hub.spoke.get(namespaces, namespace))
    }
    t.truthy(await hub.spoke.get(configMaps, 'client-telemetry', `${name}-monitoring`))
    const { json: organization } = await expectStatus(service.send('GET', `/api/v1/orgs/${name}`, { token }), 200)
    const id = (organization as { readonly id: number }).id
    const records = async () =>
      ((await database.query((k) => k('clusters').where('owner_id', id))) as readonly unknown[]).length
    t.like((await send('GET', `${name}/status`)).json, { status: 'Active' })
    t.is(await records(), 1)

    const deleted = await killedAfter(deleting, () => send('DELETE', `delete/${id}`))
    t.is(deleted.state, 'succeeded', JSON.stringify(deleted))
    for (const namespace of all) t.is(await hub.spoke.get(namespaces, namespace), undefined)
    t.like((await send('GET', `${name}/status`)).json, { status: 'Deleted' })
    t.is((await service.send('GET', `/api/v1/orgs/${name}`, { token })).status, 404)
    t.is(await records(), 0)
    t.is(await hub.spoke.get(serviceAccounts, name, 'moorage-clients'), undefined)
    t.false(
      (await hub.client.list(accounts)).items.some(
        ({ metadata }) => metadata.labels?.['authentication.k8s.appscode.com/hub-owner'] === String(id),
      ),
    )
  }

  // A task whose workers have died five times is given up.
  await live(
    hub.name('one'),
    [
      [toHub, 'POST', /\/accounts$/],
      [toHub, 'POST', /\/managedclusterrolebindings$/],
      [toSpoke, 'POST', /\/api\/v1\/namespaces$/],
      [toSpoke, 'PATCH', /\/serviceaccounts\//],
    ],
    [
      [toHub, 'DELETE', /\/managedclusterrolebindings\//],
      [toHub, 'DELETE', /\/accounts\//],
      [toSpoke, 'PATCH', /\/api\/v1\/namespaces\/[^/]+$/],
    ],
  )
  await live(
    hub.name('two'),
    [
      [toSpoke, 'PATCH', /\/clusterroles\//],
      [toSpoke, 'PATCH', /\/clusterrolebindings\//],
      [toSpoke, 'PATCH', /\/configmaps\//],
      [toSpoke, 'POST', /\/serviceaccounts\/[^/]+\/token$/],
    ],
    [
      [toSpoke, 'DELETE', /\/serviceaccounts\//],
      [toSpoke, 'DELETE', /\/api\/v1\/namespaces\/[^/]+$/],
    ],
  )
  const { json: rows } = await expectStatus(service.send('GET', '/api/v1/user/audit?limit=100', { token }), 200)
  t.deepEqual(
    (rows as readonly { readonly action: string }[])
      .map(({ action }) => action)
      .filter((action) => action.startsWith('client_org.'))
      .sort(),
    ['cluster_ready', 'cluster_removed', 'created', 'deleted', 'deletion_requested'].flatMap((action) => [
      `client_org.${action}`,
      `client_org.${action}`,
    ]),
  )
  t.true(await service.isAuditWhole())
})
