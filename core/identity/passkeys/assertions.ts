import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { ThrottledCheckDeps } from '../credentials.ts'
import { callAsUser, makeThrottledCheck } from '../credentials.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from '../ports.ts'
import { makeTakeChallenge, PasskeyRefused, relyingPartyOf, userHandle } from './challenges.ts'
import type { PasskeyRecord, PasskeyUse, UsedPasskey, UsePasskey, WebAuthn } from '../passkey-ports.ts'

/** Returns the same failure for each reason, so that it does not disclose which keys exist. */
export const passkeyRefused = (userId?: UserId): Failure<'PasskeyRefused'> =>
  PasskeyRefused(
    'The passkey was not accepted. Try again; after many failed attempts wait before the next one.',
    userId === undefined
      ? {}
      : { about: { action: 'user.sign_in_refused', tenantId: userId, objectType: 'user', objectId: userId } },
  )

/**
 * Judges the counter of signatures. A counter that does not advance is a sign of a copied key. Synchronized keys do not
 * count reliably: most report 0 always, so they are never refused for it.
 *
 * @internal
 */
export const judgeCounter = (
  stored: Pick<PasskeyRecord, 'counter' | 'isBackedUp'>,
  presented: number,
): 'advanced' | 'back' | 'copied' => {
  if (presented > stored.counter || (presented === 0 && stored.counter === 0)) return 'advanced'
  return stored.isBackedUp ? 'back' : 'copied'
}

export interface UsePasskeyDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly webAuthn: WebAuthn
  readonly digest: TokenDigest
  readonly clock: Clock
}

/** Notes the use of a key. Returns false if the key is refused: it may be a copy, or was removed. */
const noteUse = async (
  deps: UsePasskeyDeps,
  key: PasskeyRecord,
  use: PasskeyUse,
  sourceIp: string,
): Promise<boolean> => {
  const verdict = judgeCounter(key, use.counter)
  if (verdict === 'advanced') return deps.stores.passkeys.markUsed(key.id, use)
  const user = await deps.stores.users.byId(key.userId)
  if (user === undefined) return false
  const noted = await deps.unitOfWork.run<never, boolean>(
    callAsUser(user, 'identity.usePasskey', sourceIp),
    async (stores) => {
      await stores.audit.record(
        auditOfUser(user, 'passkey.counter_went_back', {
          passkey: key.name,
          counter: use.counter,
          last_counter: key.counter,
          refused: verdict === 'copied',
        }),
      )
      return right(verdict === 'back' && (await stores.passkeys.markUsed(key.id, use)))
    },
  )
  return !isLeft(noted) && noted.right
}

/** See the port for its guarantees. Invalid responses count as failed attempts; a stale challenge does not. */
export const makeUsePasskey = (deps: UsePasskeyDeps): UsePasskey => {
  const throttledCheck = makeThrottledCheck(deps)
  const takeChallenge = makeTakeChallenge(deps)
  return async ({ response, binding, userId, sourceIp }) => {
    const party = relyingPartyOf(deps.webAuthn)
    if (isLeft(party)) return party
    const taken = await takeChallenge(binding, response)
    if (taken === undefined) return left(passkeyRefused(userId))
    const key = await deps.stores.passkeys.findByCredential(deps.digest.digest(response.id))
    const subject = userId ?? key?.userId
    const check = async (): Promise<Either<Failure<'PasskeyRefused'>, UsedPasskey | undefined>> => {
      if (key === undefined || (userId !== undefined && key.userId !== userId)) return right(undefined)
      const handle = userHandle(deps.digest, key.userId)
      const verified = await deps.webAuthn.verifyAssertion(party.right, response, taken.challenge, { ...key, handle })
      if (verified === undefined) return right(undefined)
      const isNoted = await noteUse(deps, key, { ...verified, at: deps.clock.now() }, sourceIp)
      return isNoted ? right({ id: key.id, userId: key.userId, name: key.name }) : left(passkeyRefused(key.userId))
    }
    return throttledCheck(
      { kind: 'passkey', subject: subject ?? response.id.slice(0, maxSubjectLength), sourceIp },
      check,
      () => passkeyRefused(subject),
    )
  }
}

const maxSubjectLength = 254
