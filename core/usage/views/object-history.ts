import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { at, isObject, listAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { monthText } from '../month.ts'
import type { UsageViewKey, UsageViewStore } from './ports.ts'
import { UsageViewMissing } from './ports.ts'
import { findObject } from './views.ts'

export interface ObjectHistoryInput {
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly objectUid: string
}

/** What an object occupied in all generated months, from the newest revision of each. */
export interface ObjectHistory {
  /** The members that name the object, as the newest month has them. */
  readonly object: FreeObject
  /** `2026-06`, ascending: the months in which the object occupied something. */
  readonly months: readonly string[]
  /** In the order of time. A segment that continues in the next month is one segment. */
  readonly segments: readonly FreeObject[]
}

const quotaView: UsageViewKey = { product: 'dbProduct', view: 'object-quota-history-summaries-view', viewType: 'total' }
const naming = ['clusterUID', 'objectID', 'group', 'kind', 'namespace', 'namespaceUID', 'name'] as const
const occupied = ['milliCPU', 'memMiB', 'replicas', 'generation'] as const

/** Returns the history of an object over all generated months. */
export const makeReadObjectHistory =
  ({ views }: { readonly views: UsageViewStore }) =>
  async (_call: SignedInCall<never>, { ownerId, clusterUid, objectUid }: ObjectHistoryInput): Outcome<Failure<'UsageViewMissing'>, ObjectHistory> => {
    let object: FreeObject | undefined
    const months: string[] = []
    const segments: FreeObject[] = []
    for (const month of await views.monthsOf(ownerId)) {
      const view = await views.find(ownerId, month, quotaView)
      const item = view === undefined ? undefined : await findObject(views, view, clusterUid, objectUid)
      if (item === undefined) continue
      months.push(monthText(month))
      object = Object.fromEntries(naming.map((name) => [name, item[name]]))
      for (const segment of listAt(item, 'segments')) if (isObject(segment)) append(segments, segment)
    }
    return object === undefined ? left(UsageViewMissing('No report has this object.')) : right({ object, months, segments })
  }

/** Appends a segment, or extends the last one if the object occupied the same without a gap. */
const append = (segments: FreeObject[], segment: FreeObject): void => {
  const last = segments.at(-1)
  const isContinued = last !== undefined && last['to'] === segment['from'] && occupied.every((name) => at(last, name) === segment[name])
  if (isContinued) segments[segments.length - 1] = { ...last, to: segment['to'] }
  else segments.push(segment)
}
