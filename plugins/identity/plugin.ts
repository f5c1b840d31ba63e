import { definePlugin } from '../kit/plugin.ts'
import { adminRoutes } from './admin.handlers.ts'
import { identityNeeds } from './needs.ts'
import { sessionRoutes } from './session.handlers.ts'
import { tokenRoutes } from './token.handlers.ts'
import { userRoutes } from './user.handlers.ts'

/** Who people are: users, their addresses, credentials and sessions. */
export const identityPlugin = definePlugin({
  id: 'identity',
  summary: 'Users, access tokens, sessions, e-mail addresses and follow relations',
  listener: 'api',
  gate: 'always',
  needs: identityNeeds,
  routes: (given) => [...userRoutes(given), ...sessionRoutes(given), ...tokenRoutes(given), ...adminRoutes(given)],
})
