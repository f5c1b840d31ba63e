import type { ContractEvents } from '../../../core/contracts/ports.ts'
import type { ContractEventName, ContractId } from '../../../core/contracts/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface EventRow {
  readonly id: number
  readonly contract_id: number
  readonly event: string
  readonly added_by: string
  readonly created_at: number
}

/** ContractEvents over the table contract_events. */
export const makeSqlContractEvents = (db: SqlDatabase): ((runner: SqlRunner) => ContractEvents) => {
  const list = pageQuery(
    db,
    (k, p: Params<'contractId'>) => k('contract_events').where('contract_id', p('contractId')),
    (_, rows, cut) => cut(rows.select('id', 'contract_id', 'event', 'added_by', 'created_at').orderBy('id')),
  )
  const insert = db.prepare((k, p: Params<'contractId' | 'event' | 'addedBy' | 'at'>) =>
    k('contract_events').insert({ contract_id: p('contractId'), event: p('event'), added_by: p('addedBy'), created_at: p('at') }),
  )
  return (runner) => ({
    async record(contractId, event, addedBy, at) {
      await runner.run(insert, { contractId, event, addedBy: addedBy.slice(0, 254), at: at.getTime() })
    },
    async listOf(contractId, page) {
      return mapPage(await list<EventRow>(runner, { contractId }, page), (row) => ({
        id: row.id,
        contractId: row.contract_id as ContractId,
        addedBy: row.added_by,
        event: row.event as ContractEventName,
        createdAt: new Date(row.created_at),
      }))
    },
  })
}
