import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { parseEmailAddress } from './email-address.ts'
import type { DomainNames, IdentityChanges } from './ports.ts'
import type { EmailAddress, EmailRecord } from './types.ts'

/** The address is none of the caller's. */
export const EmailMissing = defineFailure('EmailMissing', 'Unprocessable')
/** The primary address stays until another one is primary. */
export const EmailIsPrimary = defineFailure('EmailIsPrimary', 'Unprocessable')

export interface ChangeOwnEmailsDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly domains: DomainNames
  readonly clock: Clock
}

const parseAll = (texts: readonly string[], domains: DomainNames): Either<Failure<'EmailInvalid'>, readonly EmailAddress[]> => {
  const byKey = new Map<string, EmailAddress>()
  for (const text of texts) {
    const email = parseEmailAddress(text, domains)
    if (isLeft(email)) return email
    byKey.set(email.right.key, email.right)
  }
  return right([...byKey.values()])
}

const recordChange = (stores: IdentityChanges, call: SignedInCall, action: string, count: number): Promise<void> =>
  stores.audit.record({
    action,
    objectType: 'user',
    objectId: call.principal.userId,
    objectName: call.principal.login,
    tenantId: call.principal.userId,
    changes: { addresses: count },
  })

/** Adds addresses to the caller's, all or none; they are unverified. Answers all that there are then. */
export const makeAddOwnEmails =
  (deps: ChangeOwnEmailsDeps) =>
  async (call: SignedInCall, texts: readonly string[]): Outcome<Failure<'EmailInvalid'> | Failure<'EmailTaken'>, readonly EmailRecord[]> => {
    const emails = parseAll(texts, deps.domains)
    if (isLeft(emails)) return emails
    return deps.unitOfWork.run<Failure<'EmailInvalid'> | Failure<'EmailTaken'>, readonly EmailRecord[]>(call, async (stores) => {
      const { userId } = call.principal
      for (const email of emails.right) {
        const added = await stores.emails.insert(userId, email, false, false, deps.clock.now())
        if (isLeft(added)) return added
      }
      await recordChange(stores, call, 'email.added', emails.right.length)
      return right(await stores.emails.list(userId))
    })
  }

type RemoveFailure = Failure<'EmailMissing'> | Failure<'EmailIsPrimary'>

/** Removes addresses of the caller, all or none. */
export const makeRemoveOwnEmails =
  (deps: Pick<ChangeOwnEmailsDeps, 'unitOfWork' | 'domains'>) =>
  async (call: SignedInCall, texts: readonly string[]): Outcome<RemoveFailure, void> => {
    const emails = parseAll(texts, deps.domains)
    // What is no address is none of the caller's either.
    if (isLeft(emails)) return left(EmailMissing('You have no such e-mail address.'))
    return deps.unitOfWork.run<RemoveFailure, void>(call, async (stores) => {
      const { userId } = call.principal
      await stores.users.lock(userId)
      const own = await stores.emails.list(userId)
      const found = emails.right.map((email) => own.find((record) => record.email.toLowerCase() === email.key))
      if (found.some((record) => record === undefined)) return left(EmailMissing('You have no such e-mail address.'))
      if (found.some((record) => record?.isPrimary)) return left(EmailIsPrimary('The primary e-mail address cannot be deleted.'))
      await stores.emails.remove(userId, found.flatMap((record) => (record === undefined ? [] : [record.id])))
      await recordChange(stores, call, 'email.removed', found.length)
      return right(undefined)
    })
  }
