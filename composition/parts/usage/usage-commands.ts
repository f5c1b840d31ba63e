import { definedFields } from '../../../core/kernel/json.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { ContractStore } from '../../../core/contracts/ports.ts'
import { ContractStorePort } from '../../../core/contracts/ports.ts'
import type { ContractId, TermsVersion } from '../../../core/contracts/types.ts'
import { MembershipStorePort } from '../../../core/organizations/ports.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { decimalOf, perCoreMonth, perGibMonth, thousandthsOf } from '../../../core/usage/amounts.ts'
import { monthText, parseMonthText } from '../../../core/usage/month.ts'
import type { CloseInput } from '../../../core/usage/months/close.ts'
import { CloseMonthPort } from '../../../core/usage/months/close.ts'
import type { ExplainedPiece, Explanation, ExplainInput } from '../../../core/usage/months/explain.ts'
import { makeExplain } from '../../../core/usage/months/explain.ts'
import { MonthStorePort, UsageInputsPort } from '../../../core/usage/months/ports.ts'
import type { MonthKey, UsageSegment } from '../../../core/usage/types.ts'
import { usageClasses, usageProducts } from '../../../core/usage/types.ts'
import { UsageViewStorePort } from '../../../core/usage/views/ports.ts'
import { operatorCall } from '../../part/operator.ts'
import type { CommonOptions, ExitCode, PartContext, Ports } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import { printable } from '../../part/command-context.ts'

export interface UsageMonthOptions extends CommonOptions {
  readonly org: string
  readonly month: string
}
export interface UsageCloseOptions extends UsageMonthOptions {
  readonly final?: boolean
}
export interface UsageExplainOptions extends UsageMonthOptions {
  readonly product: string
  readonly cluster: string
  readonly object?: string
  readonly contract?: string
  readonly class?: string
}

interface Place {
  readonly ownerId: AccountId
  readonly month: MonthKey
}

/** Runs a command on a month of an account; says what is wrong with the options. */
const onMonth = (
  context: PartContext,
  options: UsageMonthOptions,
  work: (composition: Ports, place: Place) => Promise<ExitCode>,
): Promise<ExitCode> =>
  context.onStore<ExitCode>(options, async (composition) => {
    const month = parseMonthText(options.month)
    if (month === undefined) {
      context.say('--month is a month in the form 2026-11.')
      return 2
    }
    const account = await composition.container.resolve(MembershipStorePort).findAccount(options.org)
    if (account === undefined) {
      context.say(`There is no account ${printable(options.org)}.`)
      return 1
    }
    return work(composition, { ownerId: account.id as AccountId, month })
  })

/** Says at most once a second how far the work is. */
const progressOn = (context: PartContext): NonNullable<CloseInput['onProgress']> => {
  let last = 0
  return (text, done, of) => {
    const now = performance.now()
    if (now - last < 1000 && done < of) return
    last = now
    context.say(`${text}: ${done} of ${of}`)
  }
}

/**
 * An interrupt ends the work in order: the next command would otherwise wait until the lease of the month has ended.
 */
const closeAs =
  (operation: string, as: CloseInput['as']) =>
  (context: PartContext, options: UsageMonthOptions): Promise<ExitCode> =>
    onMonth(context, options, async ({ container }, place) => {
      const close = container.resolve(CloseMonthPort)
      const interrupt = new AbortController()
      const forget = context.onInterrupt?.(() => interrupt.abort())
      try {
        const closed = await close(operatorCall(operation, interrupt.signal), {
          ...place,
          ...definedFields({ as }),
          onProgress: progressOn(context),
        })
        if (isLeft(closed)) {
          context.say(closed.left.message)
          return 1
        }
        const { month, isNew, objectCount } = closed.right
        if (options.json === true)
          printJson(context, {
            month: monthText(month.month),
            revision: month.revision,
            status: month.status,
            inputHash: month.inputHash,
            isNew,
            objects: objectCount,
          })
        else
          context.print(
            isNew
              ? `Revision ${month.revision} of ${monthText(month.month)} is ${month.status}: ${objectCount} objects.`
              : `Revision ${month.revision} of ${monthText(month.month)} is ${month.status} already; nothing has changed.`,
          )
        return 0
      } catch (error) {
        if (!interrupt.signal.aborted) throw error
        context.say('Interrupted. The month has not changed.')
        return 130
      } finally {
        forget?.()
      }
    })

