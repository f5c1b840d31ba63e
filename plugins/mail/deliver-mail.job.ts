import { DeliverMailToken } from '../../core/mail/ports.ts'
import { defineGroup } from '../kit/group.ts'

/** Sends mail that is due: mail that waits for another attempt, and mail of a process that ended after its commit. */
export const deliverMail = defineGroup({
  needs: { deliver: DeliverMailToken },
  jobs: ({ deliver }) => [
    {
      id: 'mail.deliver',
      summary: 'Send the mail that is due',
      everySeconds: 10,
      run: async (signal) => {
        await deliver(signal)
      },
    },
  ],
})
