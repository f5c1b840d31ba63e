import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import { secondOf } from '../month.ts'
import type { UnixSeconds } from '../types.ts'
import type { NewOutage, Outage, OutageFilter, OutageStore, OutageUnitOfWork } from './ports.ts'

/** A value of the outage is invalid. */
export const OutageInvalid = defineFailure('OutageInvalid', 'Invalid', 'A field of the outage is not valid.')
/** The account does not exist. */
export const OutageAccountMissing = defineFailure(
  'OutageAccountMissing',
  'Unprocessable',
  'The account of the outage does not exist.',
)
/** The same outage is recorded already. */
export const OutageRecorded = defineFailure('OutageRecorded', 'Conflict', 'The same outage is already recorded.')

export type OutageFailure = Failure<'OutageInvalid'> | Failure<'OutageAccountMissing'> | Failure<'OutageRecorded'>

export interface OutageInput {
  readonly accountName: string | undefined
  readonly clusterUid: string | undefined
  readonly start: Date
  readonly end: Date
  readonly tags: readonly string[]
  readonly comments: string
}

const auditOf = defineAudit('usage_outage', ['usage_outage.recorded'], ({ id }: Pick<Outage, 'id'>) => ({
  objectId: id,
}))

const longestDays = 366
const maxTags = 50
const maxTagLength = 64

/** Returns what is wrong with an outage; undefined if nothing is. */
const faultOf = ({ start, end, tags }: OutageInput, now: Date): string | undefined => {
  if (secondOf(start) >= secondOf(end)) return 'start must be before end.'
  if (end.getTime() > now.getTime()) return 'end must not be in the future.'
  if (end.getTime() - start.getTime() > longestDays * 86_400_000) return `An outage lasts at most ${longestDays} days.`
  if (tags.length > maxTags || tags.some((tag) => tag.trim() === '' || tag.length > maxTagLength))
    return `An outage has at most ${maxTags} tags of 1 to ${maxTagLength} characters.`
  return undefined
}

/**
 * Records a time in which nothing was heard for a reason on the side of the platform: clusters count as heard in it. Of
 * all accounts, one, or one cluster.
 */
export const makeRecordOutage =
  ({ clock, unitOfWork }: { readonly clock: Clock; readonly unitOfWork: OutageUnitOfWork }) =>
  async (call: SignedInCall<Outage>, input: OutageInput): Outcome<OutageFailure, Outage> => {
    const now = clock.now()
    const fault = faultOf(input, now)
    if (fault !== undefined) return left(OutageInvalid(fault))
    const clusterUid = input.clusterUid === undefined || input.clusterUid === '' ? '' : uuidOf(input.clusterUid)
    if (clusterUid === undefined)
      return left(OutageInvalid('clusterID must be a UUID: the UID of the namespace kube-system.'))
    const tags = [...new Set(input.tags.map((tag) => tag.trim()))].sort()
    return unitOfWork.run<OutageFailure, Outage>(call, async ({ outages, audit }) => {
      const accountName = input.accountName ?? ''
      const owner = accountName === '' ? undefined : await outages.findAccount(accountName)
      if (accountName !== '' && owner === undefined)
        return left(OutageAccountMissing(`The account ${accountName} does not exist.`))
      const outage: NewOutage = {
        owner,
        clusterUid,
        from: secondOf(input.start),
        to: secondOf(input.end),
        tags,
        comments: input.comments,
        createdAt: now,
      }
      const id = await outages.insert(outage)
      if (id === undefined) return left(OutageRecorded('The same outage is recorded already.'))
      const changes = { account: owner?.name ?? '', cluster: clusterUid, start: outage.from, end: outage.to, tags }
      await audit.record(auditOf({ id }, 'usage_outage.recorded', changes))
      return right({ ...outage, id })
    })
  }

