import { createHash, randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '../../core/kernel/failure.ts'
import { intervalText, parseIntervals } from '../../core/formats/usage-intervals.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { ReportedObject, SpoolId, SpoolRange, Spools } from '../../core/usage/months/ports.ts'
import type { UnixSeconds, UsageClass, UsageClusterId, UsageObjectId, UsageProduct } from '../../core/usage/types.ts'
import type { CutInterval, DayUsage } from '../../core/usage/usage-types.ts'

/**
 * Bytes that are written or read at once. They go to the page cache: that takes less time than to hand them to a
 * thread.
 */
const blockBytes = 256 * 1024
const lineBreak = 0x0a

const noSpace = ['ENOSPC', 'EDQUOT']

const thrownFor = (error: unknown): unknown =>
  noSpace.includes((error as NodeJS.ErrnoException).code ?? '')
    ? new Unavailable('The disk of the data folder is full.', { cause: error })
    : error

/**
 * Spools in files of a folder that no other process can open: a file has no name any more, so the system frees it when
 * the process ends. A spool is named by its file descriptor, which all threads of a process share.
 */
export const makeSpools = (folder: string): Spools => ({
  async open() {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, `usage-${randomUUID()}`)
    const file = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    return file as SpoolId
  },
  writer: (spool) => {
    const from = fstatSync(spool).size
    const hash = createHash('sha256')
    let to = from
    let texts: string[] = []
    let length = 0
    const flush = (): void => {
      const bytes = Buffer.from(texts.join(''))
      hash.update(bytes)
      try {
        for (let written = 0; written < bytes.length;)
          written += writeSync(spool, bytes, written, bytes.length - written, to + written)
      } catch (error) {
        throw thrownFor(error)
      }
      to += bytes.length
      texts = []
      length = 0
    }
    const append = (lines: readonly string[]): void => {
      for (const line of lines) {
        texts.push(line)
        length += line.length
      }
      if (length >= blockBytes) flush()
    }
    return {
      addObjects: async (objects) => append(objects.map(lineOf)),
      addDays: async (days) => append([lineOfDays(days)]),
      end: async () => {
        flush()
        return { range: { spool, from, to }, digest: hash.digest('hex') }
      },
    }
  },
  async *objects(range, of) {
    for (const lines of linesIn(range)) yield lines.map((line) => objectOfLine(line, of))
  },
  days: async (range, product) =>
    [...linesIn(range)].flatMap((lines) => lines.flatMap((line) => daysOfLine(line, product))),
  remove: async (spool) => closeSync(spool),
})

/** Returns the lines of a range in order, without their line breaks. */
function* linesIn({ spool, from, to }: SpoolRange): Generator<readonly string[]> {
  let rest: Buffer = Buffer.alloc(0)
  for (let at = from; at < to;) {
    const block = Buffer.allocUnsafe(rest.length + Math.min(blockBytes, to - at))
    rest.copy(block)
    const read = readSync(spool, block, rest.length, block.length - rest.length, at)
    if (read === 0) throw new Error('A spool is shorter than what was written to it.')
    at += read
    const bytes = block.subarray(0, rest.length + read)
    const end = bytes.lastIndexOf(lineBreak) + 1
    rest = bytes.subarray(end)
    if (end > 0) yield bytes.toString('utf8', 0, end - 1).split('\n')
  }
}

type Line = [
  UsageObjectId,
  string,
  string,
  string,
  string,
  string,
  string,
  UnixSeconds,
  UnixSeconds | null,
  UnixSeconds | null,
]

/** Returns an object without the facts that all objects of its range have: JSON, a tab, and the intervals. */
const lineOf = ({ object, intervals }: ReportedObject): string => {
  const { id, uid, group, kind, namespace, namespaceUid, name, createdAt, deletedAt, trialEndsAt } = object
  const facts = [id, uid, group, kind, namespace, namespaceUid, name, createdAt, deletedAt ?? null, trialEndsAt ?? null]
  return `${toWireJson(facts)}\t${intervalText(intervals)}\n`
}

const objectOfLine = (
  line: string,
  { clusterId, product }: { readonly clusterId: UsageClusterId; readonly product: UsageProduct },
): ReportedObject => {
  // JSON escapes tabs.
  const end = line.indexOf('\t')
  const [id, uid, group, kind, namespace, namespaceUid, name, createdAt, deletedAt, trialEndsAt] = JSON.parse(
    line.slice(0, end),
  ) as Line
  return {
    object: {
      id,
      clusterId,
      uid,
      product,
      group,
      kind,
      namespace,
      namespaceUid,
      name,
      createdAt,
      deletedAt: deletedAt ?? undefined,
      trialEndsAt: trialEndsAt ?? undefined,
    },
    intervals: parseIntervals(line.slice(end + 1)) as readonly CutInterval[],
  }
}

type Day = readonly [string, string, UsageClass, number, string, string]

/** Returns the days of one cluster and product as one line. */
const lineOfDays = (days: readonly DayUsage[]): string =>
  `${toWireJson(days.map(({ group, kind, use, day, milliCpuSeconds, mebibyteSeconds }): Day => [group, kind, use, day, String(milliCpuSeconds), String(mebibyteSeconds)]))}\n`

const daysOfLine = (line: string, product: UsageProduct): readonly DayUsage[] =>
  (JSON.parse(line) as readonly Day[]).map(([group, kind, use, day, cpu, memory]) => ({
    product,
    group,
    kind,
    use,
    day,
    milliCpuSeconds: BigInt(cpu),
    mebibyteSeconds: BigInt(memory),
  }))
