import { daySeconds, daysOfMonth, monthEnd, monthStart } from '../month.ts'
import type {
  MonthKey,
  ResourceAmount,
  UnixSeconds,
  UsageClass,
  UsageKind,
  UsageObject,
  UsageSegment,
} from '../types.ts'
import type { CutInterval, DayUsage, ObjectSegment, ObjectUsage, UsagePart } from '../usage-types.ts'

/** A time in which an object used the same amount in one class for one contract. */
export interface UsagePiece extends ResourceAmount {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly use: UsageClass
  readonly contractId: number
  readonly termsNumber: number
  readonly mode: UsageSegment['mode']
}

/**
 * Divides what an object used into pieces of one class and contract, in the order of time: its intervals, multiplied by
 * the segments of its cluster. Both are ascending and without overlaps. The seconds before the end of its trial are
 * `trial`, others without a contract `free`, the rest has the class of the cluster's mode. Returns false if there is no
 * piece.
 */
export const eachPiece = (
  intervals: readonly CutInterval[],
  segments: readonly UsageSegment[],
  trialEndsAt: UnixSeconds | undefined,
  take: (piece: UsagePiece) => void,
): boolean => {
  let first = 0
  let isAny = false
  for (const { from: begin, to: end, cutAt, milliCpu, memoryMib } of intervals) {
    const limit = cutAt < end ? cutAt : end
    for (let segment = segments[first]; segment !== undefined && segment.to <= begin; segment = segments[first])
      first += 1
    for (let index = first; index < segments.length; index += 1) {
      const segment = segments[index]
      if (segment === undefined || segment.from >= limit) break
      const { contractId, termsNumber, mode } = segment
      const from = segment.from > begin ? segment.from : begin
      const to = segment.to < limit ? segment.to : limit
      if (from >= to) continue
      isAny = true
      const use = contractId === 0 ? 'free' : mode
      if (trialEndsAt === undefined || trialEndsAt <= from)
        take({ from, to, milliCpu, memoryMib, use, contractId, termsNumber, mode })
      else {
        const trialTo = trialEndsAt < to ? trialEndsAt : to
        take({ from, to: trialTo, milliCpu, memoryMib, use: 'trial', contractId, termsNumber, mode })
        if (trialTo < to) take({ from: trialTo, to, milliCpu, memoryMib, use, contractId, termsNumber, mode })
      }
    }
  }
  return isAny
}

interface Sum {
  readonly use: UsageClass
  readonly contractId: number
  cpu: number
  memory: number
}

interface ModeSum {
  readonly from: UnixSeconds
  to: UnixSeconds
  readonly mode: UsageSegment['mode']
  cpu: number
  memory: number
}

/**
 * Returns what an object used in a month. The sums of one object are below 2^53, because what it occupies, multiplied
 * by the seconds of a month, is, and its intervals do not overlap: so they are exact as numbers.
 */
export const usageOfObject = (
  object: UsageObject,
  clusterUid: string,
  month: MonthKey,
  intervals: readonly CutInterval[],
  segments: readonly UsageSegment[],
): ObjectUsage => new UsageOfObject(object, clusterUid, month, intervals, segments)

/** Computes what is requested: each view needs a part. */
class UsageOfObject implements ObjectUsage {
  readonly object: UsageObject
  readonly clusterUid: string
  readonly #month: MonthKey
  readonly #intervals: readonly CutInterval[]
  readonly #clusterSegments: readonly UsageSegment[]

  constructor(
    object: UsageObject,
    clusterUid: string,
    month: MonthKey,
    intervals: readonly CutInterval[],
    segments: readonly UsageSegment[],
  ) {
    this.object = object
    this.clusterUid = clusterUid
    this.#month = month
    this.#intervals = intervals
    this.#clusterSegments = segments
  }

  get parts(): readonly UsagePart[] {
    const sums: Sum[] = []
    eachPiece(
      this.#intervals,
      this.#clusterSegments,
      this.object.trialEndsAt,
      ({ from, to, use, contractId, milliCpu, memoryMib }) => {
        const sum = sumOf(sums, use, contractId)
        sum.cpu += milliCpu * (to - from)
        sum.memory += memoryMib * (to - from)
      },
    )
    return (sums.length > 1 ? sums.toSorted(inOrder) : sums).map(partOf)
  }

