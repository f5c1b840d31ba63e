import type { IdentityStores } from '../../../core/identity/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { makeSqlAccessTokenStore } from './access-token-store.ts'
import { makeSqlAccountHoldings } from './account-holdings.ts'
import { makeSqlAccountLifeStore } from './account-life-store.ts'
import { makeSqlAvatarStore } from './avatar-store.ts'
import { makeSqlEmailStore } from './email-store.ts'
import { makeSqlFollowStore } from './follow-store.ts'
import { makeSqlLinkCodeStore } from './link-code-store.ts'
import { makeSqlPageSizeStore } from './page-size-store.ts'
import { makeSqlRememberedLoginStore } from './remembered-login-store.ts'
import { makeSqlSecondFactorStore } from './second-factor-store.ts'
import { makeSqlSessionStore } from './session-store.ts'
import { makeSqlSiteRulesStore } from './site-rules-store.ts'
import { makeSqlTokenExpiryStore } from './token-expiry-store.ts'
import { makeSqlUserStore } from './user-store.ts'

/** All of identity's stores: composes their statements once, binds them to a runner each time. */
export const makeSqlIdentityStores = (db: SqlDatabase): ((runner: SqlRunner) => IdentityStores) => {
  const users = makeSqlUserStore(db)
  const emails = makeSqlEmailStore(db)
  const avatars = makeSqlAvatarStore(db)
  const follows = makeSqlFollowStore(db)
  const tokens = makeSqlAccessTokenStore(db)
  const sessions = makeSqlSessionStore(db)
  const rememberedLogins = makeSqlRememberedLoginStore(db)
  const holdings = makeSqlAccountHoldings(db)
  const secondFactors = makeSqlSecondFactorStore(db)
  const siteRules = makeSqlSiteRulesStore(db)
  const accountLife = makeSqlAccountLifeStore(db)
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
    siteRules: siteRules(runner),
    accountLife: accountLife(runner),
    pageSizes: pageSizes(runner),
  })
}
