import { definePlugin } from '../kit/plugin.ts'
import { deliverMail } from './deliver-mail.job.ts'

/** Sends mail to users. Other plugins post mail within their transactions. */
export const mailPlugin = definePlugin({
  id: 'mail',
  summary: 'Sends the mail of the other parts',
  listener: 'api',
  gate: 'always',
  groups: [deliverMail],
})
