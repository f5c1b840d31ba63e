import type { DocumentRemovals } from '../../../core/contracts/document-ports.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

/** DocumentRemovals over the table contract_document_removals. */
export const makeSqlDocumentRemovals = (db: SqlDatabase): ((runner: SqlRunner) => DocumentRemovals) => {
  const insert = insertRows(db, 'contract_document_removals', (p: Params<'ref' | 'dueAt'>) => ({ ref: p('ref'), due_at: p('dueAt') }))
  const cancel = db.prepare((k, p: Params<'ref' | 'now'>) => k('contract_document_removals').where('ref', p('ref')).where('due_at', '>', p('now')).delete())
  const due = db.prepare((k, p: Params<'now' | 'after' | 'limit'>) =>
    k('contract_document_removals').select('ref').where('due_at', '<=', p('now')).where('ref', '>', p('after')).orderBy('ref').limit(p('limit')),
  )
  const forget = db.prepare((k, p: Params<'ref'>) => k('contract_document_removals').where('ref', p('ref')).delete())
  return (runner) => ({
    plan: (refs, dueAt) => insert(runner, refs.map((ref) => ({ ref, dueAt: dueAt.getTime() }))),
    async cancel(ref, now) {
      return (await runner.run(cancel, { ref, now: now.getTime() })).affected > 0
    },
    async listDue(now, after, limit) {
      return (await runner.all<{ readonly ref: string }>(due, { now: now.getTime(), after, limit })).map(({ ref }) => ref)
    },
    async forget(ref) {
      await runner.run(forget, { ref })
    },
  })
}
