import { perCoreMonth, perGibMonth } from '../months/amounts.ts'
import type { ObjectUsage, ProductMonth } from '../months/usage-types.ts'
import { instantText, lifeText, objectText, quotaItem } from './item-texts.ts'
import { billableText, numberText, totalText } from './measures.ts'
import type { RowsGiven, RowsOfMonth } from './rows-of-month.ts'
import type { Shown } from './shares.ts'
import { divideTotal, makeRunningShares } from './shares.ts'
import { startView } from './view-writer.ts'

/** The views with an item for each object: its use, what it occupied, and its use by mode of its cluster. */
export const makeObjectRows = async ({ views, monthId, month: { product, month, days }, rounding }: RowsGiven): Promise<RowsOfMonth> => {
  const start = (view: 'objects-usage-view' | 'object-quota-history-summaries-view' | 'objects-cluster-mode-usage-view', viewType: 'total' | 'billable') =>
    startView(views, monthId, month, { product, view, viewType })
  const total = await start('objects-usage-view', 'total')
  const billable = await start('objects-usage-view', 'billable')
  const quotas = await start('object-quota-history-summaries-view', 'total')
  const modes = await start('objects-cluster-mode-usage-view', 'total')
  const rows = rounding.rows()
  const byMode = makeModeRounding(month, {
    cpu: days.reduce((sum, { milliCpuSeconds }) => sum + milliCpuSeconds, 0n),
    memory: days.reduce((sum, { mebibyteSeconds }) => sum + mebibyteSeconds, 0n),
  }, rounding.totals)
  let objectCount = 0
  return {
    add: async (usage, amounts) => {
      objectCount += 1
      const key = `${usage.clusterUid}/${usage.object.uid}`
      const named = `{${objectText(usage)},${lifeText(usage)},`
      const shown = rows.next(amounts)
      await total.add(`${named}${totalText(shown)}}`, key)
      await billable.add(`${named}${billableText(shown)}}`, key)
      await quotas.add(quotaItem(usage), key)
      await modes.add(byMode.itemOf(usage), key)
    },
    finish: async () => {
      await total.finish(`${totalText(rounding.totals)},"objectCount":${objectCount}`)
      await billable.finish(`${billableText(rounding.totals)},"objectCount":${objectCount}`)
      await quotas.finish(`"objectCount":${objectCount}`)
      await modes.finish(`${byMode.totals()},"objectCount":${objectCount}`)
    },
  }
}

/** Rounds what objects used while their clusters were in each mode. Modes are no classes: a trial is in a mode too. */
const makeModeRounding = (month: ProductMonth['month'], exact: { readonly cpu: bigint; readonly memory: bigint }, totals: readonly Shown[]) => {
  const totalOf = (measure: number): Shown => totals.reduce((sum, shown, slot) => (slot % 2 === measure ? sum + shown : sum), 0)
  const units = { cpu: perCoreMonth(month), memory: perGibMonth(month) }
  const running = { cpu: makeRunningShares(exact.cpu, totalOf(0), units.cpu), memory: makeRunningShares(exact.memory, totalOf(1), units.memory) }
  const seen = { cpu: 0, memory: 0 }
  const divided = (measure: 'cpu' | 'memory', amounts: readonly bigint[]): { readonly row: Shown; readonly parts: readonly Shown[] } => {
    const row = running[measure].next(amounts.reduce((sum, amount) => sum + amount, 0n))
    seen[measure] += row
    return { row, parts: divideTotal(row, amounts, units[measure]) }
  }
  return {
    itemOf: (usage: ObjectUsage): string => {
      const cpu = divided('cpu', usage.modes.map(({ milliCpuSeconds }) => milliCpuSeconds))
      const memory = divided('memory', usage.modes.map(({ mebibyteSeconds }) => mebibyteSeconds))
      const segments = usage.modes.map(
        ({ from, to, mode }, index) => `{"from":${instantText(from)},"to":${instantText(to)},"mode":"${mode}","cpu":${numberText(cpu.parts[index] ?? 0)},"memory":${numberText(memory.parts[index] ?? 0)}}`,
      )
      return `{${objectText(usage)},"cpu":${numberText(cpu.row)},"memory":${numberText(memory.row)},"segments":[${segments.join(',')}]}`
    },
    totals: (): string => `"cpu":${numberText(seen.cpu)},"memory":${numberText(seen.memory)}`,
  }
}
