import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ManifestObject } from '../../../core/formats/kubernetes/objects.ts'
import type { HelmPlan } from '../../../core/packages/releases/helm-progress.ts'
import { runHelmWithProgress, followHelm, plannedHook } from '../../../core/packages/releases/helm-progress.ts'
import type { HelmEvent } from '../../../core/packages/releases/ports.ts'
import { HelmRefused } from '../../../core/packages/releases/ports.ts'
import type { TaskProgress, TaskStep } from '../../../core/tasks/ports.ts'

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

test('creations without a name have the planned name', (t) => {
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

test('progress omits reads, dry runs and texts, and includes refusals', (t) => {
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

test('each hook is a step before or after its objects', (t) => {
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

test('a chart of thousands of objects has bounded progress', (t) => {
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

test('the error of a failed wait begins with the unready object', async (t) => {
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
