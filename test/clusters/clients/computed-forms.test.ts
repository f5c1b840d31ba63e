// process: waiting - uses components
import { kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { expectStatus, importCluster } from '../cluster-fixture.ts'

/** The forms of the wider surface, through the whole service, on a real kube-apiserver. */
const withKubernetes = needing('kubernetes')

let cluster: ControlPlaneAccess
let service: TestService

withKubernetes.before(async () => {
  cluster = (await kubernetes())!
  service = await startService()
  await expectStatus(importCluster(service.send, service.adminToken, 'admin', 'wide', cluster.kubeconfig()), 200)
})
withKubernetes.after.always(() => service.stop())

const send = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1/clusters/admin/wide/proxy${path}`, {
    token: service.adminToken,
    headers,
    ...(body === undefined ? {} : { body }),
  })

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'v' } })
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'web' }] } }
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
})

withKubernetes('create answers 200, get carries a tag, plain JSON patches, delete answers 200', async (t) => {
  const at = `/core/v1/namespaces/${await cluster.createNamespace()}/configmaps`
  t.is((await send('POST', `${at}/`, configMap('a'))).status, 200)
  const read = await send('GET', `${at}/a`)
  t.is(read.status, 200)
  t.is((await send('GET', `${at}/a`, undefined, { 'If-None-Match': String(read.headers['etag']) })).status, 304)
  t.deepEqual((await send('PATCH', `${at}/a`, { data: { x: 'y', k: null } })).json.data, { x: 'y' })
  const table = await send('GET', `${at}?convertToTable=true&labelSelector=none%3Dsuch`)
  t.like(table.json, { kind: 'Table', rows: [] })
  t.is((await send('DELETE', `${at}/a`)).status, 200)
  const gone = await send('GET', `${at}/a`)
  t.is(gone.status, 404)
  t.is(gone.json.reason, 'NotFound')
})

withKubernetes('selfsubjectaccessreviews and cluster-scoped resources', async (t) => {
  const review = await send('POST', '/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  })
  t.is(review.status, 200)
  t.true(review.json.status.allowed)
  t.is((await send('GET', '/rbac.authorization.k8s.io/v1/clusterroles/system:node')).json.metadata.name, 'system:node')
  t.is((await send('GET', '/core/v1/nodes/none/metrics')).status, 404)
})

withKubernetes('scale takes the bare number of replicas', async (t) => {
  const at = `/apps/v1/namespaces/${await cluster.createNamespace()}/deployments`
  await expectStatus(send('POST', at, deployment('web')), 200)
  t.is((await send('GET', `${at}/web/scale`)).json.spec.replicas, 1)
  const scaled = await send('PUT', `${at}/web/scale`, { replicas: 4 })
  t.is(scaled.status, 200, scaled.text)
  t.is(scaled.json.spec.replicas, 4)
  const whole = { ...scaled.json, spec: { replicas: 2 } }
  t.is((await send('PUT', `${at}/web/scale`, whole)).json.spec.replicas, 2)
  for (const body of [{ replicas: -1 }, { replicas: 1.5 }, {}, 'no json'])
    t.is((await send('PUT', `${at}/web/scale`, body)).status, 422)
  t.is((await send('PUT', `${at}/none/scale`, { replicas: 1 })).status, 404)
})

withKubernetes('what restricts a change counts in computed forms, too', async (t) => {
  const namespace = await cluster.createNamespace()
  const at = `/apps/v1/namespaces/${namespace}/deployments/web`
  await expectStatus(send('POST', `/apps/v1/namespaces/${namespace}/deployments`, deployment('web')), 200)
  const replicas = async (): Promise<number> => (await send('GET', `${at}/scale`)).json.spec.replicas
  t.is((await send('PUT', `${at}/scale?dryRun=All`, { replicas: 4 })).json.spec.replicas, 4)
  t.is((await send('PUT', `${at}/scale`, { replicas: 4, metadata: { resourceVersion: '1' } })).status, 409)
  t.is((await send('PUT', `${at}/scale`, { replicas: 4, spec: { replicas: 5 } })).status, 422)
  t.is(
    (await send('PUT', `${at}/scale?fieldValidation=Strict&fieldManager=me`, { replicas: 4, metdata: {} })).status,
    422,
  )
  t.is(await replicas(), 1)
  const { metadata } = (await send('GET', at)).json as { metadata: { uid: string } }
  const item = { namespace, name: 'web', group: 'apps', version: 'v1', resource: 'deployments' }
  const codes = async (query: string, body: object): Promise<unknown> => {
    const { status, json } = await send('POST', `/batch-delete${query}`, body)
    return status === 200
      ? json.resourcesStatus.map(
          (each: { status: { code?: number; status: string } }) => each.status.code ?? each.status.status,
        )
      : status
  }
  t.deepEqual(await codes('?dryRun=All', { resources: [item] }), ['Success'])
  t.deepEqual(await codes('', { resources: [item], dryRun: ['All'] }), ['Success'])
  t.deepEqual(await codes('', { resources: [{ ...item, preconditions: { uid: 'other' } }] }), [409])
  t.deepEqual(await codes('?dryRun=Some', { resources: [item] }), [422])
  for (const bad of [{ resources: [{ ...item, uid: 'other' }] }, { resources: [item], dry_run: true }])
    t.is(await codes('', bad), 422)
  t.is(await codes('?dryRun=All', { resources: [{ ...item, preconditions: { uid: 'other' } }] }), 422)
  t.is((await send('GET', at)).json.metadata.uid, metadata.uid)
  t.deepEqual(
    await codes('', {
      resources: [{ ...item, preconditions: { uid: metadata.uid } }],
      propagationPolicy: 'Background',
    }),
    ['Success'],
  )
  t.is((await send('GET', at)).status, 404)
  t.is((await send('GET', `/core/v1/namespaces/${namespace}/events`)).status, 200)
})

withKubernetes('RBAC objects with any lawful name are made, read and deleted', async (t) => {
  const kind = `/apis/rbac.authorization.k8s.io/v1/namespaces/${await cluster.createNamespace()}/roles`
  for (const name of [
    'team a:view',
    'rôle',
    'x|y',
    'a#b',
    'a?b',
    'a;b&c',
    'back\\slash',
    '"q"<x>{y}[z]^`',
    'line\nbreak',
    '...',
    'é'.repeat(200),
  ]) {
    const path = `${kind}/${encodeURIComponent(name)}`
    t.is(
      (
        await send('POST', kind, {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name },
          rules: [],
        })
      ).status,
      201,
      name,
    )
    t.is((await send('GET', path)).json.metadata.name, name)
    t.is((await send('DELETE', path)).status, 200, name)
    t.is((await send('GET', path)).status, 404, name)
  }
})

