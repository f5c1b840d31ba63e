import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import { definedFields, toWireJson } from '../../kernel/json.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { TaskProgress, TaskRun, TaskStep } from '../../tasks/ports.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { StorageDriver } from '../types.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { pluralOf, labelOf, pathOf, queryValue } from '../../formats/kubernetes/objects.ts'
import { askItems, askObject, ownWarning, podReason } from './kubernetes-objects.ts'
import { hasPods, readinessOf, takesAWhile } from '../../formats/kubernetes/readiness.ts'
import type { HelmEvent, HelmFailure, HelmObject } from './ports.ts'
import type { Redact } from '../../kernel/secret.ts'

/** A hook, as a rendering declares it. */
export interface PlannedHook {
  readonly kind: string
  readonly name: string
  readonly weight: number
  readonly events: readonly string[]
}

/** The objects and hooks that helm will apply. */
export interface HelmPlan {
  readonly objects: readonly ManifestObject[]
  readonly hooks: readonly PlannedHook[]
  /** Namespace of the release. */
  readonly home: string
  readonly driver: StorageDriver
  /** The objects will be deleted. */
  readonly isRemoval?: boolean
}

/** Maximum number of stored lines about objects; a chart may contain thousands. */
const maxLines = 500
/** Maximum number of tracked objects and hooks; each call by helm is looked up among them. */
const maxFollowed = 2000

/** Groups by plural, as used in paths. */
const byResource = <A extends { readonly kind: string }>(all: readonly A[]): ReadonlyMap<string, readonly A[]> =>
  Map.groupBy(all.slice(0, maxFollowed), ({ kind }) => pluralOf(kind))

const recordPrefix = 'sh.helm.release.v1.'

const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value)
    ? (value as readonly Json[]).filter((each) => typeof each === 'string')
    : typeof value === 'string'
      ? value.split(',')
      : []

/** Reads a hook from a record (`name`, `kind`, `events`) or from its manifest (annotations). */
export const plannedHook = (hook: FreeObject): PlannedHook => {
  const metadata = asTable(hook.metadata)
  const annotations = asTable(metadata?.annotations)
  const weight = Number(hook.weight ?? annotations?.['helm.sh/hook-weight'] ?? 0)
  return {
    kind: String(hook.kind ?? ''),
    name: String(hook.name ?? metadata?.name ?? ''),
    weight: Number.isFinite(weight) ? weight : 0,
    events: textsIn(hook.events ?? annotations?.['helm.sh/hook']),
  }
}

const doneWord = (method: string, status: number): string => {
  if (method === 'DELETE') return status === 404 ? 'was gone already' : 'deleted'
  if (method === 'PUT') return 'replaced'
  return method === 'POST' || status === 201 ? 'created' : 'patched'
}

const isRefused = (method: string, status: number): boolean => status >= 400 && !(method === 'DELETE' && status === 404)

const mayBeRecord = ({ group, resource }: HelmObject, driver: StorageDriver): boolean =>
  (group === '' || group === 'core') && resource === (driver === 'Secret' ? 'secrets' : 'configmaps')

/**
 * Turns helm's API calls into steps: one for each hook, one for the objects. Creates have no name in their path; such a
 * call is matched to the next planned object of its resource.
 *
 * @internal
 */
