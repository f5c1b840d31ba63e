import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { AccountLifeStore } from '../../../core/identity/account-life-ports.ts'
import type { CountRow } from '../counted-page.ts'
import { countOf, pageOf } from '../counted-page.ts'
import type { Bind, SqlDatabase, SqlRunner, Statement } from '../statement.ts'
import { optionalInstant } from './rows.ts'
import { makeSearchTerms } from './search-terms.ts'

type P<N extends string> = (name: N) => Knex.Value & number

const bumped = (k: Knex): Knex.Raw => k.raw('version + 1')

const statements = (db: SqlDatabase) => ({
  markUnconfirmed: db.prepare((k, p: P<'id' | 'at'>) =>
    k('users').where('id', p('id')).update({ is_active: false, unconfirmed_since: p('at'), version: bumped(k) }),
  ),
  confirm: db.prepare((k, p: P<'id'>) =>
    k('users').where('id', p('id')).whereNotNull('unconfirmed_since').update({ is_active: true, unconfirmed_since: null, version: bumped(k) }),
  ),
  unconfirmedBefore: db.prepare((k, p: P<'at' | 'after' | 'limit'>) =>
    k('users').where('unconfirmed_since', '<', p('at')).where('id', '>', p('after')).orderBy('id').limit(p('limit')).select('id'),
  ),
  lockState: db.prepare((k, p: P<'id'>) => k('users').where('id', p('id')).select('deactivated_at', 'unconfirmed_since').forUpdate()),
  deactivate: db.prepare((k, p: P<'id' | 'by' | 'at'>) =>
    k('users')
      .where('id', p('id'))
      .whereNull('deactivated_at')
      .update({ is_active: false, unconfirmed_since: null, deactivated_at: p('at'), deactivated_by: p('by'), version: bumped(k) }),
  ),
  deactivatedAt: db.prepare((k, p: P<'id'>) => k('users').where('id', p('id')).select('deactivated_at')),
  reactivate: db.prepare((k, p: P<'id'>) =>
    k('users')
      .where('id', p('id'))
      .whereNotNull('deactivated_at')
      .update({ is_active: true, deactivated_at: null, deactivated_by: null, version: bumped(k) }),
  ),
  deactivated: db.prepare((k, p: P<'limit' | 'offset'>) =>
    k('users as u')
      .join('accounts as a', 'a.id', 'u.id')
      .leftJoin('accounts as b', 'b.id', 'u.deactivated_by')
      .leftJoin('emails as e', (join) => join.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')))
      .whereNotNull('u.deactivated_at')
      .orderBy('a.lower_name')
      .limit(p('limit'))
      .offset(p('offset'))
      .select('u.id', 'a.name as login', 'u.full_name', 'e.email', 'u.deactivated_at', 'b.name as by_login'),
  ),
  countDeactivated: db.prepare((k) => countOf(k, k('users').whereNotNull('deactivated_at').select('id'))),
  deactivatedBefore: db.prepare((k, p: P<'at' | 'after' | 'limit'>) =>
    k('users').where('deactivated_at', '<', p('at')).where('id', '>', p('after')).orderBy('id').limit(p('limit')).select('id'),
  ),
})

interface IdRow {
  readonly id: number | string
}
interface StateRow {
  readonly deactivated_at: number | string | null
  readonly unconfirmed_since: number | string | null
}
interface DeactivatedRow extends IdRow {
  readonly login: string
  readonly full_name: string
  readonly email: string | null
  readonly deactivated_at: number | string
  readonly by_login: string | null
}

const idsOf = (rows: readonly IdRow[]): readonly UserId[] => rows.map((row) => Number(row.id) as UserId)

/** The beginning and end of accounts on SQL: columns of the users' own rows, so that they go with them. */
export const makeSqlAccountLifeStore = (db: SqlDatabase): ((runner: SqlRunner) => AccountLifeStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => {
    /** Runs a change of who sees the user; true when there was one. */
    const shown = async (id: UserId, statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<boolean> => {
      if ((await runner.run(statement, { id, ...binds })).affected === 0) return false
      await bindTerms(runner).showUser(id)
      return true
    }
    return {
      async markUnconfirmed(id, since) {
        await shown(id, s.markUnconfirmed, { at: since.getTime() })
      },
      confirm: (id) => shown(id, s.confirm, {}),
      async unconfirmedBefore(at, after, limit) {
        return idsOf(await runner.all<IdRow>(s.unconfirmedBefore, { at: at.getTime(), after, limit }))
      },
      async lockState(id) {
        const row = await runner.first<StateRow>(s.lockState, { id })
        if (row === undefined) return undefined
        return row.deactivated_at !== null ? 'deactivated' : row.unconfirmed_since !== null ? 'unconfirmed' : undefined
      },
      deactivate: (id, by, at) => shown(id, s.deactivate, { by, at: at.getTime() }),
      async deactivatedAt(id) {
        const row = await runner.first<{ deactivated_at: number | string | null }>(s.deactivatedAt, { id })
        return row === undefined ? undefined : optionalInstant(row.deactivated_at)
      },
      reactivate: (id) => shown(id, s.reactivate, {}),
      async deactivated(page) {
        const rows = await runner.all<DeactivatedRow>(s.deactivated, { limit: page.limit, offset: pageOffset(page) })
        const items = rows.map((row) => ({
          userId: Number(row.id) as UserId,
          login: row.login,
          fullName: row.full_name,
          primaryEmail: row.email ?? '',
          deactivatedAt: new Date(Number(row.deactivated_at)),
          deactivatedBy: row.by_login ?? undefined,
        }))
        return pageOf(items, await runner.first<CountRow>(s.countDeactivated, {}))
      },
      async deactivatedBefore(at, after, limit) {
        return idsOf(await runner.all<IdRow>(s.deactivatedBefore, { at: at.getTime(), after, limit }))
      },
    }
  }
}