/** Computes a month of an account now. */
export const usageClose = (context: PartContext, options: UsageCloseOptions): Promise<ExitCode> =>
  closeAs('usage.close', options.final === true ? 'final' : undefined)(context, options)

/** Makes a new revision of a final month. */
export const usageReopen = closeAs('usage.reopen', 'reopen')

const instant = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')

/** Returns NaN if the text is not a whole number. */
const contractIdOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : Number.NaN)

const pieceLine = ({ object, from, to, milliCpu, memoryMib, use, contractId }: ExplainedPiece): string =>
  `${instant(from)}  ${instant(to)}  ${String(to - from).padStart(7)} s  ${String(milliCpu).padStart(7)} m ` +
  ` ${String(memoryMib).padStart(9)} MiB  ${use.padEnd(8)}  ${String(contractId).padStart(6)}  ` +
  `${object.namespace}/${object.name}`

/** Returns the versions of terms by which the segments are billed, each once. */
const termsOfSegments = async (
  contracts: Pick<ContractStore, 'listTerms'>,
  segments: readonly UsageSegment[],
): Promise<readonly (TermsVersion & { readonly contractId: number })[]> => {
  const found: (TermsVersion & { readonly contractId: number })[] = []
  for (const [contractId, own] of Map.groupBy(
    segments.filter((each) => each.contractId !== 0),
    (each) => each.contractId,
  )) {
    const numbers = new Set(own.map(({ termsNumber }) => termsNumber))
    for (const version of await contracts.listTerms(contractId as ContractId))
      if (numbers.has(version.number)) found.push({ ...version, contractId })
  }
  return found
}

const termsLine = ({
  contractId,
  number,
  from,
  to,
  product,
  features,
  recordedBy,
}: TermsVersion & { readonly contractId: number }): string =>
  `contract ${contractId}, terms ${number}: in force ` +
  `${from.getTime() === 0 ? 'from the beginning' : `from ${from.toISOString()}`}${to === undefined ? '' : ` to ${to.toISOString()}`}; ` +
  `${product}: ${features.join(', ')}${recordedBy === '' ? '' : `; recorded by ${recordedBy}`}`

/** Returns what the options name, or undefined after a message if they are not valid. */
const explainedFigure = (
  context: PartContext,
  options: UsageExplainOptions,
): Omit<ExplainInput, 'ownerId' | 'month'> | undefined => {
  const product = usageProducts.find((each) => each === options.product)
  const use = usageClasses.find((each) => each === options.class)
  const contractId = options.contract === undefined ? undefined : contractIdOf(options.contract)
  if (
    product === undefined ||
    (options.class !== undefined && use === undefined) ||
    (contractId !== undefined && !Number.isSafeInteger(contractId))
  ) {
    context.say(
      `--product is one of ${usageProducts.join(', ')}; --class one of ${usageClasses.join(', ')}; ` +
        '--contract a number, 0 for use without a contract.',
    )
    return undefined
  }
  return {
    product,
    clusterUid: options.cluster.toLowerCase(),
    objectUid: options.object?.toLowerCase(),
    contractId,
    use,
  }
}

type Terms = Awaited<ReturnType<typeof termsOfSegments>>

/** The sums of the pieces, in units times seconds, and as the reports show them. */
interface Sums {
  readonly milliCpuSeconds: bigint
  readonly mebibyteSeconds: bigint
  readonly cpu: string
  readonly memory: string
}

