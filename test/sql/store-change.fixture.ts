import type fc from 'fast-check'
import type { Columns, Table } from '../../adapters/sql/kit/columns.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { emptyProfile } from '../../core/organizations/types.ts'
import { unwrap } from '../support/outcome.ts'

export const at = new Date('2026-05-01T08:00:00.123Z')

export type Fields = Readonly<Record<string, unknown>>

/** A store's change of what it keeps: every declared field of `columns` is written, and read back by the store. */
export interface StoreChange {
  /** The tables whose columns they are. */
  readonly tables: readonly Table[]
  readonly columns: Columns
  /** The values of columns that do not take every text. */
  readonly chosen?: Readonly<Record<string, fc.Arbitrary<unknown>>>
  /** Makes the object that is changed. */
  readonly prepare: (db: SqlDatabase) => Promise<(fields: Fields) => Promise<object | undefined>>
}

export const person = async (db: SqlDatabase): Promise<UserId> => {
  const fresh = { login: 'ann', fullName: '', passwordPhc: '!', mustChangePassword: false, isAdmin: false }
  const user = { ...fresh, isActive: true, restricted: false, visibility: 'public', createdAt: at } as const
  return unwrap(await makeSqlUserStore(db)(db).insert(user)) as UserId
}

export const organization = async (db: SqlDatabase) => {
  const store = makeSqlOrganizationStore(db, async () => [])(db)
  const id = unwrap(await store.insert({ ...emptyProfile, name: 'acme', orgType: 0, createdAt: at }))
  return { store, id }
}
