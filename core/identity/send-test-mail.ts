import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { parseEmailAddress } from './email-address.ts'
import type { DomainNames, IdentityChanges } from './ports.ts'

/** Posts a mail that says nothing but that mail works. */
export const makeSendTestMail =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly domains: DomainNames }) =>
  async (call: SignedInCall, address: string): Outcome<Failure<'EmailInvalid'>, void> => {
    const email = parseEmailAddress(address, deps.domains)
    if (isLeft(email)) return email
    return deps.unitOfWork.run<Failure<'EmailInvalid'>, void>(call, async (stores) => {
      await stores.mail.post({
        to: email.right.text,
        subject: 'Test mail',
        paragraphs: [`The administrator ${call.principal.login} asked for this mail to see whether mail arrives. It does.`],
      })
      await stores.audit.record({ action: 'mail.tested', objectType: 'site', objectName: email.right.text })
      return right(undefined)
    })
  }
