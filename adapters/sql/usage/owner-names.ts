import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Params, SqlDatabase } from '../kit/statement.ts'

/** Returns the function that returns the name of an account with its full name, if it has one: `Example, Inc. (example)`. */
export const makeSqlOwnerNames = (db: SqlDatabase): ((ownerId: AccountId) => Promise<string | undefined>) => {
  const find = db.prepare((k, p: Params<'id'>) =>
    k('accounts as a')
      .leftJoin('organizations as o', 'o.id', 'a.id')
      .leftJoin('users as u', 'u.id', 'a.id')
      .where('a.id', p('id'))
      .limit(1)
      .select('a.name', 'o.full_name as org_name', 'u.full_name as user_name'),
  )
  return async (ownerId) => {
    const row = await db.first<{ readonly name: string; readonly org_name: string | null; readonly user_name: string | null }>(find, { id: ownerId })
    if (row === undefined) return undefined
    const fullName = (row.org_name ?? row.user_name ?? '').trim()
    return fullName === '' || fullName === row.name ? row.name : `${fullName} (${row.name})`
  }
}
