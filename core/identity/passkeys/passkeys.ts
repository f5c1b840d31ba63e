import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { PasskeyId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { PresentedProof } from '../access-ports.ts'
import type { AuthenticateAgainDeps, AuthenticateAgainFailure } from '../credentials.ts'
import { callerBindingOf, lockProvenUser, makeAuthenticateAgain, proofBindingOf } from '../credentials.ts'
import { passkeyAddedMail, passkeyRemovedMail, postIfAddressed } from '../emails/account-mail.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import { makeRecoveryCodes, recoveryCodeHash } from '../second-factor/codes.ts'
import type { ChallengeDeps } from './challenges.ts'
import { makeIssueChallenge, makeTakeChallenge, relyingPartyOf, userHandle } from './challenges.ts'
import type { PasskeyRecord, RegistrationResponse } from '../passkey-ports.ts'

const maxPasskeysPerUser = 25
const maxPasskeyNameLength = 100

export const PasskeyMissing = defineFailure('PasskeyMissing', 'NotFound', 'The passkey does not exist.')
export const PasskeyNotAdded = defineFailure(
  'PasskeyNotAdded',
  'Unprocessable',
  'The account has as many passkeys as it may have.',
)
export const PasskeyNameRefused = defineFailure(
  'PasskeyNameRefused',
  'Unprocessable',
  'The name of the passkey is empty or too long.',
)
/** The response of the browser is not a valid new key. */
export const RegistrationInvalid = defineFailure(
  'RegistrationInvalid',
  'Unprocessable',
  'The response is not valid for a challenge of the caller, or the challenge is used or expired.',
)

export interface RequestPasskeyDeps extends ChallengeDeps, AuthenticateAgainDeps {
  readonly stores: IdentityStores
}

export interface RequestPasskeyInput {
  readonly name: string
  readonly proof: PresentedProof
}

export type RequestPasskeyFailure =
  | AuthenticateAgainFailure
  | Failure<'PasskeyNameRefused' | 'PasskeyNotAdded' | 'PasskeysUnavailable'>

const nameOf = (typed: string): Either<Failure<'PasskeyNameRefused'>, string> => {
  const name = typed.trim()
  return name === '' || name.length > maxPasskeyNameLength
    ? left(PasskeyNameRefused(`The name must have 1 to ${maxPasskeyNameLength} characters.`))
    : right(name)
}

/**
 * Returns the options for a new key after the caller was authenticated again. Only the credential of this call can
 * register the key.
 */
export const makeRequestPasskey = (deps: RequestPasskeyDeps) => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  const issueChallenge = makeIssueChallenge(deps)
  return async (
    call: SignedInCall<never>,
    { name: typed, proof }: RequestPasskeyInput,
  ): Outcome<RequestPasskeyFailure, FreeObject> => {
    const party = relyingPartyOf(deps.webAuthn)
    if (isLeft(party)) return party
    const name = nameOf(typed)
    if (isLeft(name)) return name
    const proven = await authenticateAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId, login } = call.principal
    const keys = await deps.stores.passkeys.list(userId)
    if (keys.length >= maxPasskeysPerUser) return left(tooMany())
    const handle = userHandle(deps.digest, userId)
    return issueChallenge(
      callerBindingOf(call, 'registration'),
      (of, challenge) =>
        deps.webAuthn.creationOptions(of, challenge, { handle, name: login, displayName: login, keys }),
      name.right,
    )
  }
}

const tooMany = (): Failure<'PasskeyNotAdded'> =>
  PasskeyNotAdded(`An account has at most ${maxPasskeysPerUser} passkeys. Remove one first.`)

export interface RegisterPasskeyDeps extends ChallengeDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

export interface RegisteredPasskey {
  readonly passkey: PasskeyRecord
  /** Set if the account had no recovery codes. They are shown only here. */
  readonly recoveryCodes: readonly Secret[] | undefined
}

export type RegisterPasskeyFailure =
  | Failure<'NotAuthenticated'>
  | Failure<'PasskeyNotAdded'>
  | Failure<'PasskeysUnavailable'>
  | Failure<'RegistrationInvalid'>

const invalid = (): Failure<'RegistrationInvalid'> =>
  RegistrationInvalid(
    'The response is not valid, or its challenge was used or has expired. Request a new registration and answer it ' +
      'within five minutes, in the same session.',
  )

/**
 * Registers a key, which is a second factor from now on. The first second factor of an account ends all other sessions:
 * their holders have not proved it.
 */
