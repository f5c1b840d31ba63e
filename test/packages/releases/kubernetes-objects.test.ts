import test from 'ava'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { pluralOf, countByKind, labelOf } from '../../../core/formats/kubernetes/objects.ts'
import { podSelectorOf, readinessOf } from '../../../core/formats/kubernetes/readiness.ts'
import { objectsIn } from '../texts.ts'

test('lists are expanded, kinds counted and paths derived', async (t) => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Service, metadata: {name: b, namespace: far}}\n`
  t.deepEqual(
    (await objectsIn(list)).map((object) => labelOf(object, 'shop')),
    ['ConfigMap a', 'Service far/b'],
  )
  t.is(countByKind(await objectsIn(list)).text, 'ConfigMap 1, Service 1')
  t.deepEqual(['Ingress', 'NetworkPolicy', 'Deployment', 'Endpoints', 'StorageClass', 'Gateway'].map(pluralOf), [
    'ingresses',
    'networkpolicies',
    'deployments',
    'endpoints',
    'storageclasses',
    'gateways',
  ])
})

/** What counts as ready, and the reason that a person is given while it is not. */
const live = (status: FreeObject, spec: FreeObject = {}, generation = 1): FreeObject => ({
  metadata: { generation },
  spec,
  status,
})

const cases: readonly (readonly [string, string, FreeObject | undefined, string])[] = [
  ['nothing there', 'Deployment', undefined, 'not created yet'],
  [
    'all pods there',
    'Deployment',
    live({ observedGeneration: 1, updatedReplicas: 2, availableReplicas: 2 }, { replicas: 2 }),
    '',
  ],
  ['one by default', 'Deployment', live({ observedGeneration: 1 }), '0 of 1 pods are ready'],
  ['scaled to nothing', 'Deployment', live({ observedGeneration: 1 }, { replicas: 0 }), ''],
  [
    'old pods only',
    'Deployment',
    live({ observedGeneration: 1, updatedReplicas: 1, availableReplicas: 3 }, { replicas: 3 }),
    '1 of 3 pods are ready',
  ],
  [
    'an older generation was seen',
    'Deployment',
    live({ observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1 }, {}, 2),
    '1 of 1 pods are ready',
  ],
  [
    'a quota',
    'Deployment',
    live({
      observedGeneration: 1,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }],
    }),
    'FailedCreate: exceeded quota',
  ],
  [
    'given up',
    'Deployment',
    live({ conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }] }),
    'ProgressDeadlineExceeded',
  ],
  [
    'stateful',
    'StatefulSet',
    live({ observedGeneration: 1, readyReplicas: 1 }, { replicas: 2 }),
    '1 of 2 pods are ready',
  ],
  [
    'on every node',
    'DaemonSet',
    live({ observedGeneration: 1, desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3 }),
    '',
  ],
  ['a claim', 'PersistentVolumeClaim', live({ phase: 'Pending' }), 'Pending'],
  ['a bound claim', 'PersistentVolumeClaim', live({ phase: 'Bound' }), ''],
  ['a plain service', 'Service', live({}, { type: 'ClusterIP' }), ''],
  [
    'a load balancer',
    'Service',
    live({ loadBalancer: {} }, { type: 'LoadBalancer' }),
    'the load balancer has no address yet',
  ],
  [
    'a load balancer with an address',
    'Service',
    live({ loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }, { type: 'LoadBalancer' }),
    '',
  ],
  ['a pod that is ready', 'Pod', live({ conditions: [{ type: 'Ready', status: 'True' }] }), ''],
  ['a pod that is done', 'Pod', live({ phase: 'Succeeded' }), ''],
  [
    'an image',
    'Pod',
    live({
      containerStatuses: [
        { name: 'web', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
      ],
    }),
    'container web: ImagePullBackOff: no such image',
  ],
  [
    'an exit',
    'Pod',
    live({ initContainerStatuses: [{ name: 'init', state: { terminated: { exitCode: 3, reason: 'Error' } } }] }),
    'container init: Error (exit code 3)',
  ],
  [
    'no place',
    'Pod',
    live({
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }],
    }),
    'Unschedulable: 0/3 nodes',
  ],
  ['an unknown kind', 'Widget', live({}), ''],
]
for (const [title, kind, object, reason] of cases) {
  test(`${kind}: ${title}`, (t) => {
    t.deepEqual(readinessOf(kind, object), { isReady: reason === '', reason })
  })
}

test('pods are selected as the workload selects them, and never more of them', (t) => {
  const of = (selector: FreeObject | undefined, kind = 'Deployment'): string | undefined =>
    podSelectorOf({ kind, spec: selector === undefined ? {} : { selector } })
  t.is(
    of({
      matchLabels: { app: 'web', tier: 'front' },
      matchExpressions: [
        { key: 'track', operator: 'In', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    }),
    'app=web,tier=front,track in (a,b),!old',
  )
  t.is(of({ app: 'web' }, 'ReplicationController'), 'app=web')
  t.is(of({}), undefined)
  t.is(of({ matchLabels: {} }), undefined)
  t.is(of(undefined), undefined)
  t.is(of({ matchLabels: { app: 'web' }, matchExpressions: [{ key: 'x', operator: 'Gt', values: ['1'] }] }), undefined)
})
