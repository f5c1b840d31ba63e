import { definePlugin } from '../kit/plugin.ts'
import { accountEmailRoutes, emailRoutes } from './emails/emails.handlers.ts'
import { adminRoutes, adminAccountRoutes, unlockRoutes } from './accounts/admin.handlers.ts'
import { avatarRoutes, userRoutes } from './accounts/users.handlers.ts'
import { consoleRoutes } from './accounts/console.handlers.ts'
import { customTokenRoutes, settingsTokenRoutes, tokenRoutes } from './tokens/tokens.handlers.ts'
import { followRoutes } from './accounts/follows.handlers.ts'
import { linkCodeRoutes, signInRoutes } from './authentication/sign-in.handlers.ts'
import { identityNeeds } from './needs.ts'
import { identityObjectTypes } from './relations.ts'
import { pageSizeRoutes, settingsRoutes } from './accounts/settings.handlers.ts'
import { purgeAccounts, removeWhatExpired, warnOfExpiringTokens } from './housekeeping.job.ts'
import { secondFactorRoutes } from './second-factor/second-factor.handlers.ts'
import { sessionRoutes } from './sessions/sessions.handlers.ts'
import { siteRulesRoutes, validateRoutes } from './accounts/registration.handlers.ts'

/** Users, their addresses, credentials and sessions. */
export const identityPlugin = definePlugin({
  id: 'identity',
  summary: 'Users, access tokens, sessions, e-mail addresses and follow relations',
  listener: 'api',
  gate: 'always',
  needs: identityNeeds,
  objectTypes: identityObjectTypes,
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