/** The share of a thing in all outages. */
export interface OutageShare {
  readonly entity: string
  readonly entityName: string
  readonly durationHours: number
  readonly percentage: number
}
export interface OutageReport {
  readonly totalOutages: number
  readonly totalDurationHours: number
  /** In percent of the number of outages. */
  readonly topTags: readonly { readonly tag: string; readonly percentage: number }[]
  /** In percent of the duration of all outages. */
  readonly topAccounts: readonly OutageShare[]
  readonly topClusters: readonly OutageShare[]
  /** The newest first. */
  readonly entries: readonly Outage[]
}

const shown = 10
const percentOf = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100)
const hoursOf = (seconds: number): number => Math.round((seconds / 3600) * 1000) / 1000
const lengthOf = ({ from, to }: Outage): number => to - from

const sharesOf = (
  outages: readonly Outage[],
  total: number,
  entityOf: (outage: Outage) => readonly [id: string, name: string] | undefined,
): readonly OutageShare[] => {
  const byEntity = new Map<string, { name: string; seconds: number }>()
  for (const outage of outages) {
    const entity = entityOf(outage)
    if (entity === undefined) continue
    const [id, name] = entity
    byEntity.set(id, { name, seconds: (byEntity.get(id)?.seconds ?? 0) + lengthOf(outage) })
  }
  return [...byEntity]
    .sort(([a, x], [b, y]) => y.seconds - x.seconds || (a < b ? -1 : 1))
    .slice(0, shown)
    .map(([entity, { name, seconds }]) => ({
      entity,
      entityName: name,
      durationHours: hoursOf(seconds),
      percentage: percentOf(seconds, total),
    }))
}

/** Returns what outages add up to. @internal */
export const reportOutages = (outages: readonly Outage[]): OutageReport => {
  const total = outages.reduce((sum, outage) => sum + lengthOf(outage), 0)
  const byTag = new Map<string, number>()
  for (const { tags } of outages) for (const tag of tags) byTag.set(tag, (byTag.get(tag) ?? 0) + 1)
  return {
    totalOutages: outages.length,
    totalDurationHours: hoursOf(total),
    topTags: [...byTag]
      .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
      .slice(0, shown)
      .map(([tag, count]) => ({ tag, percentage: percentOf(count, outages.length) })),
    topAccounts: sharesOf(outages, total, ({ owner }) =>
      owner === undefined ? undefined : [String(owner.id), owner.name],
    ),
    topClusters: sharesOf(outages, total, ({ clusterUid }) =>
      clusterUid === '' ? undefined : [clusterUid, clusterUid],
    ),
    entries: outages,
  }
}

export interface OutageReportInput {
  readonly start: Date | undefined
  readonly accountId: AccountId | undefined
  readonly clusterUid: string | undefined
  readonly tags: readonly string[]
}

/** Reports on the outages that end after a start, of an account, a cluster, or with one of the tags. */
export const makeReportOutages =
  (outages: Pick<OutageStore, 'list'>) =>
  async (
    _call: Call<never>,
    { start, accountId, clusterUid, tags }: OutageReportInput,
  ): Outcome<never, OutageReport> => {
    const filter: OutageFilter = {
      endsAfter: start === undefined ? (0 as UnixSeconds) : secondOf(start),
      ownerId: accountId,
      clusterUid: clusterUid?.toLowerCase(),
    }
    const found = await outages.list(filter)
    return right(
      reportOutages(
        tags.length === 0 ? found : found.filter((outage) => outage.tags.some((tag) => tags.includes(tag))),
      ),
    )
  }

/** Returns the tags of all outages, sorted. */
export const makeListOutageTags =
  (outages: Pick<OutageStore, 'list'>) =>
  async (call: Call<never>): Outcome<never, readonly string[]> => {
    const report = await makeReportOutages(outages)(call, {
      start: undefined,
      accountId: undefined,
      clusterUid: undefined,
      tags: [],
    })
    return isLeft(report) ? report : right([...new Set(report.right.entries.flatMap(({ tags }) => tags))].sort())
  }
