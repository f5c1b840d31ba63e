import { definePlugin } from '../kit/plugin.ts'
import { versionRoutes } from './version.handlers.ts'

/** What the service says about itself. */
export const platformPlugin = definePlugin({
  id: 'platform',
  summary: 'Version and limits of the interface',
  listener: 'api',
  gate: 'always',
  needs: {},
  routes: versionRoutes,
})