export const followHelm = (progress: TaskProgress, plan: HelmPlan, now: () => Date) => {
  const { home, driver } = plan
  let hook: { readonly step: TaskStep; readonly label: string; readonly since: Date } | undefined
  let objects: TaskStep | undefined
  let isRecorded = false
  let lines = 0
  const hooksOf = byResource(plan.hooks)
  const objectsOf = byResource(plan.objects)
  const begun = new Set<PlannedHook>()
  const touched = new Set<ManifestObject>()

  const endHook = (isOk: boolean): void => {
    if (hook === undefined) return
    const seconds = Math.round((now().getTime() - hook.since.getTime()) / 100) / 10
    if (isOk) hook.step.done(`${hook.label} finished after ${seconds} s`)
    else hook.step.failed(`${hook.label} did not finish; it ran for ${seconds} s`)
    hook = undefined
  }

  const hookOf = (object: HelmObject, method: string): PlannedHook | undefined => {
    const fits = hooksOf.get(object.resource) ?? []
    if (object.name !== undefined) return fits.find((each) => each.name === object.name)
    if (method !== 'POST') return undefined
    const isBefore = touched.size === 0
    const isDone = (objectsOf.get(object.resource) ?? []).every((each) => touched.has(each))
    return fits.find(
      (each) => !begun.has(each) && (isBefore ? each.events.some((event) => event.startsWith('pre-')) : isDone),
    )
  }

  const objectOf = (object: HelmObject): ManifestObject | undefined => {
    const fits = objectsOf.get(object.resource) ?? []
    if (object.name === undefined) return fits.find((each) => !touched.has(each))
    return fits.find(
      (each) =>
        each.name === object.name && (object.namespace === undefined || (each.namespace || home) === object.namespace),
    )
  }

  const sayObject = (method: string, status: number, object: HelmObject): void => {
    const planned = objectOf(object)
    if (planned !== undefined && !isRefused(method, status)) touched.add(planned)
    lines += 1
    if (lines > maxLines) return
    const label =
      planned === undefined
        ? `${object.resource}${object.name === undefined ? '' : ` ${object.name}`}`
        : labelOf(planned, home)
    objects ??= progress.step(plan.isRemoval === true ? 'Remove the objects' : 'Apply the objects')
    const data = {
      resource: object.resource,
      method,
      status,
      ...definedFields({ kind: planned?.kind, name: planned?.name }),
    }
    if (isRefused(method, status)) objects.say(`${label}: the cluster answered ${status}`, { level: 'warning', data })
    else objects.say(`${label} ${doneWord(method, status)}`, { data })
    if (lines === maxLines) objects.say('Further objects are not listed.')
  }

  const isRecord = (object: HelmObject, method: string): boolean => {
    if (!mayBeRecord(object, driver)) return false
    if (object.name !== undefined) return object.name.startsWith(recordPrefix)
    if (method !== 'POST' || isRecorded || object.namespace !== home) return false
    isRecorded = true
    return true
  }

  const onCall = ({ method, status, object, isDryRun }: Extract<HelmEvent, { kind: 'call' }>): void => {
    // Access reviews use POST but change nothing.
    if (object === undefined || isDryRun || object.group === 'authorization.k8s.io') return
    if (isRecord(object, method)) return
    const planned = hookOf(object, method)
    if (planned === undefined) {
      endHook(true)
      return sayObject(method, status, object)
    }
    if (method === 'DELETE') return hook?.label === `Hook ${planned.name}` ? endHook(true) : undefined
    if (begun.has(planned)) return
    endHook(true)
    begun.add(planned)
    const step = progress.step(`Hook ${planned.kind} ${planned.name}`)
    step.say(`Started; weight ${planned.weight}`, {
      data: { kind: planned.kind, name: planned.name, weight: planned.weight },
    })
    hook = { step, label: `Hook ${planned.name}`, since: now() }
  }

  return {
    onEvent: (event: HelmEvent): void => {
      if (event.kind === 'call') onCall(event)
    },
    /** Reports whether helm has changed an object of the manifest. */
    isApplying: (): boolean => touched.size > 0,
    /** Kind and name of the running hook. */
    openHook: (): string | undefined => hook?.label,
    end: (isOk: boolean): void => {
      endHook(isOk)
      if (isOk) objects?.done()
      else
        objects?.failed(
          plan.isRemoval === true
            ? 'Not everything was removed.'
            : 'Not everything was applied, or did not become ready.',
        )
    },
  }
}

const lookMilliseconds = 5000
/** An unchanged state is reported again after this many checks, which is half a minute. */
const repeatAfterLooks = 6
/** A release may contain more objects; only the first ones are watched. */
const maxWatched = 60
const maxNamed = 10
/** Timeout of a check after helm has failed. */
const readinessPatienceMilliseconds = 5000

interface Unready {
  readonly label: string
  readonly reason: string
}

