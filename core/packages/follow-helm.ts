import type { FreeObject, Json } from '../kernel/json.ts'
import type { TaskProgress, TaskStep } from '../tasks/ports.ts'
import type { HelmEvent, HelmObject } from './helm-ports.ts'
import { labelOf, pluralOf, type ManifestObject } from './manifest-objects.ts'
import type { StorageDriver } from './types.ts'
import { asTable } from './value-tables.ts'

/** A hook, as a rendering names it. */
export interface PlannedHook {
  readonly kind: string
  readonly name: string
  readonly weight: number
  readonly events: readonly string[]
}

/** What helm is about to apply. */
export interface HelmPlan {
  readonly objects: readonly ManifestObject[]
  readonly hooks: readonly PlannedHook[]
  /** Namespace of the release. */
  readonly home: string
  readonly driver: StorageDriver
  /** The objects are to go. */
  readonly isRemoval?: boolean
}

/** Lines about objects that are stored; a chart may hold thousands. */
const maxLines = 500
/** Objects and hooks that are told apart; each call of helm's is looked for among them. */
const maxFollowed = 2000

/** By the word that stands in paths. */
const byResource = <A extends { readonly kind: string }>(all: readonly A[]): ReadonlyMap<string, readonly A[]> =>
  Map.groupBy(all.slice(0, maxFollowed), ({ kind }) => pluralOf(kind))

const recordPrefix = 'sh.helm.release.v1.'

const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((each) => typeof each === 'string') : typeof value === 'string' ? value.split(',') : []

/** A hook of a record (`name`, `kind`, `events`), or its manifest (annotations). */
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

/**
 * Turns what helm does on the wire into steps: one for each hook, one for the objects. Creates carry no name in their
 * path; such a call is taken for the next planned one of its resource.
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
    return fits.find((each) => !begun.has(each) && (isBefore ? each.events.some((event) => event.startsWith('pre-')) : isDone))
  }

  const objectOf = (object: HelmObject): ManifestObject | undefined => {
    const fits = objectsOf.get(object.resource) ?? []
    if (object.name === undefined) return fits.find((each) => !touched.has(each))
    return fits.find((each) => each.name === object.name && (object.namespace === undefined || (each.namespace || home) === object.namespace))
  }

  const sayObject = (method: string, status: number, object: HelmObject): void => {
    const planned = objectOf(object)
    if (planned !== undefined && !isRefused(method, status)) touched.add(planned)
    lines += 1
    if (lines > maxLines) return
    const label = planned === undefined ? `${object.resource}${object.name === undefined ? '' : ` ${object.name}`}` : labelOf(planned, home)
    objects ??= progress.step(plan.isRemoval === true ? 'Remove the objects' : 'Apply the objects')
    const data = { resource: object.resource, method, status, ...(planned === undefined ? {} : { kind: planned.kind, name: planned.name }) }
    if (isRefused(method, status)) objects.say(`${label}: the cluster answered ${status}`, { level: 'warning', data })
    else objects.say(`${label} ${doneWord(method, status)}`, { data })
    if (lines === maxLines) objects.say('Further objects are not listed.')
  }

  const isRecord = (object: HelmObject, method: string): boolean => {
    if ((object.group !== '' && object.group !== 'core') || object.resource !== (driver === 'Secret' ? 'secrets' : 'configmaps')) return false
    if (object.name !== undefined) return object.name.startsWith(recordPrefix)
    if (method !== 'POST' || isRecorded || object.namespace !== home) return false
    isRecorded = true
    return true
  }

  const onCall = ({ method, status, object, isDryRun }: Extract<HelmEvent, { kind: 'call' }>): void => {
    // Questions about rights are asked by POST and change nothing.
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
    step.say(`Started; weight ${planned.weight}`, { data: { kind: planned.kind, name: planned.name, weight: planned.weight } })
    hook = { step, label: `Hook ${planned.name}`, since: now() }
  }

  return {
    onEvent: (event: HelmEvent): void => {
      if (event.kind === 'call') onCall(event)
    },
    /** Helm has touched an object of the manifest. */
    isApplying: (): boolean => touched.size > 0,
    /** Kind and name of the hook that runs. */
    openHook: (): string | undefined => hook?.label,
    end: (isOk: boolean): void => {
      endHook(isOk)
      if (isOk) objects?.done()
      else objects?.failed(plan.isRemoval === true ? 'Not everything was removed.' : 'Not everything was applied, or did not become ready.')
    },
  }
}
