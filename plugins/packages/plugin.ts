import { definePlugin } from '../kit/plugin.ts'
import { editorGroup, editorPreviewGroup } from './editors/editors.handlers.ts'
import { driverGroup, releaseReadGroup, releaseTaskGroup } from './releases/releases.handlers.ts'
import { viewGroup } from './views/views.handlers.ts'

export const packagesPlugin = definePlugin({
  id: 'packages',
  summary: 'Helm releases and charts on member clusters',
  listener: 'api',
  gate: 'always',
  groups: [driverGroup, releaseReadGroup, releaseTaskGroup, viewGroup, editorPreviewGroup, editorGroup],
})