export interface ReadinessWatch {
  readonly cluster: MemberCluster
  readonly objects: readonly ManifestObject[]
  /** Namespace of the release. */
  readonly home: string
  readonly progress: TaskProgress
  readonly pause: Pause
  readonly redact: Redact
  /** False until helm has changed an object. */
  readonly isApplying: () => boolean
}

const lookAt = async (
  watch: ReadinessWatch,
  object: ManifestObject,
  signal: AbortSignal,
): Promise<Unready | undefined> => {
  const live = await askObject(watch.cluster, pathOf(object, watch.home), signal)
  const own = readinessOf(object.kind, live)
  if (own.isReady) return undefined
  const namespace = object.namespace || watch.home
  const more =
    live === undefined
      ? undefined
      : hasPods(object.kind)
        ? await podReason(watch.cluster, namespace, live, signal)
        : await ownWarning(watch.cluster, namespace, object.name, signal)
  return { label: labelOf(object, watch.home), reason: watch.redact(more ?? own.reason).slice(0, 300) }
}

const lookAtAll = async (
  watch: ReadinessWatch,
  watched: readonly ManifestObject[],
  signal: AbortSignal,
): Promise<readonly Unready[]> => {
  const found: (Unready | undefined)[] = []
  for (const object of watched) found.push(await lookAt(watch, object, signal))
  return found.filter((each) => each !== undefined)
}

const listed = (unready: readonly Unready[]): string => {
  const named = unready.slice(0, maxNamed)
  const rest = unready.length - named.length
  return `${named.map(({ label, reason }) => `${label} (${reason})`).join('; ')}${rest === 0 ? '' : ` and ${rest} more`}`
}

const say = (step: TaskStep, total: number, unready: readonly Unready[]): void => {
  const data = {
    ready: total - unready.length,
    total,
    unready: unready.slice(0, maxNamed).map(({ label, reason }) => ({ object: label, reason })),
  }
  step.say(
    `${total - unready.length} of ${total} ready${unready.length === 0 ? '' : `; waiting for ${listed(unready)}`}`,
    { data },
  )
}

/**
 * Checks every five seconds, as the caller, which objects are ready and what the others wait for. Reports changes, and
 * an unchanged state every half minute. Objects that the caller cannot read count as not created.
 */
const watchReadiness = (watch: ReadinessWatch) => {
  const watched = watch.objects.filter(({ kind }) => takesAWhile(kind)).slice(0, maxWatched)
  const over = new AbortController()
  let step: TaskStep | undefined
  let lastUnready: readonly Unready[] = []

  const run = async (): Promise<void> => {
    let last = ''
    let unchanged = 0
    while (watched.length > 0) {
      await watch.pause(lookMilliseconds, over.signal)
      if (over.signal.aborted) return
      if (!watch.isApplying()) continue
      const unready = await lookAtAll(watch, watched, over.signal)
      if (over.signal.aborted) return
      if (unready.length > 0) lastUnready = unready
      const state = toWireJson(unready)
      unchanged = state === last ? unchanged + 1 : 0
      last = state
      step ??= watch.progress.step('Wait until everything is ready')
      if (unchanged % repeatAfterLooks === 0) say(step, watched.length, unready)
    }
  }
  // Checks only inform people; an error in one must not affect the operation.
  const running = run().catch(() => watch.progress.say('What is waited for cannot be told.', { level: 'warning' }))

  return {
    /** Stops the checks. */
    async stop(isOk: boolean): Promise<void> {
      over.abort()
      await running
      if (isOk) step?.done('Everything is ready')
      else step?.failed('Not everything became ready.')
    },
    /**
     * Returns in one line what was not ready at the last check; with `looksAgain`, checks now if there was no check
     * yet. Undefined if everything was ready, or helm never got that far.
     */
    async unready(looksAgain: boolean): Promise<string | undefined> {
      if (!watch.isApplying()) return undefined
      const found =
        lastUnready.length > 0 || !looksAgain
          ? lastUnready
          : await lookAtAll(watch, watched, AbortSignal.timeout(readinessPatienceMilliseconds))
      return found.length === 0 ? undefined : `Not ready: ${listed(found)}.`
    },
  }
}

const tailLines = 20
const logPatienceMilliseconds = 5000

