import type { MonthKey, ResourceAmount, UnixSeconds, UsageClass, UsageKind, UsageObject, UsageSegment } from '../types.ts'
import { daysOfMonth, daySeconds, monthEnd, monthStart } from '../month.ts'
import type { DayUsage, ObjectSegment, ObjectUsage, UsagePart } from './usage-types.ts'

/** What an object occupied in a time of a month. `cutAt` is at most `to`: where it ends because the object was not heard any more. */
export interface CutInterval extends ObjectSegment {
  readonly cutAt: UnixSeconds
}

/** A time in which an object used the same amount in one class for one contract. */
export interface UsagePiece extends ResourceAmount {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly use: UsageClass
  readonly contractId: number
  readonly mode: UsageSegment['mode']
}

/**
 * Divides what an object used into pieces of one class and contract, in the order of time: its intervals, multiplied by the segments of its
 * cluster. Both are ascending and without overlaps. The seconds before the end of its trial are `trial`, others without a contract
 * `free`, the rest has the class of the cluster's mode.
 */
export const eachPiece = (intervals: readonly CutInterval[], segments: readonly UsageSegment[], trialEndsAt: UnixSeconds | undefined, take: (piece: UsagePiece) => void): void => {
  let first = 0
  for (const { from: begin, to: end, cutAt, milliCpu, memoryMib } of intervals) {
    const limit = cutAt < end ? cutAt : end
    for (let segment = segments[first]; segment !== undefined && segment.to <= begin; segment = segments[first]) first += 1
    for (let index = first; index < segments.length; index += 1) {
      const segment = segments[index]
      if (segment === undefined || segment.from >= limit) break
      const { contractId, mode } = segment
      const from = segment.from > begin ? segment.from : begin
      const to = segment.to < limit ? segment.to : limit
      if (from >= to) continue
      const use = contractId === 0 ? 'free' : mode
      if (trialEndsAt === undefined || trialEndsAt <= from) take({ from, to, milliCpu, memoryMib, use, contractId, mode })
      else {
        const trialTo = trialEndsAt < to ? trialEndsAt : to
        take({ from, to: trialTo, milliCpu, memoryMib, use: 'trial', contractId, mode })
        if (trialTo < to) take({ from: trialTo, to, milliCpu, memoryMib, use, contractId, mode })
      }
    }
  }
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
 * Returns what an object used in a month. The sums of one object are below 2^53, because what it occupies, multiplied by the seconds of a
 * month, is, and its intervals do not overlap: so they are exact as numbers.
 */
export const usageOfObject = (
  object: UsageObject,
  clusterUid: string,
  month: MonthKey,
  intervals: readonly CutInterval[],
  segments: readonly UsageSegment[],
): ObjectUsage => {
  const sums: Sum[] = []
  const modes: ModeSum[] = []
  eachPiece(intervals, segments, object.trialEndsAt, (piece) => {
    const { from, to, use, contractId, mode, milliCpu, memoryMib } = piece
    const cpu = milliCpu * (to - from)
    const memory = memoryMib * (to - from)
    let sum = sums.find((each) => each.use === use && each.contractId === contractId)
    if (sum === undefined) sums.push((sum = { use, contractId, cpu: 0, memory: 0 }))
    sum.cpu += cpu
    sum.memory += memory
    const last = modes.at(-1)
    if (last !== undefined && last.mode === mode && last.to === from) {
      last.to = to
      last.cpu += cpu
      last.memory += memory
    } else modes.push({ from, to, mode, cpu, memory })
  })
  return {
    object,
    clusterUid,
    parts: sums.toSorted(inOrder).map(partOf),
    dailyEvents: changesByDay(object, month, intervals),
    segments: intervals.flatMap((interval) => (interval.cutAt < interval.to ? cut(interval) : [interval])),
    modes: modes.map(({ from, to, mode, cpu, memory }) => ({ from, to, mode, milliCpuSeconds: BigInt(cpu), mebibyteSeconds: BigInt(memory) })),
  }
}

const inOrder = (a: Sum, b: Sum): number => a.contractId - b.contractId || (a.use < b.use ? -1 : a.use > b.use ? 1 : 0)

const partOf = ({ use, contractId, cpu, memory }: Sum): UsagePart => ({ use, contractId, milliCpuSeconds: BigInt(cpu), mebibyteSeconds: BigInt(memory) })

const cut = (interval: CutInterval): readonly ObjectSegment[] => (interval.cutAt > interval.from ? [{ ...interval, to: interval.cutAt }] : [])

/** The object was created, resized or deleted on these days. What it occupied when the month began is no change. */
const changesByDay = ({ createdAt, deletedAt }: UsageObject, month: MonthKey, intervals: readonly CutInterval[]): readonly number[] => {
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

/** Above it a sum is moved to a bigint. The amount that is added next is below 2^52 too, so that the sum is exact until then. */
const spill = 2 ** 52

/** Exact sums, as numbers with what they cannot hold beside them: a bigint for each addition would take longer than the rest of the roll-up. */
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
  readonly clusterUid: string
  readonly kind: UsageKind
  readonly use: UsageClass
  /** What was used in parts of days. */
  readonly cpu: ExactSums
  readonly memory: ExactSums
  /** By how much the amount changes that is used on each whole day. */
  readonly cpuSteps: ExactSums
  readonly memorySteps: ExactSums
}

/** Adds up what is used on each day. A piece costs the same however many days it has: only its first and last day, and the change of the amount on whole days, are recorded. */
export class DaySums {
  readonly #cells = new Map<string, Map<string, DayCells>>()
  readonly #start: number
  readonly #days: number

  constructor(month: MonthKey) {
    this.#start = monthStart(month)
    this.#days = daysOfMonth(month)
  }

  add(clusterUid: string, kind: UsageKind, { from, to, use, milliCpu, memoryMib }: UsagePiece): void {
    const cells = this.#cellsOf(clusterUid, kind, use)
    const [begin, end] = [from - this.#start, to - this.#start]
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

  #cellsOf(clusterUid: string, kind: UsageKind, use: UsageClass): DayCells {
    let ofCluster = this.#cells.get(clusterUid)
    if (ofCluster === undefined) this.#cells.set(clusterUid, (ofCluster = new Map<string, DayCells>()))
    const key = `${use} ${kind.group} ${kind.kind}`
    const known = ofCluster.get(key)
    if (known !== undefined) return known
    // The end of the month is the beginning of a day after the last one.
    const sums = (): ExactSums => new ExactSums(this.#days + 1)
    const { product, group, kind: name } = kind
    const made = { clusterUid, kind: { product, group, kind: name }, use, cpu: sums(), memory: sums(), cpuSteps: sums(), memorySteps: sums() }
    ofCluster.set(key, made)
    return made
  }

  /** Returns the days on which something was used, by cluster, group, kind, class and day. */
  result(): readonly DayUsage[] {
    const all = [...this.#cells.values()].flatMap((cells) => [...cells.values()])
    return all.toSorted(byCells).flatMap((cells) => this.#daysOf(cells))
  }

  #daysOf({ clusterUid, kind, use, cpu, memory, cpuSteps, memorySteps }: DayCells): readonly DayUsage[] {
    let [cpuRate, memoryRate] = [0n, 0n]
    return Array.from({ length: this.#days }, (_, index): DayUsage => {
      cpuRate += cpuSteps.at(index)
      memoryRate += memorySteps.at(index)
      const seconds = BigInt(daySeconds)
      return { ...kind, clusterUid, day: index + 1, use, milliCpuSeconds: cpu.at(index) + cpuRate * seconds, mebibyteSeconds: memory.at(index) + memoryRate * seconds }
    }).filter(({ milliCpuSeconds, mebibyteSeconds }) => milliCpuSeconds > 0n || mebibyteSeconds > 0n)
  }
}

const byCells = (a: DayCells, b: DayCells): number => compare(a.clusterUid, b.clusterUid) || compare(a.kind.group, b.kind.group) || compare(a.kind.kind, b.kind.kind) || compare(a.use, b.use)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Adds what an object used on each day. */
export const addDays = (days: DaySums, clusterUid: string, object: UsageObject, intervals: readonly CutInterval[], segments: readonly UsageSegment[]): void =>
  eachPiece(intervals, segments, object.trialEndsAt, (piece) => days.add(clusterUid, object, piece))
