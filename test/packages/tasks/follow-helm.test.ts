import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { redactAll, redactSecrets } from '../../../core/kernel/secret.ts'
import type { ManifestObject } from '../../../core/packages/releases/kubernetes-objects.ts'
import {
  pluralOf,
  countByKind,
  labelOf,
  objectsOf,
  podSelectorOf,
  readinessOf,
} from '../../../core/packages/releases/kubernetes-objects.ts'
import { parseGoDuration, secondsOfCount } from '../../../plugins/packages/releases/codecs.ts'
import type { HelmPlan } from '../../../core/packages/releases/helm-progress.ts'
import { runHelmWithProgress, followHelm, plannedHook } from '../../../core/packages/releases/helm-progress.ts'
import type { ManifestDiff } from '../../../core/packages/releases/manifest-diff.ts'
import { describeDiff, diffManifests, isContained } from '../../../core/packages/releases/manifest-diff.ts'
import type { HelmEvent } from '../../../core/packages/releases/ports.ts'
import { HelmRefused } from '../../../core/packages/releases/ports.ts'
import { missingRights } from '../../../core/packages/releases/preflight.ts'
import type { TaskProgress, TaskStep } from '../../../core/tasks/ports.ts'
import { unwrap } from '../../support/outcome.ts'
import { chartTexts, textDiff } from '../texts.ts'

/** What is told while helm works, from the calls that it makes. */
const recorder = () => {
  const lines: string[] = []
  const stepOf = (title: string): TaskStep => ({
    say: (msg, options) => void lines.push(`${title}: ${options?.level === 'warning' ? '! ' : ''}${msg}`),
    done: (msg) => void lines.push(`${title}: done${msg === undefined ? '' : `, ${msg}`}`),
    failed: (error) => void lines.push(`${title}: failed, ${error}`),
  })
  const progress: TaskProgress = {
    say: (msg) => void lines.push(msg),
    step: (title) => (lines.push(`+ ${title}`), stepOf(title)),
  }
  return { lines, progress }
}

const object = (kind: string, name: string, apiVersion = 'v1'): ManifestObject => ({
  apiVersion,
  kind,
  name,
  namespace: '',
  body: { apiVersion, kind, metadata: { name } },
})
const call = (
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  resource: string,
  name: string | undefined,
  status = 200,
  more: Partial<Extract<HelmEvent, { kind: 'call' }>> = {},
): HelmEvent => ({
  kind: 'call',
  method,
  status,
  isDryRun: false,
  target: '/',
  object: { group: 'core', version: 'v1', resource, namespace: 'shop', name },
  ...more,
})
const job = (name: string, event: string, weight = 0) =>
  plannedHook({
    kind: 'Job',
    metadata: { name, annotations: { 'helm.sh/hook': event, 'helm.sh/hook-weight': String(weight) } },
  })
const plan = (more: Partial<HelmPlan> = {}): HelmPlan => ({
  objects: [object('ConfigMap', 'a'), object('ConfigMap', 'b'), object('Secret', 's')],
  hooks: [],
  home: 'shop',
  driver: 'Secret',
  ...more,
})
const now = (): Date => new Date(0)

test('creates without a name are reported by the planned name, the record is not reported', (t) => {
  const { lines, progress } = recorder()
  const follower = followHelm(progress, plan(), now)
  for (const event of [
    call('POST', 'secrets', undefined, 201),
    call('POST', 'secrets', undefined, 201),
    call('POST', 'configmaps', undefined, 201),
    call('POST', 'configmaps', undefined, 201),
    call('PUT', 'secrets', 'sh.helm.release.v1.web.v1'),
    call('DELETE', 'secrets', 'sh.helm.release.v1.web.v1'),
  ])
    follower.onEvent(event)
  follower.end(true)
  t.deepEqual(lines, [
    '+ Apply the objects',
    'Apply the objects: Secret s created',
    'Apply the objects: ConfigMap a created',
    'Apply the objects: ConfigMap b created',
    'Apply the objects: done',
  ])
})

test('questions, dry runs and words of helm are not told, refusals are', (t) => {
  const { lines, progress } = recorder()
  const follower = followHelm(progress, plan(), now)
  follower.onEvent({ kind: 'line', text: 'password=sesame' })
  follower.onEvent(call('PATCH', 'configmaps', 'a', 200, { isDryRun: true }))
  follower.onEvent(
    call('POST', 'selfsubjectaccessreviews', undefined, 201, {
      object: {
        group: 'authorization.k8s.io',
        version: 'v1',
        resource: 'selfsubjectaccessreviews',
        namespace: undefined,
        name: undefined,
      },
    }),
  )
  t.false(follower.isApplying())
  follower.onEvent(call('PATCH', 'configmaps', 'a', 403))
  follower.onEvent(call('DELETE', 'configmaps', 'old', 404))
  follower.end(false)
  t.deepEqual(lines, [
    '+ Apply the objects',
    'Apply the objects: ! ConfigMap a: the cluster answered 403',
    'Apply the objects: configmaps old was gone already',
    'Apply the objects: failed, Not everything was applied, or did not become ready.',
  ])
})

