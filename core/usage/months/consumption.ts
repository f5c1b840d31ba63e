import { isRight, right } from 'fp-ts/lib/Either.js'
import type { QuotaUsage } from '../../contracts/ports.ts'
import type { Contract } from '../../contracts/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import { unixSeconds } from '../../kernel/clock.ts'
import type { Mail, MailOutbox } from '../../mail/ports.ts'
import type { Call } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { MonthKey, UnixSeconds, UsageProduct, UsedAmount } from '../types.ts'
import { decimalOf, perCoreMonth, perGibMonth, thousandthsOf } from '../amounts.ts'
import { monthEnd, monthOf, monthStart, monthText } from '../month.ts'
import type { ConsumptionStore, OwnerFacts, UsageInputs } from './ports.ts'
import { readWindow, segmentsOfCluster } from './cluster-time.ts'
import type { UsagePiece } from './roll-up.ts'
import { eachPiece } from './roll-up.ts'
import { trialsOf, withTrial } from './trials.ts'

/** The stores of an alert, in one transaction. */
export interface ConsumptionStores {
  readonly consumption: ConsumptionStore
  readonly mail: MailOutbox
}
export type ConsumptionUnitOfWork = UnitOfWork<ConsumptionStores>
export const ConsumptionUnitOfWorkPort = portKey<ConsumptionUnitOfWork>('usage.ConsumptionUnitOfWork')

interface ConsumptionDeps {
  readonly clock: Clock
  readonly consumption: ConsumptionStore
  readonly inputs: UsageInputs
  readonly unitOfWork: ConsumptionUnitOfWork
}

const currentMonth = (now: Date): MonthKey => monthOf(unixSeconds(now) as UnixSeconds)

/** Returns what was used of the quota, in thousandths of its unit. */
const usedOf = (
  { quota }: Pick<Contract, 'quota'>,
  month: MonthKey,
  { milliCpuSeconds, mebibyteSeconds }: UsedAmount,
): bigint =>
  quota.metric === 'cpu_core_month'
    ? thousandthsOf(milliCpuSeconds, perCoreMonth(month))
    : thousandthsOf(mebibyteSeconds, perGibMonth(month))

/** Reads the consumption that `makeUpdateConsumption` has stored. */
export const makeQuotaUsage = (consumption: Pick<ConsumptionStore, 'find'>): QuotaUsage => ({
  async usedThisMonth(contract, now) {
    const month = currentMonth(now)
    const used = await consumption.find(contract.id, month)
    return used === undefined ? undefined : Number(usedOf(contract, month, used)) / 1000
  },
})

interface Consumer {
  /** All of one owner. */
  readonly contracts: readonly Contract[]
  readonly month: MonthKey
  readonly now: Date
  readonly signal: AbortSignal
}

/** What was used in a month so far is read for one owner, and for some of its contracts. */
interface RunningReading extends Pick<Consumer, 'month' | 'now' | 'signal'> {
  readonly facts: OwnerFacts
  readonly isWanted: (contractId: number) => boolean
}

/**
 * Takes each piece of what the contracts of one owner have used in a month so far, in production and otherwise. Returns
 * false if the clusters of the contracts have more than `mostObjects` objects.
 */
export const eachRunningPiece = async (
  inputs: Pick<UsageInputs, 'objectsOf'>,
  { facts, isWanted, month, now, signal }: RunningReading,
  mostObjects: number,
  take: (product: UsageProduct, piece: UsagePiece) => void,
): Promise<boolean> => {
  const trials = trialsOf(facts)
  let count = 0
  for (const cluster of facts.clusters) {
    if (!cluster.bindings.some(({ contractId }) => isWanted(contractId))) continue
    const segments = segmentsOfCluster(cluster, facts.contracts, month, unixSeconds(now) as UnixSeconds)
    for await (const objects of inputs.objectsOf(cluster.id, readWindow(month))) {
      signal.throwIfAborted()
      count += objects.length
      if (count > mostObjects) return false
      for (const { object, intervals } of objects)
        eachPiece(
          intervals,
          segments.get(object.product) ?? [],
          withTrial(object, trials).trialEndsAt,
          (piece) => isWanted(piece.contractId) && isBilled(piece) && take(object.product, piece),
        )
    }
  }
  return true
}

const isBilled = ({ use }: UsagePiece): boolean => use !== 'trial' && use !== 'free'

