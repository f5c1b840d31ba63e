import { definePlugin } from '../kit/plugin.ts'
import { DeliverMailPort } from '../../core/mail/ports.ts'
import { defineGroup } from '../kit/group.ts'

/** Sends mail that is due: mail that waits for another attempt, and mail of a process that ended after its commit. */
const deliverMail = defineGroup({
  needs: { deliver: DeliverMailPort },
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

/** Sends mail to users. Other plugins post mail within their transactions. */
export const mailPlugin = definePlugin({
  id: 'mail',
  summary: 'Sends the mail of the other parts',
  listener: 'api',
  gate: 'always',
  groups: [deliverMail],
})
