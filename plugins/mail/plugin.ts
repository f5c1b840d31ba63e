import { DeliverMailToken } from '../../core/mail/ports.ts'
import { definePlugin } from '../kit/plugin.ts'
import { deliverMailJob } from './deliver-mail.job.ts'

/** Mail to people. Other parts post it into their transactions; here it is sent. */
export const mailPlugin = definePlugin({
  id: 'mail',
  summary: 'Sends the mail that other parts post',
  listener: 'api',
  gate: 'always',
  needs: { deliver: DeliverMailToken },
  routes: () => [],
  jobs: ({ deliver }) => [deliverMailJob(deliver)],
})
