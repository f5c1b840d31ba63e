import { perCoreMonth, perGibMonth } from '../months/amounts.ts'
import type { ContractInMonth, ProductMonth } from '../months/usage-types.ts'
import { stringText } from './item-texts.ts'
import type { Amounts } from './measures.ts'
import { addUse, billedOf, noAmounts } from './measures.ts'
import type { RowsGiven, RowsOfMonth } from './rows-of-month.ts'
import { totalShown } from './shares.ts'
import { startBoth } from './view-writer.ts'

/** The views of contracts. What was used without a contract is in the item of contract 0. */
export const makeContractRows = async ({ views, monthId, month, rounding }: RowsGiven): Promise<RowsOfMonth> => {
  const used = new Map<number, { objectCount: number; readonly sum: Amounts }>()
  const rowOf = (id: number): { objectCount: number; readonly sum: Amounts } => {
    const row = used.get(id) ?? { objectCount: 0, sum: noAmounts() }
    used.set(id, row)
    return row
  }
  let objectCount = 0
  return {
    add: ({ parts }) => {
      objectCount += 1
      for (const part of parts) addUse(rowOf(part.contractId).sum, part.use, part)
      for (const id of new Set(parts.map(({ contractId }) => contractId))) rowOf(id).objectCount += 1
    },
    finish: async () => {
      const writers = await startBoth(views, monthId, month, 'contracts-usage-view')
      const contracts = new Map(month.contracts.map((contract) => [contract.id, contract]))
      const ids = [...new Set([...contracts.keys(), ...used.keys()])].sort((a, b) => a - b)
      const rows = rounding.rows()
      for (const id of ids) {
        const row = rowOf(id)
        const shown = rows.next(row.sum)
        const named = `{"contractID":${id},"name":${stringText(contracts.get(id)?.name ?? '')},"quota":${quotaText(contracts.get(id), row.sum, month.month)},"objectCount":${row.objectCount},`
        for (const { text, writer } of writers) await writer.add(`${named}${text(shown)}}`, '')
      }
      for (const { text, writer } of writers) await writer.finish(`${text(rounding.totals)},"objectCount":${objectCount}`)
    },
  }
}

/** What is billed counts against the quota; trials and use without a contract do not. */
const quotaText = (contract: ContractInMonth | undefined, sum: readonly bigint[], month: ProductMonth['month']): string => {
  if (contract?.quota === undefined) return 'null'
  const { metric, limit } = contract.quota
  const billed = metric === 'cpu_core_month' ? totalShown([billedOf(sum, 'cpu')], perCoreMonth(month)) : totalShown([billedOf(sum, 'memory')], perGibMonth(month))
  const usedPercent = limit > 0 ? Math.round((billed / limit) * 100) / 1000 : 0
  return `{"metric":"${metric}","limit":${limit},"usedPercent":${usedPercent}}`
}
