import type { ObjectUsage } from '../months/usage-types.ts'
import type { UnixSeconds } from '../types.ts'

/** Writes JSON members of items. Millions of them are written when a month is closed: a text is made of parts, not of an object. */

const instants = new Map<number, string>()
const mostInstants = 10_000

/** Returns an instant as a JSON string: `"2026-06-01T00:00:00Z"`. Many items have the same: the ends of the month. */
export const instantText = (at: UnixSeconds): string => {
  const known = instants.get(at)
  if (known !== undefined) return known
  if (instants.size >= mostInstants) instants.clear()
  const text = `"${new Date(at * 1000).toISOString().slice(0, 19)}Z"`
  instants.set(at, text)
  return text
}

const plain = /^[\w .:/-]*$/

/** Returns a text as a JSON string. */
export const stringText = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text))

/** Returns the members that name an object. */
export const objectText = ({ object, clusterUid }: ObjectUsage): string =>
  `"clusterUID":${stringText(clusterUid)},"objectID":${stringText(object.uid)},"group":${stringText(object.group)},"kind":${stringText(object.kind)},` +
  `"namespace":${stringText(object.namespace)},"namespaceUID":${stringText(object.namespaceUid)},"name":${stringText(object.name)}`

export const lifeText = ({ object, dailyEvents }: ObjectUsage): string =>
  `"createdAt":${instantText(object.createdAt)},"deletedAt":${object.deletedAt === undefined ? 'null' : instantText(object.deletedAt)},"dailyEvents":[${dailyEvents.join(',')}]`

/** Returns the smallest, the largest and the time-weighted mean of a quantity over segments, the mean with three decimals. */
const summaryText = (segments: ObjectUsage['segments'], of: (segment: ObjectUsage['segments'][number]) => number): string => {
  const values = segments.map(of)
  const seconds = segments.reduce((sum, { from, to }) => sum + (to - from), 0)
  // At most 10^9 multiplied by the seconds of a month: below 2^53, but not with the three decimals.
  const weighted = segments.reduce((sum, segment) => sum + BigInt(of(segment)) * BigInt(segment.to - segment.from), 0n)
  const mean = seconds === 0 ? 0 : Number((weighted * 1000n + BigInt(seconds) / 2n) / BigInt(seconds)) / 1000
  return `{"min":${values.reduce((least, value) => Math.min(least, value), values[0] ?? 0)},"max":${values.reduce((most, value) => Math.max(most, value), 0)},"mean":${mean}}`
}

/** Returns the item of an object in the view of what it occupied. */
export const quotaItem = (usage: ObjectUsage): string => {
  const { segments } = usage
  const rows = segments.map(
    ({ from, to, milliCpu, memoryMib, replicas, generation }) =>
      `{"from":${instantText(from)},"to":${instantText(to)},"milliCPU":${milliCpu},"memMiB":${memoryMib},"replicas":${replicas},"generation":${generation}}`,
  )
  return `{${objectText(usage)},"milliCPU":${summaryText(segments, ({ milliCpu }) => milliCpu)},"memMiB":${summaryText(segments, ({ memoryMib }) => memoryMib)},"segments":[${rows.join(',')}]}`
}