  get dailyEvents(): readonly number[] {
    return changesByDay(this.object, this.#month, this.#intervals)
  }

  get segments(): readonly ObjectSegment[] {
    return occupiedIn(this.#intervals, this.#clusterSegments)
  }

  get modes(): ObjectUsage['modes'] {
    const modes: ModeSum[] = []
    let last: ModeSum | undefined
    eachPiece(
      this.#intervals,
      this.#clusterSegments,
      this.object.trialEndsAt,
      ({ from, to, mode, milliCpu, memoryMib }) => {
        if (last === undefined || last.mode !== mode || last.to !== from)
          modes.push((last = { from, to: from, mode, cpu: 0, memory: 0 }))
        last.cpu += milliCpu * (to - from)
        last.memory += memoryMib * (to - from)
        last.to = to
      },
    )
    return modes.map(({ from, to, mode, cpu, memory }) => ({
      from,
      to,
      mode,
      milliCpuSeconds: BigInt(cpu),
      mebibyteSeconds: BigInt(memory),
    }))
  }
}

const sumOf = (sums: Sum[], use: UsageClass, contractId: number): Sum => {
  for (const sum of sums) if (sum.use === use && sum.contractId === contractId) return sum
  const made = { use, contractId, cpu: 0, memory: 0 }
  sums.push(made)
  return made
}

const inOrder = (a: Sum, b: Sum): number => a.contractId - b.contractId || (a.use < b.use ? -1 : a.use > b.use ? 1 : 0)

const partOf = ({ use, contractId, cpu, memory }: Sum): UsagePart => ({
  use,
  contractId,
  milliCpuSeconds: BigInt(cpu),
  mebibyteSeconds: BigInt(memory),
})

/**
 * Returns what intervals occupied in the time of the segments of a cluster. Both are ascending and without overlaps.
 */
const occupiedIn = (intervals: readonly CutInterval[], segments: readonly UsageSegment[]): readonly ObjectSegment[] => {
  const occupied: ObjectSegment[] = []
  let first = 0
  for (const interval of intervals) {
    const limit = interval.cutAt < interval.to ? interval.cutAt : interval.to
    for (let segment = segments[first]; segment !== undefined && segment.to <= interval.from; segment = segments[first])
      first += 1
    let index = first
    while (index < segments.length) {
      const { from: start, to: end } = segments[index] as UsageSegment
      if (start >= limit) break
      let to = end
      index += 1
      // Segments of other modes or contracts follow each other without a gap.
      while (index < segments.length && segments[index]?.from === to) to = (segments[index++] as UsageSegment).to
      const from = start > interval.from ? start : interval.from
      if (to > limit) to = limit
      if (from < to) occupied.push({ ...interval, from, to })
    }
  }
  return occupied
}

/** The object was created, resized or deleted on these days. What it occupied when the month began is no change. */
const changesByDay = (
  { createdAt, deletedAt }: UsageObject,
  month: MonthKey,
  intervals: readonly CutInterval[],
): readonly number[] => {
  const start = monthStart(month)
  const counts = new Array<number>(daysOfMonth(month)).fill(0)
  const count = (at: UnixSeconds): void => {
    const day = Math.floor((at - start) / daySeconds)
    counts[day] = (counts[day] ?? 0) + 1
  }
  for (const { from } of intervals) if (from > start || createdAt >= start) count(from)
  if (deletedAt !== undefined && deletedAt >= start && deletedAt < monthEnd(month)) count(deletedAt)
  return counts
}

/**
 * Above it a sum is moved to a bigint. The amount that is added next is below 2^52 too, so that the sum is exact until
 * then.
 */
const spill = 2 ** 52

/**
 * Exact sums, as numbers with what they cannot hold beside them: a bigint for each addition would take longer than the
 * rest of the roll-up.
 */
class ExactSums {
  readonly #low: Float64Array
  readonly #high = new Map<number, bigint>()

  constructor(length: number) {
    this.#low = new Float64Array(length)
  }

  add(index: number, amount: number): void {
    const sum = (this.#low[index] ?? 0) + amount
    if (sum > -spill && sum < spill) this.#low[index] = sum
    else {
      this.#high.set(index, (this.#high.get(index) ?? 0n) + BigInt(sum))
      this.#low[index] = 0
    }
  }

  at(index: number): bigint {
    return BigInt(this.#low[index] ?? 0) + (this.#high.get(index) ?? 0n)
  }
}

interface DayCells {
  readonly kind: UsageKind
  readonly use: UsageClass
  /** What was used in parts of days. */
  readonly cpu: ExactSums
  readonly memory: ExactSums
  /** By how much the amount changes that is used on each whole day. */
  readonly cpuSteps: ExactSums
  readonly memorySteps: ExactSums
}

/** Adds what the objects of one kind used. */
export type AddPiece = (piece: UsagePiece) => void

/**
 * Adds up what is used in a cluster on each day. A piece costs the same however many days it has: only its first and
 * last day, and the change of the amount on whole days, are recorded.
 */
export class DaySums {
  readonly #adders: (UsageKind & { readonly add: AddPiece })[] = []
  readonly #cells: DayCells[] = []
  readonly #start: number
  readonly #days: number

  constructor(month: MonthKey) {
    this.#start = monthStart(month)
    this.#days = daysOfMonth(month)
  }

  /** Returns the same for the same kind. */
  adderOf({ product, group, kind }: UsageKind): AddPiece {
    // There are few kinds, and their names are the same strings for all objects: a key of them would take longer.
    for (const known of this.#adders)
      if (known.kind === kind && known.group === group && known.product === product) return known.add
    const add = this.#makeAdder({ product, group, kind })
    this.#adders.push({ product, group, kind, add })
    return add
  }

  #makeAdder(kind: UsageKind): AddPiece {
    const start = this.#start
    const known = new Map<UsageClass, DayCells>()
    const cellsOf = (use: UsageClass): DayCells => {
      // The end of the month is the beginning of a day after the last one.
      const sums = (): ExactSums => new ExactSums(this.#days + 1)
      const made = { kind, use, cpu: sums(), memory: sums(), cpuSteps: sums(), memorySteps: sums() }
      known.set(use, made)
      this.#cells.push(made)
      return made
    }
    return ({ from, to, use, milliCpu, memoryMib }) => {
      const cells = known.get(use) ?? cellsOf(use)
      const [begin, end] = [from - start, to - start]
      const [first, last] = [Math.floor(begin / daySeconds), Math.floor(end / daySeconds)]
      if (first === last) {
        cells.cpu.add(first, milliCpu * (end - begin))
        cells.memory.add(first, memoryMib * (end - begin))
        return
      }
      const [head, tail] = [(first + 1) * daySeconds - begin, end - last * daySeconds]
      cells.cpu.add(first, milliCpu * head)
      cells.memory.add(first, memoryMib * head)
      cells.cpu.add(last, milliCpu * tail)
      cells.memory.add(last, memoryMib * tail)
      cells.cpuSteps.add(first + 1, milliCpu)
      cells.memorySteps.add(first + 1, memoryMib)
      cells.cpuSteps.add(last, -milliCpu)
      cells.memorySteps.add(last, -memoryMib)
    }
  }

  /** Returns the days on which something was used, by product, group, kind, class and day. */
  result(): readonly DayUsage[] {
    return this.#cells.toSorted(byCells).flatMap((cells) => this.#daysOf(cells))
  }

  #daysOf({ kind, use, cpu, memory, cpuSteps, memorySteps }: DayCells): readonly DayUsage[] {
    let [cpuRate, memoryRate] = [0n, 0n]
    return Array.from({ length: this.#days }, (_, index): DayUsage => {
      cpuRate += cpuSteps.at(index)
      memoryRate += memorySteps.at(index)
      const seconds = BigInt(daySeconds)
      return {
        ...kind,
        day: index + 1,
        use,
        milliCpuSeconds: cpu.at(index) + cpuRate * seconds,
        mebibyteSeconds: memory.at(index) + memoryRate * seconds,
      }
    }).filter(({ milliCpuSeconds, mebibyteSeconds }) => milliCpuSeconds > 0n || mebibyteSeconds > 0n)
  }
}

const byCells = (a: DayCells, b: DayCells): number =>
  compare(a.kind.product, b.kind.product) ||
  compare(a.kind.group, b.kind.group) ||
  compare(a.kind.kind, b.kind.kind) ||
  compare(a.use, b.use)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Adds what an object used on each day. Returns false if it did not exist while its cluster counted. */
export const addDays = (
  days: DaySums,
  object: UsageObject,
  intervals: readonly CutInterval[],
  segments: readonly UsageSegment[],
): boolean => eachPiece(intervals, segments, object.trialEndsAt, days.adderOf(object))

/** Returns the sums of days of several clusters. */
export const sumOfDays = (lists: Iterable<readonly DayUsage[]>): readonly DayUsage[] => {
  const sums = new Map<string, DayUsage>()
  for (const days of lists) {
    for (const day of days) {
      const key = `${day.product} ${day.group} ${day.kind} ${day.use} ${day.day}`
      const sum = sums.get(key)
      sums.set(
        key,
        sum === undefined
          ? day
          : {
              ...sum,
              milliCpuSeconds: sum.milliCpuSeconds + day.milliCpuSeconds,
              mebibyteSeconds: sum.mebibyteSeconds + day.mebibyteSeconds,
            },
      )
    }
  }
  return [...sums.values()]
}
