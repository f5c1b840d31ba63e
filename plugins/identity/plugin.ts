import { definePlugin } from '../kit/plugin.ts'
import { accountEmailRoutes } from './account-email.handlers.ts'
import { adminRoutes } from './admin.handlers.ts'
import { adminAccountRoutes } from './admin-account.handlers.ts'
import { avatarRoutes } from './avatar.handlers.ts'
import { consoleRoutes } from './console.handlers.ts'
import { customTokenRoutes } from './custom-token.handlers.ts'
import { emailRoutes } from './email.handlers.ts'
import { followRoutes } from './follow.handlers.ts'
import { linkCodeRoutes } from './link-code.handlers.ts'
import { identityNeeds } from './needs.ts'
import { pageSizeRoutes } from './page-size.handlers.ts'
import { purgeAccounts } from './purge-accounts.job.ts'
import { secondFactorRoutes } from './second-factor.handlers.ts'
import { sessionRoutes } from './session.handlers.ts'
import { signInRoutes } from './sign-in.handlers.ts'
import { settingsRoutes } from './settings.handlers.ts'
import { settingsTokenRoutes } from './settings-token.handlers.ts'
import { siteRulesRoutes } from './site-rules.handlers.ts'
import { removeWhatExpired, warnOfExpiringTokens } from './token-expiry.job.ts'
import { tokenRoutes } from './token.handlers.ts'
import { unlockRoutes } from './unlock.handlers.ts'
import { userRoutes } from './user.handlers.ts'
import { validateRoutes } from './validate.handlers.ts'

/** Who people are: users, their addresses, credentials and sessions. */
export const identityPlugin = definePlugin({
  id: 'identity',
  summary: 'Users, access tokens, sessions, e-mail addresses and follow relations',
  listener: 'api',
  gate: 'always',
  needs: identityNeeds,
  routes: (given) => [
    ...userRoutes(given),
    ...signInRoutes(given),
    ...sessionRoutes(given),
    ...secondFactorRoutes(given),
    ...tokenRoutes(given),
    ...settingsTokenRoutes(given),
    ...settingsRoutes(given),
    ...pageSizeRoutes(given),
    ...avatarRoutes(given),
    ...emailRoutes(given),
    ...accountEmailRoutes(given),
    ...linkCodeRoutes(given),
    ...followRoutes(given),
    ...validateRoutes(given),
    ...adminRoutes(given),
    ...unlockRoutes(given),
    ...adminAccountRoutes(given),
    ...consoleRoutes(given),
    ...customTokenRoutes(given),
    ...siteRulesRoutes(given),
  ],
  jobs: (given) => [purgeAccounts(given), warnOfExpiringTokens(given), removeWhatExpired(given)],
})