withKubernetes('events, controller and autoscalers of an object', async (t) => {
  const namespace = await cluster.createNamespace()
  const at = `/apps/v1/namespaces/${namespace}`
  const web = (await expectStatus(send('POST', `${at}/deployments`, deployment('web')), 200)).json
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: web.metadata.uid, controller: true }
  const replicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'web-1', ownerReferences: [owner] },
    spec: { selector: { matchLabels: { app: 'web' } }, template },
  }
  await expectStatus(send('POST', `${at}/replicasets`, replicaSet), 200)
  t.is((await send('GET', `${at}/replicasets/web-1/controller`)).json.metadata.uid, web.metadata.uid)
  t.is((await send('GET', `${at}/deployments/web/controller`)).status, 404)
  t.is((await send('GET', `${at}/deployments/none/controller`)).status, 404)
  const event = (name: string, uid: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { kind: 'Deployment', namespace, name: 'web', uid },
    reason: name,
    type: 'Normal',
  })
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/events`, event('mine', web.metadata.uid)), 200)
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/events`, event('foreign', 'other')), 200)
  t.deepEqual(
    (await send('GET', `${at}/deployments/web/events`)).json.items.map((each: { reason: string }) => each.reason),
    ['mine'],
  )
  t.deepEqual((await send('GET', `${at}/deployments/web/events?fieldSelector=type%3DWarning`)).json.items, [])
  t.is((await send('GET', `${at}/deployments/web/events?watch=true`)).status, 422)
  const scaler = (name: string, target: string) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name },
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target } },
  })
  for (const [name, target] of [
    ['for-web', 'web'],
    ['for-db', 'db'],
  ] as const)
    await expectStatus(
      send('POST', `/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`, scaler(name, target)),
      200,
    )
  t.deepEqual(
    (await send('GET', `${at}/deployments/web/horizontalpodautoscalers`)).json.items.map(
      (each: { metadata: { name: string } }) => each.metadata.name,
    ),
    ['for-web'],
  )
})