test('each hook is a step, in its turn: those before by the next call, those after by the end', (t) => {
  const { lines, progress } = recorder()
  const follower = followHelm(
    progress,
    plan({
      objects: [object('ConfigMap', 'a')],
      hooks: [job('before', 'pre-install', -5), job('after', 'post-install,post-upgrade')],
    }),
    now,
  )
  for (const event of [
    call('DELETE', 'jobs', 'before', 404),
    call('POST', 'jobs', undefined, 201),
    call('DELETE', 'jobs', 'before'),
    call('POST', 'configmaps', undefined, 201),
    call('POST', 'jobs', undefined, 201),
  ])
    follower.onEvent(event)
  t.is(follower.openHook(), 'Hook after')
  follower.end(true)
  t.deepEqual(lines, [
    '+ Hook Job before',
    'Hook Job before: Started; weight -5',
    'Hook Job before: done, Hook before finished after 0 s',
    '+ Apply the objects',
    'Apply the objects: ConfigMap a created',
    '+ Hook Job after',
    'Hook Job after: Started; weight 0',
    'Hook Job after: done, Hook after finished after 0 s',
    'Apply the objects: done',
  ])
})

test('a chart of thousands of objects is not told line by line', (t) => {
  const { lines, progress } = recorder()
  const follower = followHelm(progress, plan({ objects: [] }), now)
  for (let index = 0; index < 2000; index += 1) follower.onEvent(call('PATCH', 'configmaps', `c${index}`, 201))
  follower.end(true)
  t.is(lines.length, 503)
  t.is(lines.at(-2), 'Apply the objects: Further objects are not listed.')
})

/** A cluster whose deployment becomes ready at the third look; a pod says why it is not. */
const slowCluster = () => {
  let looks = 0
  const answer = (json: FreeObject) => Promise.resolve(right({ status: 200, json, text: '' }))
  const request: MemberCluster['request'] = ({ target }) => {
    if (target.includes('/events?'))
      return answer({
        items: [
          { lastTimestamp: '2026-01-01T00:00:00Z', reason: 'Old', message: 'old' },
          { lastTimestamp: '2026-01-02T00:00:00Z', reason: 'FailedMount', message: 'no volume for lantern-word' },
        ],
      })
    if (target.includes('/pods?'))
      return answer({
        items: [
          {
            metadata: { name: 'web-1' },
            status: { containerStatuses: [{ name: 'web', state: { waiting: { reason: 'ContainerCreating' } } }] },
          },
        ],
      })
    looks += 1
    const isReady = looks >= 3
    return answer({
      kind: 'Deployment',
      metadata: { generation: 1 },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } } },
      status: { observedGeneration: 1, ...(isReady ? { updatedReplicas: 1, availableReplicas: 1 } : {}) },
    })
  }
  return { request } as MemberCluster
}
const attended = (redactSecrets = (text: string): string => text) => ({
  cluster: slowCluster(),
  waits: true,
  undoes: false,
  redactSecrets,
  redactAll: (text: string) => text,
  plan: plan({ objects: [object('Deployment', 'web', 'apps/v1'), object('ConfigMap', 'a')] }),
})

