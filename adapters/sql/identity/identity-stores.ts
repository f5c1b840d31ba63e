import type { IdentityStores, ProvenStores } from '../../../core/identity/ports.ts'
import type { HeldObjects } from '../kit/object-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { makeSqlAccessTokenStore, makeSqlTokenExpiryStore } from './token-store.ts'
import { makeSqlAccountHoldings, makeSqlAccountLifeStore } from './account-store.ts'
import { makeSqlAvatarStore, makeSqlFollowStore } from './profile-store.ts'
import { makeSqlEmailStore, makeSqlLinkCodeStore } from './email-store.ts'
import { makeSqlPageSizeStore, makeSqlSiteRulesStore } from './settings-store.ts'
import { makeSqlRememberedLoginStore, makeSqlSessionStore } from './session-store.ts'
import { makeSqlPasskeyStore } from './passkey-store.ts'
import { makeSqlSearchTermStore } from './user-search.ts'
import { makeSqlSecondFactorStore } from './second-factor-store.ts'
import type { FreshUser } from './user-store.ts'
import { makeSqlUserStore } from './user-store.ts'

/** Returns the stores that hold what authenticates a caller. */
export const makeSqlProvenStores = (db: SqlDatabase): ((runner: SqlRunner) => ProvenStores) => {
  const [users, tokens, sessions, secondFactors] = [
    makeSqlUserStore(db),
    makeSqlAccessTokenStore(db),
    makeSqlSessionStore(db),
    makeSqlSecondFactorStore(db),
  ]
  return (runner) => ({
    users: users(runner),
    tokens: tokens(runner),
    sessions: sessions(runner),
    secondFactors: secondFactors(runner),
  })
}

/** All stores of identity. Their statements are composed once, then bound to a runner. */
export const makeSqlIdentityStores = (
  db: SqlDatabase,
  held: HeldObjects,
  fresh?: FreshUser,
): ((runner: SqlRunner) => IdentityStores) => {
  const users = makeSqlUserStore(db, fresh)
  const emails = makeSqlEmailStore(db)
  const avatars = makeSqlAvatarStore(db)
  const follows = makeSqlFollowStore(db)
  const tokens = makeSqlAccessTokenStore(db)
  const sessions = makeSqlSessionStore(db)
  const rememberedLogins = makeSqlRememberedLoginStore(db)
  const holdings = makeSqlAccountHoldings(db, held)
  const secondFactors = makeSqlSecondFactorStore(db)
  const passkeys = makeSqlPasskeyStore(db)
  const siteRules = makeSqlSiteRulesStore(db)
  const accountLife = makeSqlAccountLifeStore(db)
  const searchTerms = makeSqlSearchTermStore(db)
  const linkCodes = makeSqlLinkCodeStore(db)
  const tokenExpiry = makeSqlTokenExpiryStore(db)
  const pageSizes = makeSqlPageSizeStore(db)
  return (runner) => ({
    users: users(runner),
    emails: emails(runner),
    avatars: avatars(runner),
    follows: follows(runner),
    tokens: tokens(runner),
    sessions: sessions(runner),
    rememberedLogins: rememberedLogins(runner),
    holdings: holdings(runner),
    linkCodes: linkCodes(runner),
    tokenExpiry: tokenExpiry(runner),
    secondFactors: secondFactors(runner),
    passkeys: passkeys(runner),
    siteRules: siteRules(runner),
    accountLife: accountLife(runner),
    searchTerms: searchTerms(runner),
    pageSizes: pageSizes(runner),
  })
}
