import { isRight } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { MailOutbox } from '../kernel/mail.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { MailBell } from './ports.ts'

/** Rings once a transaction that posted mail has committed, so that the mail leaves at once. */
export const ringAfterCommit = <Stores extends { readonly mail: MailOutbox }>(
  unitOfWork: UnitOfWork<Stores>,
  bell: MailBell,
): UnitOfWork<Stores> => ({
  async run<F extends Failure, A>(call: Call<NoInfer<A>>, work: (stores: Stores) => Outcome<F, A>): Outcome<F, A> {
    let hasPosted = false
    const outcome = await unitOfWork.run<F, A>(call, (stores) => {
      hasPosted = false
      const mail: MailOutbox = {
        async post(message) {
          await stores.mail.post(message)
          hasPosted = true
        },
      }
      return work({ ...stores, mail })
    })
    if (hasPosted && isRight(outcome)) bell.ring()
    return outcome
  },
})
