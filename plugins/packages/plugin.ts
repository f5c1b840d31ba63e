import { definePlugin } from '../kit/plugin.ts'
import { driverHandlers } from './driver.handlers.ts'
import { editorHandlers, editorTaskKinds } from './editor.handlers.ts'
import { packagesNeeds } from './needs.ts'
import { optionsHandlers } from './options.handlers.ts'
import { releaseReadHandlers } from './release-reads.handlers.ts'
import { releaseTaskHandlers, releaseTaskKinds } from './release-tasks.handlers.ts'
import { viewHandlers } from './views.handlers.ts'

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
