import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import { makeOwnCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import type { Background, IdentityChanges } from './ports.ts'
import type { AttemptKind, OnLocked } from './throttle-ports.ts'

export interface TellLockedDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly background: Background
  readonly entropy: Entropy
  readonly clock: Clock
}

const whatFailed: Readonly<Record<AttemptKind, string>> = {
  password: 'the password was wrong',
  'one-time-code': 'the password was right, but the one-time code was wrong',
  'reset-code': 'the code to set a new password was wrong',
}

/**
 * Tells the owner of a locked account by mail, and the account's log, in one transaction. After the answer: one that
 * came later for an account that exists would tell strangers that it does.
 */
export const makeTellLocked = (deps: TellLockedDeps): OnLocked => {
  const ownCall = makeOwnCall(deps.entropy)
  return ({ kind, subject, sourceIp }) =>
    deps.background.run('telling of a locked account', async () => {
      // The attempt has no call of its own yet: authentication comes before it.
      const told = await deps.unitOfWork.run({ ...ownCall('identity.lock'), sourceIp }, async (stores) => {
        const user = await stores.users.byId(subject)
        if (user === undefined) return right(undefined)
        await stores.audit.record({
          action: 'user.locked',
          ...auditedUser(user),
          changes: { attempts: kind },
        })
        await postIfAddressed(stores.mail, {
          to: user.primaryEmail,
          subject: 'Sign-in to your account is locked for a while',
          paragraphs: [
            `There were too many failed attempts for the account ${user.login}: ${whatFailed[kind]}. The last one came at ${deps.clock.now().toISOString()} from ${sourceIp}.`,
            'New sign-ins are refused for a while; the lock ends by itself. Sessions and access tokens go on working.',
            kind === 'one-time-code'
              ? 'If this was not you, somebody knows your password: change it.'
              : 'If this was not you, you need not do anything; an administrator can lift the lock.',
          ],
          accountId: user.id,
        })
        return right(undefined)
      })
      if (isLeft(told)) throw new Error(told.left)
    })
}
