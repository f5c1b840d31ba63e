import { definePlugin } from '../kit/plugin.ts'

/** The console has no route of its own: it calls those of the other plugins. */
export const consolePlugin = definePlugin({
  id: 'console',
  summary: 'The web console: pages in which people use the API',
  listener: 'api',
  gate: 'always',
  groups: [],
})
