import { DeliverMailToken } from '../../core/mail/ports.ts'
import { definePlugin } from '../kit/plugin.ts'
import { deliverMailJob } from './deliver-mail.job.ts'

/** Sends mail to users. Other plugins post mail within their transactions. */
export const mailPlugin = definePlugin({
  id: 'mail',
  summary: 'Sends the mail of the other parts',
  listener: 'api',
  gate: 'always',
  needs: { deliver: DeliverMailToken },
  routes: () => [],
  jobs: ({ deliver }) => [deliverMailJob(deliver)],
})