/** Adds up all pieces. `onPiece` gets each of them, in their order. */
const sumOf = async (
  pieces: Explanation['pieces'],
  month: MonthKey,
  onPiece: (piece: ExplainedPiece) => void,
): Promise<Sums> => {
  let [milliCpuSeconds, mebibyteSeconds] = [0n, 0n]
  for await (const page of pieces)
    for (const piece of page) {
      const seconds = BigInt(piece.to - piece.from)
      milliCpuSeconds += BigInt(piece.milliCpu) * seconds
      mebibyteSeconds += BigInt(piece.memoryMib) * seconds
      onPiece(piece)
    }
  return {
    milliCpuSeconds,
    mebibyteSeconds,
    cpu: decimalOf(thousandthsOf(milliCpuSeconds, perCoreMonth(month))),
    memory: decimalOf(thousandthsOf(mebibyteSeconds, perGibMonth(month))),
  }
}

const printExplanation = async (
  context: PartContext,
  { month, segments, pieces, hasChanged }: Explanation,
  terms: Terms,
): Promise<void> => {
  context.print(
    `Revision ${month.revision} of ${monthText(month.month)}, ${month.status}, computed at ` +
      `${month.generatedAt.toISOString()}`,
  )
  context.print('The time of the cluster:')
  for (const { from, to, mode, contractId: contract, termsNumber } of segments)
    context.print(
      `  ${instant(from)}  ${instant(to)}  ${mode.padEnd(8)}  ` +
        `${contract === 0 ? 'no contract' : `contract ${contract}${termsNumber === 0 ? '' : `, terms ${termsNumber}`}`}`,
    )
  if (terms.length > 0) context.print('The terms:')
  for (const each of terms) context.print(`  ${printable(termsLine(each))}`)
  context.print('What was used in it:')
  let isAny = false
  const sums = await sumOf(pieces, month.month, (piece) => {
    isAny = true
    context.print(`  ${printable(pieceLine(piece))}`)
  })
  if (!isAny) context.print('  nothing')
  context.print(
    `Sum: ${sums.milliCpuSeconds} milli-core-seconds = ${sums.cpu} core-months; ` +
      `${sums.mebibyteSeconds} MiB-seconds = ${sums.memory} GiB-months`,
  )
  context.print(
    'The rows of views and reports are rounded so that they add up to their total: the last digit of a ' +
      'row may differ.',
  )
  if (await hasChanged())
    context.say(
      `The cluster has other figures in revision ${month.revision}: its intervals have changed since ` +
        'then, or are no longer kept. Close or reopen the month to compute it again.',
    )
}

const printExplanationJson = async (
  context: PartContext,
  { month, segments, pieces, hasChanged }: Explanation,
  terms: Terms,
): Promise<void> => {
  const shown: unknown[] = []
  const { milliCpuSeconds, mebibyteSeconds, cpu, memory } = await sumOf(pieces, month.month, (piece) =>
    shown.push({
      object: piece.object.uid,
      from: piece.from,
      to: piece.to,
      milliCPU: piece.milliCpu,
      memoryMiB: piece.memoryMib,
      class: piece.use,
      contractID: piece.contractId,
      terms: piece.termsNumber,
    }),
  )
  printJson(context, {
    revision: month.revision,
    status: month.status,
    segments,
    terms: terms.map(({ contractId: contractID, ...each }) => ({ contractID, ...each })),
    pieces: shown,
    milliCPUSeconds: milliCpuSeconds.toString(),
    mebibyteSeconds: mebibyteSeconds.toString(),
    cpu,
    memory,
    hasChanged: await hasChanged(),
  })
}

/** Lists the intervals behind one figure of the newest revision of a month, and adds them up. */
export const usageExplain = (context: PartContext, options: UsageExplainOptions): Promise<ExitCode> =>
  onMonth(context, options, async ({ container }, place) => {
    const figure = explainedFigure(context, options)
    if (figure === undefined) return 2
    const explain = makeExplain({
      months: container.resolve(MonthStorePort),
      inputs: container.resolve(UsageInputsPort),
      views: container.resolve(UsageViewStorePort),
    })
    const explained = await explain({ ...place, ...figure })
    if (isLeft(explained)) {
      context.say(explained.left.message)
      return 1
    }
    const terms = await termsOfSegments(container.resolve(ContractStorePort), explained.right.segments)
    await (options.json === true ? printExplanationJson : printExplanation)(context, explained.right, terms)
    return 0
  })