withKubernetes('all-available names objects by kind', async (t) => {
  const namespace = await cluster.createNamespace()
  await expectStatus(send('POST', `/apps/v1/namespaces/${namespace}/deployments`, deployment(`d-${namespace}`)), 200)
  const { json, status } = await send('GET', '/apps/v1/all-available')
  t.is(status, 200)
  t.true(json.Deployment.includes(`d-${namespace}`))
  t.is((await send('POST', '/apps/v1/all-available', {})).status, 400)
})

withKubernetes('batch-delete tells a Status for each, and takes nothing that is no object', async (t) => {
  const namespace = await cluster.createNamespace()
  await expectStatus(send('POST', `/core/v1/namespaces/${namespace}/configmaps`, configMap('a')), 200)
  const item = (name: string) => ({ namespace, name, group: '', version: 'v1', resource: 'configmaps' })
  const { json, status } = await send('POST', '/batch-delete', { resources: [item('a'), item('missing')] })
  t.is(status, 200)
  t.like(json.resourcesStatus[0], { ...item('a'), status: { kind: 'Status', status: 'Success' } })
  t.like(json.resourcesStatus[1], { ...item('missing'), status: { kind: 'Status', status: 'Failure', code: 404 } })
  t.is((await send('GET', `/core/v1/namespaces/${namespace}/configmaps/a`)).status, 404)
  for (const bad of [
    {},
    { resources: [] },
    { resources: [item('../../secrets')] },
    { resources: [item('a%2fb')] },
    { resources: [{ ...item('a'), resource: '' }] },
    { resources: [{ ...item(''), name: '' }] },
    { resources: [{ ...item('a'), version: 'v1/namespaces' }] },
    { resources: Array.from({ length: 101 }, () => item('a')) },
  ]) {
    t.is((await send('POST', '/batch-delete', bad)).status, 422, JSON.stringify(bad).slice(0, 100))
  }
})

withKubernetes('with impersonation the cluster’s own rights decide, also in computed forms', async (t) => {
  await expectStatus(
    importCluster(service.send, service.adminToken, 'admin', 'wide-as-user', cluster.kubeconfig(), {
      impersonateUsers: true,
    }),
    422,
  )
  const org = await expectStatus(
    service.send('POST', '/api/v1/orgs', {
      token: service.adminToken,
      body: { username: 'as-users' },
    }),
    201,
  )
  t.truthy(org.json.id)
  await expectStatus(
    importCluster(service.send, service.adminToken, 'as-users', 'wide', cluster.kubeconfig(), {
      impersonateUsers: true,
    }),
    200,
  )
  const asUser = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
    service.send(method, `/api/v1/clusters/as-users/wide/proxy${path}`, {
      token: service.adminToken,
      ...(body === undefined ? {} : { body }),
    })
  const namespace = await cluster.createNamespace()
  const who = await asUser('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  })
  t.is(who.status, 201, who.text)
  t.like(who.json.status.userInfo, { username: 'moorage:admin', extra: { 'moorage-user-id': ['1'] } })
  t.deepEqual(who.json.status.userInfo.groups.toSorted(), [
    'moorage:authenticated',
    'moorage:org:as-users',
    'system:authenticated',
  ])
  t.is((await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)).status, 403)
  const deleted = await asUser('POST', '/batch-delete', {
    resources: [{ namespace, name: 'a', version: 'v1', resource: 'configmaps' }],
  })
  t.is(deleted.json.resourcesStatus[0].status.code, 403)
  const binding = {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', name: 'moorage:org:as-users', apiGroup: 'rbac.authorization.k8s.io' }],
    metadata: { name: 'org' },
  }
  t.is(
    (await cluster.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, binding))
      .status,
    201,
  )
  let allowed = await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)
  // The API server learns of a binding by its own watch.
  for (let left = 50; left > 0 && allowed.status === 403; left -= 1) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    allowed = await asUser('GET', `/api/v1/namespaces/${namespace}/configmaps`)
  }
  t.is(allowed.status, 200)
})
