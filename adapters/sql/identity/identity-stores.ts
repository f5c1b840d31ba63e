import type { IdentityStores } from '../../../core/identity/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { makeSqlAccessTokenStore } from './access-token-store.ts'
import { makeSqlAccountHoldings } from './account-holdings.ts'
import { makeSqlEmailStore } from './email-store.ts'
import { makeSqlFollowStore } from './follow-store.ts'
import { makeSqlSessionStore } from './session-store.ts'
import { makeSqlUserStore } from './user-store.ts'

/** All of identity's stores: composes their statements once, binds them to a runner each time. */
export const makeSqlIdentityStores = (db: SqlDatabase): ((runner: SqlRunner) => IdentityStores) => {
  const users = makeSqlUserStore(db)
  const emails = makeSqlEmailStore(db)
  const follows = makeSqlFollowStore(db)
  const tokens = makeSqlAccessTokenStore(db)
  const sessions = makeSqlSessionStore(db)
  const holdings = makeSqlAccountHoldings(db)
  return (runner) => ({
    users: users(runner),
    emails: emails(runner),
    follows: follows(runner),
    tokens: tokens(runner),
    sessions: sessions(runner),
    holdings: holdings(runner),
  })
}