test('while helm waits, the reason is reported, once for each change', async (t) => {
  const { lines, progress } = recorder()
  const pauses: number[] = []
  const finished = Promise.withResolvers<void>()
  const pause = (milliseconds: number, signal: AbortSignal): Promise<void> => {
    pauses.push(milliseconds)
    if (pauses.length === 5) finished.resolve()
    return pauses.length < 5
      ? Promise.resolve()
      : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  const redact = (text: string): string => text.replaceAll('lantern-word', '***')
  await runHelmWithProgress(
    { pause, clock: { now } },
    { progress, signal: new AbortController().signal },
    attended(redact),
    async (onEvent) => {
      onEvent(call('PATCH', 'deployments', 'web', 201))
      await finished.promise
      return right(undefined)
    },
  )
  t.deepEqual(pauses, [5000, 5000, 5000, 5000, 5000])
  t.deepEqual(
    lines.filter((line) => line.startsWith('Wait')),
    [
      'Wait until everything is ready: 0 of 1 ready; waiting for Deployment web (pod web-1: FailedMount: no volume for ***)',
      'Wait until everything is ready: 1 of 1 ready',
      'Wait until everything is ready: done, Everything is ready',
    ],
  )
})

test('when helm gives up, the error says first what was not ready', async (t) => {
  const { progress } = recorder()
  const never = (_: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) =>
      signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
    )
  const run = (about: ReturnType<typeof attended>, touches: boolean) =>
    runHelmWithProgress(
      { pause: never, clock: { now } },
      { progress, signal: new AbortController().signal },
      about,
      (onEvent) => {
        if (touches) onEvent(call('PATCH', 'deployments', 'web', 201))
        return Promise.resolve(left(HelmRefused('context deadline exceeded')))
      },
    )
  t.like(await run(attended(), true), {
    left: {
      message:
        'Not ready: Deployment web (pod web-1: FailedMount: no volume for lantern-word).\ncontext deadline exceeded',
    },
  })
  t.like(await run(attended(), false), { left: { message: 'context deadline exceeded' } })
  t.like(
    await run({ ...attended(), undoes: true } as never, true),
    { left: { message: 'context deadline exceeded' } },
    'what was undone is not looked at',
  )
})

/** What a person is shown of a change, and what never is. */
const objects = async (text: string): Promise<readonly ManifestObject[]> => unwrap(await objectsOf(chartTexts, text))
const compare = async (from: string, to: string): Promise<ManifestDiff> =>
  diffManifests({ chartTexts, textDiff }, await objects(from), await objects(to), {
    home: 'shop',
    redact: (text) => text,
  })

const configMap = (name: string, value: string, more = ''): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}data:\n  value: ${value}\n`
const keep = '  annotations:\n    helm.sh/resource-policy: keep\n'
const secret = (name: string, field: string, values: Record<string, string>): string =>
  `---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n${field}:\n${Object.entries(values)
    .map(([key, value]) => `  ${key}: ${value}\n`)
    .join('')}`

test('objects are added, changed, removed, kept and left alone', async (t) => {
  const from =
    configMap('same', 'a') + configMap('changed', 'old') + configMap('gone', 'x') + configMap('stays', 'x', keep)
  const to = configMap('same', 'a') + configMap('changed', 'new') + configMap('fresh', 'z')
  const diff = await compare(from, to)
  t.deepEqual(
    diff.objects.map(({ object, change }) => `${object} ${change}`),
    ['ConfigMap changed changed', 'ConfigMap fresh added', 'ConfigMap gone removed', 'ConfigMap stays kept'],
  )
  t.is(describeDiff(diff), '1 added, 1 changed, 1 removed, 1 kept by policy, 1 unchanged')
  t.regex(diff.objects[0]?.diff ?? '', /^@@[^]*\n- {2}value: old\n\+ {2}value: new\n$/)
  t.regex(diff.objects[1]?.diff ?? '', /\n\+ {2}value: z\n/)
  t.regex(diff.objects[2]?.diff ?? '', /\n- {2}value: x\n/)
  t.is(diff.objects[3]?.diff, '')
})

test('an object is the same one under a newer version of its API, and another one elsewhere', async (t) => {
  const at = (apiVersion: string, namespace: string): string =>
    `---\napiVersion: ${apiVersion}\nkind: Widget\nmetadata:\n  name: w\n  namespace: ${namespace}\n`
  t.is(
    describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v2', 'shop'))),
    '0 added, 1 changed, 0 removed, 0 kept by policy, 0 unchanged',
  )
  t.is(
    describeDiff(await compare(at('x.example/v1', 'shop'), at('x.example/v1', 'other'))),
    '1 added, 0 changed, 1 removed, 0 kept by policy, 0 unchanged',
  )
})

for (const field of ['data', 'stringData']) {
  test(`the ${field} of a Secret is never shown, only which keys differ`, async (t) => {
    const diff = await compare(
      secret('s', field, { same: 'sesame-one', other: 'sesame-two', gone: 'sesame-three' }),
      secret('s', field, { same: 'sesame-one', other: 'sesame-four', fresh: 'sesame-five' }),
    )
    const text = JSON.stringify(diff)
    t.false(text.includes('sesame'))
    t.regex(diff.objects[0]?.diff ?? '', / same: \(hidden\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /- {2}other: \(hidden, old\)\n/)
    t.regex(diff.objects[0]?.diff ?? '', /\+ {2}other: \(hidden, new\)\n/)
    for (const [from, to] of [
      ['', secret('s', field, { a: 'sesame' })],
      [secret('s', field, { a: 'sesame' }), ''],
    ] as const)
      t.false(JSON.stringify(await compare(from, to)).includes('sesame'))
  })
}

test('what is long is cut, and said to be', async (t) => {
  const long = configMap('long', `"${'x\\n'.repeat(20_000)}"`)
  const cut = await compare('', long)
  t.regex(cut.objects[0]?.diff ?? '', /… \d+ more lines\n$/)
  t.true(JSON.stringify(cut).length < 20_000)
  const many = Array.from({ length: 700 }, (_, index) => configMap(`c${index}`, 'v')).join('')
  const diff = await compare('', many)
  t.is(diff.added, 700)
  t.is(diff.objects.length, 500)
  t.is(diff.cut, '200 more objects differ; their lines are left out for length')
})

test('lists are taken apart, kinds are counted, and paths are guessed as clusters form them', async (t) => {
  const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Service, metadata: {name: b, namespace: far}}\n`
  t.deepEqual(
    (await objects(list)).map((object) => labelOf(object, 'shop')),
    ['ConfigMap a', 'Service far/b'],
  )
  t.is(countByKind(await objects(list)).text, 'ConfigMap 1, Service 1')
  t.deepEqual(['Ingress', 'NetworkPolicy', 'Deployment', 'Endpoints', 'StorageClass', 'Gateway'].map(pluralOf), [
    'ingresses',
    'networkpolicies',
    'deployments',
    'endpoints',
    'storageclasses',
    'gateways',
  ])
})

