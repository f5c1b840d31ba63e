import { definePlugin } from '../kit/plugin.ts'
import { bucketGroup, credentialGroup } from './clouds.handlers.ts'

export const cloudsPlugin = definePlugin({
  id: 'clouds',
  summary: 'Cloud credentials of users, and the buckets that they give access to',
  listener: 'api',
  gate: 'always',
  groups: [credentialGroup, bucketGroup],
})