/** Reports the last log lines of a failed hook's pods, as far as the caller can read them, without the values. */
const hookLogs = async (about: {
  readonly cluster: MemberCluster
  readonly home: string
  /** `Hook name`. */
  readonly hook: string
  readonly progress: TaskProgress
  readonly redact: Redact
}): Promise<void> => {
  const { cluster, home, progress, redact } = about
  const name = about.hook.replace(/^Hook /, '')
  // These lines may explain why the task was aborted, so they are read even then.
  const signal = AbortSignal.timeout(logPatienceMilliseconds)
  const namespace = queryValue(home)
  const pods = await askItems(
    cluster,
    `/api/v1/namespaces/${namespace}/pods?labelSelector=${queryValue(`job-name=${name}`)}&limit=3`,
    signal,
  )
  for (const pod of pods) {
    const podName = String(asTable(pod.metadata)?.name ?? '')
    const log = await cluster.request(
      {
        method: 'GET',
        target: `/api/v1/namespaces/${namespace}/pods/${queryValue(podName)}/log?tailLines=${tailLines}`,
        limitBytes: 64 * 1024,
      },
      signal,
    )
    if (isLeft(log) || log.right.status !== 200 || log.right.text.trim() === '') continue
    const lines = log.right.text
      .trimEnd()
      .split('\n')
      .slice(-tailLines)
      .map((line) => redact(line).slice(0, 200))
    progress.say(`Last lines of pod ${podName}:\n${lines.join('\n')}`, { level: 'error' })
  }
}

/** What a failure may name: the objects of the release and its hooks. */
const namesIn = ({ objects, hooks, home }: HelmPlan): readonly string[] => [
  home,
  ...objects.flatMap(({ apiVersion, kind, name, namespace }) => [
    apiVersion,
    apiVersion.split('/')[0] ?? '',
    kind,
    name,
    namespace,
  ]),
  ...hooks.flatMap(({ kind, name }) => [kind, name]),
]

/** One helm operation, with what is known before it starts. */
export interface Attended {
  readonly cluster: MemberCluster
  readonly plan: HelmPlan
  /** Helm waits until all objects are ready. */
  readonly waits: boolean
  /** Helm rolls back on failure, so a later check would see another state. */
  readonly undoes: boolean
  /** For output of helm and of hooks. */
  readonly redactAll: Redact
  /** For output of the cluster. */
  readonly redactSecrets: Redact
}

/**
 * Runs one helm operation and reports its progress: hooks, objects, what helm waits for, the last log lines of a failed
 * hook. A failure message begins with what was not ready.
 */
export const runHelmWithProgress = async <A>(
  deps: { readonly pause: Pause; readonly clock: Clock },
  run: Pick<TaskRun, 'progress' | 'signal'>,
  about: Attended,
  operate: (onEvent: (event: HelmEvent) => void) => Promise<Either<HelmFailure, A>>,
): Promise<Either<HelmFailure, A>> => {
  const { cluster, plan, redactAll } = about
  const { progress } = run
  const names = namesIn(plan)
  const follower = followHelm(progress, plan, () => deps.clock.now())
  // The cluster is not read for an actor who may no longer see it.
  const maySee = (): boolean => run.signal.reason !== 'rights-lost'
  const isApplying = (): boolean => maySee() && follower.isApplying()
  const watch = about.waits
    ? watchReadiness({
        cluster,
        objects: plan.objects,
        home: plan.home,
        progress,
        pause: deps.pause,
        redact: (text) => about.redactSecrets(text, names),
        isApplying,
      })
    : undefined
  let isOk = false
  try {
    const done = await operate(follower.onEvent)
    isOk = !isLeft(done)
    if (!isLeft(done)) return done
    const hook = follower.openHook()
    if (hook !== undefined && maySee()) await hookLogs({ cluster, home: plan.home, hook, progress, redact: redactAll })
    // After a cancel the reason is known.
    const unready = hook === undefined && !run.signal.aborted ? await watch?.unready(!about.undoes) : undefined
    const words = redactAll(done.left.message, names)
    return left({ ...done.left, message: unready === undefined ? words : `${unready}\n${words}` })
  } finally {
    follower.end(isOk)
    await watch?.stop(isOk)
  }
}
