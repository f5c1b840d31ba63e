import type { DeliverMail } from '../../core/mail/ports.ts'
import type { Job } from '../kit/job.ts'

/** Sends mail that is due: mail that waits for another attempt, and mail of a process that ended after its commit. */
export const deliverMailJob = (deliver: DeliverMail): Job => ({
  id: 'mail.deliver',
  summary: 'Send the mail that is due',
  everySeconds: 10,
  run: async (signal) => {
    await deliver(signal)
  },
})