const name = fc.constantFrom('a', 'b', 'c', 'd')
const manifest = fc
  .uniqueArray(fc.tuple(name, fc.constantFrom('1', '2', '3')), { selector: ([each]) => each })
  .map((entries) => entries.map(([each, value]) => configMap(each, `"${value}"`)).join(''))

test('a comparison with itself is empty, and one the other way round is its mirror', async (t) => {
  await fc.assert(
    fc.asyncProperty(manifest, manifest, async (from, to) => {
      const self = await compare(from, from)
      t.is(self.added + self.changed + self.removed + self.objects.length, 0)
      const [there, back] = [await compare(from, to), await compare(to, from)]
      t.deepEqual(
        [there.added, there.removed, there.changed, there.unchanged],
        [back.removed, back.added, back.changed, back.unchanged],
      )
    }),
  )
})

test('values are taken out of words that others wrote, also in pieces and in JSON', (t) => {
  const values = {
    image: 'registry.example.com/web:1',
    auth: { user: 'harbour', password: 'quiet "lantern"', pin: 123456 },
    text: 'line one of it\nline two of it',
  }
  const all = redactAll(values)
  t.is(all('failed at quiet "lantern" and 123456 near registry.example.com/web:1'), 'failed at *** and *** near ***')
  t.is(all('json: quiet \\"lantern\\"'), 'json: ***')
  t.is(all('  line two of it: bad'), '  ***: bad')
  const secrets = redactSecrets(values)
  t.is(
    secrets('pulling registry.example.com/web:1 as harbour, quiet "lantern"'),
    'pulling registry.example.com/web:1 as ***, ***',
  )
})

test('kinds and names of objects stay readable, although they are values too', (t) => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-frontend', namespace: 'storefront', labels: { tier: 'frontend' } },
    spec: { image: 'registry.example.com/web:1' },
  }
  const values = {
    resources: {
      appsDeployment: deployment,
      secret_config: { ...deployment, kind: 'Secret', apiVersion: 'v1', data: { pin: 'aHVudGVyMg==' } },
    },
  }
  const text =
    'Deployment.apps "web-frontend" is invalid: spec: Invalid value: "registry.example.com/web:1" in storefront, apps/v1, frontend; Secret "web-frontend" aHVudGVyMg==, Deploymentx'
  t.is(
    redactAll(values)(text),
    'Deployment.apps "web-frontend" is invalid: spec: Invalid value: "***" in storefront, apps/v1, ***; Secret "web-frontend" ***, ***x',
  )
  t.is(
    redactSecrets(values)('Secret "web-frontend" in storefront: aHVudGVyMg=='),
    'Secret "web-frontend" in storefront: ***',
  )
  // Of a chart that is no editor the objects are known from its rendering.
  const chart = redactAll({ fullnameOverride: 'orders-db', part: 'orders', password: 'orders-db-7' })
  t.is(
    chart('StatefulSet.apps "orders-db" is invalid: orders-db-7, orders'),
    'StatefulSet.apps "***" is invalid: ***, ***',
  )
  t.is(
    chart('StatefulSet.apps "orders-db" is invalid: orders-db-7, orders', ['StatefulSet', 'orders-db']),
    'StatefulSet.apps "orders-db" is invalid: ***, ***',
  )
})

