import { definePlugin } from '../kit/plugin.ts'
import { credentialGroup } from './credentials.handlers.ts'
import { credentialJobGroup } from './credentials.job.ts'

/** Credentials for the message bus, which carries task progress and notifications. */
export const busPlugin = definePlugin({
  id: 'bus',
  summary: 'Credentials for the message bus',
  listener: 'api',
  gate: 'always',
  groups: [credentialGroup, credentialJobGroup],
})
