import type { ContractId } from '../../contracts/types.ts'
import { parseInstant } from '../../kernel/clock.ts'
import { decimalOf, perCoreMonth, perGibMonth, thousandthsOf } from '../amounts.ts'
import { monthBounds, monthOf, monthStart, secondOf } from '../month.ts'
import type { BilledProductUse, BilledUse } from '../overview-ports.ts'
import type { ContractItem, ShownPair } from '../reports/view-items.ts'
import { itemsOf } from '../reports/view-items.ts'
import type { BilledContract, MonthKey, UsageMonth, UsageProduct } from '../types.ts'
import { usageProducts } from '../types.ts'
import type { UsageViewStore } from '../views/ports.ts'
import { readWindow } from './cluster-time.ts'
import { eachRunningPiece } from './consumption.ts'
import { covers, inForceOf } from './coverage.ts'
import type { UsageInputs } from './ports.ts'
import type { Span } from './presence.ts'
import { clipped } from './presence.ts'

interface Sum {
  cpu: bigint
  memory: bigint
}

const pairOf = ({ cpu, memory }: Sum, month: MonthKey): BilledProductUse['prod'] => ({
  cpu: decimalOf(thousandthsOf(cpu, perCoreMonth(month))),
  memory: decimalOf(thousandthsOf(memory, perGibMonth(month))),
})

const secondsIn = (spans: readonly Span[], window: Span): number =>
  clipped(spans, window).reduce((sum, { from, to }) => sum + (to - from), 0)

/** Returns the seconds in which a contract covers a product in a window. */
const coveredSeconds = (contract: BilledContract, product: UsageProduct, window: Span): number =>
  secondsIn(
    contract.timeline.filter((version) => covers(version, product)).map((version) => inForceOf(contract, version)),
    window,
  )

const running =
  (inputs: UsageInputs): BilledUse['running'] =>
  async (ownerId, now, signal, mostObjects = Number.POSITIVE_INFINITY) => {
    const month = monthOf(secondOf(now))
    const window = { from: monthStart(month), to: secondOf(now) }
    const facts = await inputs.factsOf(ownerId, readWindow(month))
    const sums = new Map<string, { readonly prod: Sum; readonly nonProd: Sum }>()
    const sumOf = (contractId: number, product: UsageProduct) => {
      const key = `${contractId} ${product}`
      const known = sums.get(key) ?? { prod: { cpu: 0n, memory: 0n }, nonProd: { cpu: 0n, memory: 0n } }
      sums.set(key, known)
      return known
    }
    const reading = { facts, isWanted: (contractId: number) => contractId !== 0, month, now, signal }
    const isWhole = await eachRunningPiece(inputs, reading, mostObjects, (product, piece) => {
      const sum = sumOf(piece.contractId, product)[piece.use === 'prod' ? 'prod' : 'nonProd']
      sum.cpu += BigInt(piece.milliCpu * (piece.to - piece.from))
      sum.memory += BigInt(piece.memoryMib * (piece.to - piece.from))
    })
    if (!isWhole) return undefined
    return facts.contracts.flatMap((contract) =>
      usageProducts.flatMap((product): readonly BilledProductUse[] => {
        const seconds = coveredSeconds(contract, product, window)
        if (seconds === 0) return []
        const { prod, nonProd } = sumOf(contract.id, product)
        const use = { prod: pairOf(prod, month), nonProd: pairOf(nonProd, month) }
        return [{ contractId: contract.id, contractName: contract.name, product, seconds, ...use }]
      }),
    )
  }

const spanOf = (from: string | null, to: string | null): readonly Span[] => {
  const [start, end] = [parseInstant(from ?? ''), parseInstant(to ?? '')]
  return start === undefined || end === undefined ? [] : [{ from: secondOf(start), to: secondOf(end) }]
}

/** Figures of views have three decimals, which the text of a number has exactly. */
const textOf = ({ cpu, memory }: ShownPair): BilledProductUse['prod'] => ({ cpu: String(cpu), memory: String(memory) })

const useOf = (item: ContractItem, product: UsageProduct, window: Span): BilledProductUse => ({
  contractId: item.contractID as ContractId,
  contractName: item.name,
  product,
  seconds: secondsIn(item.terms?.flatMap(({ from, to }) => spanOf(from, to)) ?? spanOf(item.start, item.end), window),
  prod: textOf(item.prod),
  nonProd: textOf(item.nonProd),
})

const closed =
  (views: Pick<UsageViewStore, 'find' | 'pieces'>): BilledUse['closed'] =>
  async (ownerId, month) => {
    const window = monthBounds(month)
    const uses: BilledProductUse[] = []
    let of: UsageMonth | undefined
    for (const product of usageProducts) {
      const key = { product, view: 'contracts-usage-view', viewType: 'billable' } as const
      const view = await views.find(ownerId, month, key, of?.revision)
      if (view === undefined) continue
      of = view.month
      for await (const items of itemsOf<ContractItem>(views, view))
        for (const item of items) if (item.contractID !== 0) uses.push(useOf(item, product, window))
    }
    return of === undefined ? undefined : { month: of, uses }
  }

/** Reads what is billed of closed months from their views, and computes the running one. */
export const makeBilledUse = ({
  inputs,
  views,
}: {
  readonly inputs: UsageInputs
  readonly views: Pick<UsageViewStore, 'find' | 'pieces'>
}): BilledUse => ({ closed: closed(views), running: running(inputs) })
