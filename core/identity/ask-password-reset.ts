import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Allowances } from './allowance-ports.ts'
import { auditedUser } from './audited-user.ts'
import { parseEmailAddress } from './email-address.ts'
import { linkCodeMinutes, linkWithCode, makeIssueLinkCode } from './link-codes.ts'
import type { IssueLinkCodeDeps } from './link-codes.ts'
import type { Background, CredentialStore, DomainNames, IdentityChanges, IdentitySettings } from './ports.ts'
import { makePostConfirmation } from './post-confirmation.ts'
import type { AddressClaim } from './post-confirmation.ts'
import { servesReset } from './reset-rules.ts'
import type { EmailAddress } from './types.ts'

export interface AskPasswordResetDeps extends IssueLinkCodeDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly credentials: Pick<CredentialStore, 'passwordByKey'>
  readonly background: Background
  readonly allowances: Allowances
  readonly domains: DomainNames
  readonly settings: Pick<IdentitySettings, 'baseUrl'>
}

/**
 * Posts a mail with a reset code when the address is a verified one of an account that may sign in. The address that a
 * signed-up account waits for gets its confirmation once more: whoever lost that mail cannot sign in to ask for it.
 * Everything that depends on the address happens after the answer, so that neither the answer nor its time tells whether
 * there is an account.
 */
export const makeAskPasswordReset =
  (deps: AskPasswordResetDeps) =>
  (call: Call, address: string): void => {
    // The answer does not wait, so neither its end nor its idempotency record is this work's.
    const later: Call = {
      principal: undefined,
      requestId: call.requestId,
      sourceIp: call.sourceIp,
      operation: call.operation,
      signal: new AbortController().signal,
    }
    deps.background.run('posting a password reset', () => postReset(deps, later, address))
  }

const postReset = async (deps: AskPasswordResetDeps, call: Call, address: string): Promise<void> => {
  const email = parseEmailAddress(address, deps.domains)
  if (isLeft(email)) return
  const record = await deps.credentials.passwordByKey(email.right.key)
  if (record === undefined) return confirmAgain(deps, call, email.right)
  if (!record.account.isEnabled) return
  // Nobody is told: whoever asks learns nothing from it.
  if ((await deps.allowances.take('password-reset', call.sourceIp)) !== undefined) return
  const { userId, login } = record.account
  const issue = makeIssueLinkCode(deps)
  await deps.unitOfWork.run<Failure<'TooManyMails'>, void>(call, async (stores) => {
    // Requests for one account come one after the other, so that the limit holds.
    const user = await stores.users.lock(userId)
    // The address as the account has it, not as whoever asks wrote it.
    const own = (await stores.emails.list(userId)).find((record) => record.email.toLowerCase() === email.right.key)
    if (user === undefined || own === undefined || !servesReset(user, own, deps.clock.now())) return right(undefined)
    const code = await issue(stores, 'password-reset', { userId, emailKey: email.right.key })
    if (isLeft(code)) return code
    await stores.audit.record({ action: 'user.password_reset_asked', ...auditedUser({ id: userId, login }) })
    await stores.mail.post({
      to: own.email,
      subject: 'Set a new password',
      paragraphs: [
        `Somebody, hopefully you, asked for a new password for the account ${login}, from the address ${call.sourceIp}.`,
        `The link and the code are good for ${linkCodeMinutes['password-reset']} minutes, once. The code is: ${code.right.reveal()}`,
        'If this was not you, ignore this mail: your password stays as it is.',
      ],
      action: { label: 'Set a new password', url: linkWithCode(deps.settings.baseUrl(), 'reset-password', code.right) },
      accountId: userId,
    })
    return right(undefined)
  })
}

/** Whose sign-up waits for this address: an inactive account's primary address that nobody confirmed. Locks that account. */
const waitingFor = async (stores: IdentityChanges, key: string): Promise<AddressClaim | undefined> => {
  const userId = await stores.emails.ownerOf(key)
  const user = userId === undefined ? undefined : await stores.users.lock(userId)
  if (user === undefined || user.isActive) return undefined
  const own = (await stores.emails.list(user.id)).find(({ email }) => email.toLowerCase() === key)
  return own?.isPrimary === true && !own.verified ? { userId: user.id, login: user.login, email: own.email } : undefined
}

const confirmAgain = async (deps: AskPasswordResetDeps, call: Call, { key }: EmailAddress): Promise<void> => {
  const waiting = await deps.unitOfWork.run<never, boolean>(call, async (stores) => right((await waitingFor(stores, key)) !== undefined))
  if (isLeft(waiting) || !waiting.right) return
  if ((await deps.allowances.take('password-reset', call.sourceIp)) !== undefined) return
  const postConfirmation = makePostConfirmation(deps)
  await deps.unitOfWork.run<Failure<'TooManyMails'>, void>(call, async (stores) => {
    const claim = await waitingFor(stores, key)
    return claim === undefined ? right(undefined) : postConfirmation(stores, claim)
  })
}
