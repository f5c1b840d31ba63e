import type { ConsumptionStore } from '../../../core/usage/months/ports.ts'
import { withOwner } from '../contracts/contract-store.ts'
import type { ContractRow } from '../contracts/rows.ts'
import { contractOf } from '../contracts/rows.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface UsedRow {
  readonly milli_cpu_seconds: string
  readonly mebibyte_seconds: string
}

const compose = (db: SqlDatabase) => ({
  // The quota is JSON, in which no statement searches: the contracts in force are few, and their terms are read as a whole.
  inForce: db.prepare((k, p: Params<'from' | 'to'>) => withOwner(k('contracts as c')).where('c.starts_at', '<', p('to')).where('c.ends_at', '>', p('from')).orderBy(['c.owner_id', 'c.id'])),
  find: db.prepare((k, p: Params<'contractId' | 'month'>) =>
    k('usage_contract_months').where({ contract_id: p('contractId'), month: p('month') }).select('milli_cpu_seconds', 'mebibyte_seconds'),
  ),
  set: db.prepare((k, p: Params<'contractId' | 'month' | 'cpu' | 'memory' | 'at'>) =>
    k('usage_contract_months').insert({ contract_id: p('contractId'), month: p('month'), milli_cpu_seconds: p('cpu'), mebibyte_seconds: p('memory'), computed_at: p('at') })
      .onConflict(['contract_id', 'month']).merge(['milli_cpu_seconds', 'mebibyte_seconds', 'computed_at']),
  ),
  alert: db.prepare((k, p: Params<'contractId' | 'month' | 'threshold' | 'at'>) =>
    k('usage_alerts').insert({ contract_id: p('contractId'), month: p('month'), threshold: p('threshold'), sent_at: p('at') }).onConflict(['contract_id', 'month', 'threshold']).ignore(),
  ),
})

/** ConsumptionStore over usage_contract_months and usage_alerts. Statements are composed once, then bound to a runner. */
export const makeSqlConsumptionStore = (db: SqlDatabase): ((runner: SqlRunner) => ConsumptionStore) => {
  const s = compose(db)
  return (runner) => ({
    async listWithQuota(from, to) {
      const rows = await runner.all<ContractRow>(s.inForce, { from: from.getTime(), to: to.getTime() })
      return rows.map(contractOf).filter(({ quota }) => quota.enabled)
    },
    async find(contractId, month) {
      const row = await runner.first<UsedRow>(s.find, { contractId, month })
      return row === undefined ? undefined : { milliCpuSeconds: BigInt(row.milli_cpu_seconds), mebibyteSeconds: BigInt(row.mebibyte_seconds) }
    },
    async set(contractId, month, { milliCpuSeconds, mebibyteSeconds }, at) {
      await runner.run(s.set, { contractId, month, cpu: milliCpuSeconds.toString(), memory: mebibyteSeconds.toString(), at: at.getTime() })
    },
    async markAlerted(contractId, month, threshold, at) {
      return (await runner.run(s.alert, { contractId, month, threshold, at: at.getTime() })).affected === 1
    },
  })
}