/**
 * Returns what the contracts of one owner have used in a month so far: production and other use, which are billed.
 * Undefined if their clusters have more than `mostObjects` objects.
 */
export const consumptionOf = async (
  inputs: UsageInputs,
  { contracts, month, now, signal }: Consumer,
  mostObjects = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<number, UsedAmount> | undefined> => {
  const [first] = contracts
  const used = new Map<number, { cpu: bigint; memory: bigint }>(
    contracts.map(({ id }) => [id, { cpu: 0n, memory: 0n }]),
  )
  if (first === undefined) return new Map()
  const facts = await inputs.factsOf(first.ownerId, readWindow(month))
  const reading = { facts, isWanted: (id: number) => used.has(id), month, now, signal }
  const isWhole = await eachRunningPiece(inputs, reading, mostObjects, (_, piece) => {
    const sum = used.get(piece.contractId)
    if (sum === undefined) return
    sum.cpu += BigInt(piece.milliCpu * (piece.to - piece.from))
    sum.memory += BigInt(piece.memoryMib * (piece.to - piece.from))
  })
  if (!isWhole) return undefined
  return new Map([...used].map(([id, { cpu, memory }]) => [id, { milliCpuSeconds: cpu, mebibyteSeconds: memory }]))
}

const units = { cpu_core_month: 'core-months', memory_gib_month: 'GiB-months' } as const

const mailTo = (
  to: string,
  { name, ownerId, ownerName, quota }: Contract,
  month: MonthKey,
  threshold: number,
  used: bigint,
): Mail => ({
  to,
  subject: `The contract "${name.replace(/\p{Cc}/gu, ' ')}" has reached ${threshold}% of its quota`,
  paragraphs: [
    `In ${monthText(month)} (UTC), the contract "${name}" of ${ownerName} has used ${decimalOf(used)} of ` +
      `${quota.limit} ${units[quota.metric]}.`,
    ...(quota.disableLicenseOnLimitReached
      ? ['When the limit is reached, no license is issued for its clusters until the month ends.']
      : []),
  ],
  accountId: ownerId,
})

/**
 * Computes what contracts have used in the current month, and mails the people of a contract when a threshold of its
 * quota is reached, once for each threshold and month; of several that are reached at the same time, only about the
 * highest. The mail is posted in the transaction that records the alert, so that it is sent once, also by concurrent
 * runs. All contracts in force are computed: one pass over the intervals of the clusters of an account, whatever the
 * number of its contracts, and one transaction for each contract.
 */
export const makeUpdateConsumption =
  ({ clock, consumption, inputs, unitOfWork }: ConsumptionDeps) =>
  async (call: Call): Promise<void> => {
    const now = clock.now()
    const month = currentMonth(now)
    const contracts = await consumption.listInForce(
      new Date(monthStart(month) * 1000),
      new Date(monthEnd(month) * 1000),
      now,
    )
    for (const [, own] of Map.groupBy(contracts, ({ ownerId }) => ownerId)) {
      const used = await consumptionOf(inputs, { contracts: own, month, now, signal: call.signal })
      for (const contract of own) {
        const amount = used?.get(contract.id)
        if (amount !== undefined) await record({ unitOfWork }, call, contract, month, amount, now)
      }
    }
  }

const record = async (
  { unitOfWork }: Pick<ConsumptionDeps, 'unitOfWork'>,
  call: Call,
  contract: Contract,
  month: MonthKey,
  amount: UsedAmount,
  now: Date,
): Promise<void> => {
  const { quota, emails } = contract
  const used = usedOf(contract, month, amount)
  const isReached = (threshold: number): boolean =>
    quota.enabled && quota.limit > 0 && Number(used) >= quota.limit * 10 * threshold
  const outcome = await unitOfWork.run<never, void>(call, async (stores) => {
    await stores.consumption.set(contract.id, month, amount, now)
    const fresh: number[] = []
    for (const threshold of quota.alertThresholds.filter(isReached))
      if (await stores.consumption.markAlerted(contract.id, month, threshold, now)) fresh.push(threshold)
    // One mail about the highest of those that were reached since the last time: it says what the others would say.
    if (fresh.length === 0) return right(undefined)
    for (const to of new Set([...emails.usageAlertClient, ...emails.usageAlertAdmin]))
      await stores.mail.post(mailTo(to, contract, month, Math.max(...fresh), used))
    return right(undefined)
  })
  if (!isRight(outcome)) throw new Error('The consumption of a contract was not recorded.')
}
