import type { Knex } from 'knex'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { OrganizationTokenStore } from '../../../core/organizations/ports.ts'
import type { CountRow } from '../counted-page.ts'
import { countOf, pageOf } from '../counted-page.ts'
import type { TokenRow } from '../identity/rows.ts'
import { tokenColumns, tokenOf } from '../identity/rows.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

type P<N extends string> = (name: N) => Knex.Value & number

const confined = (k: Knex, p: P<'orgId'>): Knex.QueryBuilder => k('access_tokens').where('only_org_id', p('orgId'))

/** Tokens confined to one organization, on SQL. */
export const makeSqlOrganizationTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => OrganizationTokenStore) => {
  const list = db.prepare((k, p: P<'orgId' | 'limit' | 'offset'>) =>
    confined(k, p).select(...tokenColumns).orderBy('id').limit(p('limit')).offset(p('offset')),
  )
  const count = db.prepare((k, p: P<'orgId'>) => countOf(k, confined(k, p).select('id')))
  const find = db.prepare((k, p: P<'orgId' | 'id'>) => confined(k, p).where('id', p('id')).select(...tokenColumns))
  const remove = db.prepare((k, p: P<'orgId' | 'id'>) => confined(k, p).where('id', p('id')).delete())
  return (runner) => ({
    async list(orgId, page) {
      const rows = await runner.all<TokenRow>(list, { orgId, limit: page.limit, offset: pageOffset(page) })
      return pageOf(rows.map(tokenOf), await runner.first<CountRow>(count, { orgId }))
    },
    async find(orgId, id) {
      const row = await runner.first<TokenRow>(find, { orgId, id })
      return row === undefined ? undefined : tokenOf(row)
    },
    async remove(orgId, id) {
      return (await runner.run(remove, { orgId, id })).affected > 0
    },
  })
}
