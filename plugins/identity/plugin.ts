import { definePlugin } from '../kit/plugin.ts'
import { adminRoutes } from './admin.handlers.ts'
import { emailRoutes } from './email.handlers.ts'
import { followRoutes } from './follow.handlers.ts'
import { identityNeeds } from './needs.ts'
import { sessionRoutes } from './session.handlers.ts'
import { settingsRoutes } from './settings.handlers.ts'
import { settingsTokenRoutes } from './settings-token.handlers.ts'
import { tokenRoutes } from './token.handlers.ts'
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
    ...sessionRoutes(given),
    ...tokenRoutes(given),
    ...settingsTokenRoutes(given),
    ...settingsRoutes(given),
    ...emailRoutes(given),
    ...followRoutes(given),
    ...validateRoutes(given),
    ...adminRoutes(given),
  ],
})