export const makeRegisterPasskey = (deps: RegisterPasskeyDeps) => {
  const takeChallenge = makeTakeChallenge(deps)
  return async (
    call: SignedInCall<RegisteredPasskey>,
    response: RegistrationResponse,
  ): Outcome<RegisterPasskeyFailure, RegisteredPasskey> => {
    const party = relyingPartyOf(deps.webAuthn)
    if (isLeft(party)) return party
    const taken = await takeChallenge(callerBindingOf(call, 'registration'), response)
    const content = taken && (await deps.webAuthn.verifyRegistration(party.right, response, taken.challenge))
    if (taken === undefined || content === undefined) return left(invalid())
    const { userId, sessionId } = call.principal
    const codes = makeRecoveryCodes(deps.entropy)
    return deps.unitOfWork.run<RegisterPasskeyFailure, RegisteredPasskey>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call)
      if (isLeft(locked)) return locked
      const user = locked.right
      const now = deps.clock.now()
      if ((await stores.passkeys.list(userId)).length >= maxPasskeysPerUser) return left(tooMany())
      const isFirstFactor = (await stores.secondFactors.enrolledRef(userId)) === undefined
      const { name } = taken
      const added = { ...content, userId, name, rpId: party.right.id, createdAt: now }
      const id = await stores.passkeys.insert({
        ...added,
        credentialHash: deps.digest.digest(content.credentialId),
      })
      if (id === undefined) return left(invalid())
      const hasCodes = (await stores.secondFactors.countRecoveryCodes(userId)) > 0
      if (!hasCodes)
        await stores.secondFactors.replaceRecoveryCodes(
          userId,
          codes.map((code) => recoveryCodeHash(deps.digest, code)),
          now,
        )
      const ended = isFirstFactor ? await stores.sessions.removeAll(userId, sessionId) : 0
      await stores.audit.record(
        auditOfUser(user, 'passkey.added', {
          passkey: name,
          aaguid: content.aaguid,
          backed_up: content.isBackedUp,
          recovery_codes: hasCodes ? 0 : codes.length,
          sessions_ended: ended,
        }),
      )
      await postIfAddressed(stores.mail, passkeyAddedMail(user, { at: now, sourceIp: call.sourceIp }, name))
      return right({
        passkey: { ...added, id, lastUsedAt: undefined },
        recoveryCodes: hasCodes ? undefined : codes.map(secret),
      })
    })
  }
}

/** Returns the options for a proof by one of the caller's keys, which replaces password and code. */
export const makeRequestPasskeyProof = (deps: ChallengeDeps & { readonly stores: IdentityStores }) => {
  const issueChallenge = makeIssueChallenge(deps)
  return async (
    call: SignedInCall<never>,
  ): Outcome<Failure<'PasskeysUnavailable'> | Failure<'PasskeyMissing'>, FreeObject> => {
    const keys = await deps.stores.passkeys.list(call.principal.userId)
    if (keys.length === 0) return left(PasskeyMissing('The account has no passkey.'))
    return issueChallenge(proofBindingOf(call), (party, challenge) =>
      deps.webAuthn.requestOptions(party, challenge, keys),
    )
  }
}

export interface RenamePasskeyInput {
  readonly id: PasskeyId
  readonly name: string
}

/** Renames one of the caller's keys. A name proves nothing, so the caller is not authenticated again. */
export const makeRenamePasskey =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (
    call: SignedInCall<PasskeyRecord>,
    { id, name: typed }: RenamePasskeyInput,
  ): Outcome<Failure<'PasskeyMissing' | 'PasskeyNameRefused'>, PasskeyRecord> => {
    const name = nameOf(typed)
    if (isLeft(name)) return name
    const { userId, login } = call.principal
    return deps.unitOfWork.run<Failure<'PasskeyMissing' | 'PasskeyNameRefused'>, PasskeyRecord>(
      call,
      async (stores) => {
        await stores.users.lock(userId)
        const key = (await stores.passkeys.list(userId)).find((one) => one.id === id)
        if (key === undefined) return left(PasskeyMissing('The passkey does not exist.'))
        if (key.name === name.right) return right(key)
        await stores.passkeys.rename(userId, id, name.right)
        const shown = { passkey: name.right, passkey_before: key.name }
        await stores.audit.record(auditOfUser({ id: userId, login }, 'passkey.renamed', shown))
        return right({ ...key, name: name.right })
      },
    )
  }

export interface RemovePasskeyDeps extends AuthenticateAgainDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export interface RemovePasskeyInput {
  readonly id: PasskeyId
  readonly proof: PresentedProof
}

export type RemovePasskeyFailure = AuthenticateAgainFailure | Failure<'NotAuthenticated'> | Failure<'PasskeyMissing'>

/**
 * Removes a key, and the recovery codes with the last second factor. All other sessions end: the key may have opened
 * them.
 */
export const makeRemovePasskey = (deps: RemovePasskeyDeps) => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  return async (call: SignedInCall, { id, proof }: RemovePasskeyInput): Outcome<RemovePasskeyFailure, void> => {
    const proven = await authenticateAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId, sessionId } = call.principal
    return deps.unitOfWork.run<RemovePasskeyFailure, void>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      const key = (await stores.passkeys.list(userId)).find((one) => one.id === id)
      if (key === undefined) return left(PasskeyMissing('The passkey does not exist.'))
      await stores.passkeys.remove(userId, id)
      await stores.secondFactors.removeIdleRecoveryCodes(userId)
      const ended = await stores.sessions.removeAll(userId, sessionId)
      await stores.audit.record(auditOfUser(user, 'passkey.removed', { passkey: key.name, sessions_ended: ended }))
      const isProtected = (await stores.secondFactors.enrolledRef(userId)) !== undefined
      const occasion = { at: deps.clock.now(), sourceIp: call.sourceIp }
      await postIfAddressed(stores.mail, passkeyRemovedMail(user, occasion, key.name, isProtected))
      return right(undefined)
    })
  }
}
