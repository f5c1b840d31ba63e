import { definePlugin } from '../kit/plugin.ts'
import { driverHandlers, releaseReadHandlers, releaseTaskHandlers, releaseTaskKinds } from './releases/releases.handlers.ts'
import { editorHandlers, editorTaskKinds, optionsHandlers } from './editors/editors.handlers.ts'
import { packagesNeeds } from './needs.ts'
import { viewHandlers } from './views/views.handlers.ts'

export const packagesPlugin = definePlugin({
  id: 'packages',
  summary: 'Helm releases and charts on member clusters',
  listener: 'api',
  gate: 'always',
  needs: packagesNeeds,
  routes: (given) => [
    ...driverHandlers(given),
    ...releaseReadHandlers(given),
    ...releaseTaskHandlers(given),
    ...viewHandlers(given),
    ...optionsHandlers(given),
    ...editorHandlers(given),
  ],
  tasks: (given) => [...releaseTaskKinds(given), ...editorTaskKinds(given)],
})