test('no text of six characters or more survives', (t) => {
  const words = fc.dictionary(
    fc.string({ maxLength: 5 }),
    fc.string({ minLength: 6, maxLength: 12 }).filter((text) => text.trim().length >= 6 && !text.includes('*')),
  )
  fc.assert(
    fc.property(words, fc.string({ maxLength: 10 }), (values, around) => {
      const redact = redactAll(values)
      for (const text of Object.values(values)) t.false(redact(`${around}${text}${around}`).includes(text))
    }),
  )
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

test('durations are read as Go writes them', (t) => {
  const read = (text: string): number | undefined => parseGoDuration(text)
  t.deepEqual(
    ['5m0s', '1h30m', '1.5s', '90s', '.5m', '0', '100ms', '2h0m0.000000001s'].map(read),
    [300, 5400, 1.5, 90, 30, 0, 0.1, 7200.000000001],
  )
  t.deepEqual(
    ['', '5', '5 m', '-5s', 'm', '5m5', '1d', 'Infinity', '5M'].map(read),
    Array.from({ length: 9 }, () => undefined),
  )
  t.deepEqual([300, 999_999, 1e6, 300e9].map(secondsOfCount), [300, 999_999, 0.001, 300])
})

test('a definition is the same one when the cluster has only added to it', (t) => {
  const chart = {
    group: 'x.example',
    versions: [{ name: 'v1', served: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    names: { kind: 'W', plural: 'ws', shortNames: [] },
  }
  const added = { ...chart, conversion: { strategy: 'None' }, names: { kind: 'W', plural: 'ws', listKind: 'WList' } }
  t.true(isContained(chart, added))
  t.false(isContained(chart, { ...added, versions: [{ ...chart.versions[0], served: false }] }))
  t.false(isContained({ ...chart, versions: [...chart.versions, { name: 'v2' }] }, added))
  t.false(isContained(chart, undefined))
})

/** What is asked of a cluster before helm is: bounded, whatever a chart renders and the cluster answers. */
const signal = new AbortController().signal
const objectOf = (apiVersion: string, kind: string, name: string): ManifestObject => ({
  apiVersion,
  kind,
  namespace: '',
  name,
  body: {},
})

const clusterOf = (resources: readonly object[], denied: readonly string[]) => {
  const asked: string[] = []
  const cluster = {
    request: ({ target, body }: { readonly target: string; readonly body?: Uint8Array }) => {
      asked.push(target)
      if (body === undefined) return Promise.resolve(right({ status: 200, text: '', json: { resources } }))
      const { spec } = JSON.parse(new TextDecoder().decode(body)) as {
        readonly spec: { readonly resourceAttributes: { readonly resource: string } }
      }
      return Promise.resolve(
        right({
          status: 201,
          text: '',
          json: { status: { allowed: !denied.includes(spec.resourceAttributes.resource) } },
        }),
      )
    },
  }
  return { cluster: cluster as unknown as MemberCluster, asked }
}

test('each kind is asked about once, by the word that the cluster has for it', async (t) => {
  const { cluster, asked } = clusterOf(
    [
      { name: 'maps', kind: 'Map', namespaced: true },
      { name: 'maps/status', kind: 'Map', namespaced: true },
      { name: 'zones', kind: 'Zone' },
    ],
    ['zones'],
  )
  const objects = [
    objectOf('a/v1', 'Map', 'one'),
    objectOf('a/v1', 'Map', 'two'),
    objectOf('a/v1', 'Zone', 'all'),
    objectOf('a/v1', 'Unknown', 'x'),
  ]
  t.deepEqual(await missingRights(cluster, objects, { home: 'shop', verb: 'create' }, signal), [
    'create zones.a (for the whole cluster)',
  ])
  t.is(asked.length, 3)
})

test('a release of very many kinds costs few questions', async (t) => {
  const { cluster, asked } = clusterOf(
    Array.from({ length: 2_000 }, (_, index) => ({ name: `r${index}`, kind: `K${index}`, namespaced: true })),
    [],
  )
  const objects = Array.from({ length: 20_000 }, (_, index) =>
    objectOf(`g${index % 500}/v1`, `K${index % 2_000}`, `n${index}`),
  )
  t.deepEqual(await missingRights(cluster, objects, { home: 'shop', verb: 'patch' }, signal), [])
  t.true(asked.length <= 80)
})
