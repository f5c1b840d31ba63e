import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { ownText } from '../../kernel/json.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import type { IdentityStores, TokenDigest } from '../ports.ts'
import { challengeSeconds } from '../passkey-ports.ts'
import type {
  AssertionResponse,
  ChallengeBinding,
  PasskeyStore,
  RegistrationResponse,
  RelyingParty,
  WebAuthn,
} from '../passkey-ports.ts'

const challengeBytes = 32

/** The base URL of the deployment allows no passkeys. */
export const PasskeysUnavailable = defineFailure(
  'PasskeysUnavailable',
  'Unavailable',
  'The service has no base URL for which browsers use passkeys.',
)
/** The response of a passkey is not valid. The message never says why. */
export const PasskeyRefused = defineFailure(
  'PasskeyRefused',
  'Unauthenticated',
  'The response of the passkey is not valid, its challenge is used or expired, or there were too many failed attempts.',
)

/** Returns the host and the origin that keys are for. */
export const relyingPartyOf = ({
  relyingParty,
}: Pick<WebAuthn, 'relyingParty'>): Either<Failure<'PasskeysUnavailable'>, RelyingParty> =>
  relyingParty === undefined
    ? left(
        PasskeysUnavailable(
          'This service has no address for passkeys. An operator sets MOORAGE_BASE_URL to an https address with a host ' +
            'name, such as https://platform.example; http://localhost is allowed for a trial.',
        ),
      )
    : right(relyingParty)

/** Returns the binding of a challenge to the browser that asked for it, by its cookie. */
export const browserBinding = (browser: Secret | undefined): ChallengeBinding => ({
  purpose: 'sign-in',
  // A challenge that is bound to a browser is never bound to the empty text.
  holder: browser?.reveal() ?? '',
})

/** Returns the user's handle, which keys hold: it says nothing about the user, and stays when the user is renamed. */
export const userHandle = (digest: TokenDigest, userId: UserId): Uint8Array => digest.digest(`passkey user ${userId}`)

export interface ChallengeDeps {
  readonly stores: { readonly passkeys: Pick<PasskeyStore, 'addChallenge' | 'takeChallenge'> }
  readonly webAuthn: WebAuthn
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

const keyHashOf = (digest: TokenDigest, { purpose, holder }: ChallengeBinding, challenge: string): Uint8Array =>
  digest.digest(`${purpose} ${challenge} ${holder}`)

/**
 * Stores a new challenge, bound to what may answer it, and returns the options of `make` that contain it. `name` is
 * that of a key to be registered.
 */
export const makeIssueChallenge =
  (deps: ChallengeDeps) =>
  async (
    binding: ChallengeBinding,
    make: (party: RelyingParty, challenge: Uint8Array) => Promise<FreeObject>,
    name = '',
  ): Outcome<Failure<'PasskeysUnavailable'>, FreeObject> => {
    const party = relyingPartyOf(deps.webAuthn)
    if (isLeft(party)) return party
    const options = await make(party.right, deps.entropy.bytes(challengeBytes))
    await deps.stores.passkeys.addChallenge({
      keyHash: keyHashOf(deps.digest, binding, ownText(options, 'challenge')),
      name,
      expiresAt: laterBySeconds(deps.clock.now(), challengeSeconds),
    })
    return right(options)
  }

/**
 * Uses up the challenge that a response answers, whether the response is valid or not. Returns undefined if the
 * challenge is unknown, used, expired, or bound to something else.
 */
export const makeTakeChallenge =
  (deps: Omit<ChallengeDeps, 'entropy'>) =>
  async (
    binding: ChallengeBinding,
    response: RegistrationResponse | AssertionResponse,
  ): Promise<{ readonly challenge: string; readonly name: string } | undefined> => {
    const challenge = deps.webAuthn.challengeOf(response)
    if (challenge === undefined) return undefined
    const taken = await deps.stores.passkeys.takeChallenge(keyHashOf(deps.digest, binding, challenge), deps.clock.now())
    return taken && { challenge, name: taken.name }
  }

/** Removes expired challenges, in batches. Returns the number removed. */
export const makeDropExpiredChallenges =
  (deps: { readonly stores: Pick<IdentityStores, 'passkeys'>; readonly clock: Clock }) =>
  async (signal: AbortSignal): Promise<number> => {
    const before = deps.clock.now()
    let dropped = 0
    while (!signal.aborted) {
      const some = await deps.stores.passkeys.purgeChallenges(before)
      if (some === 0) break
      dropped += some
    }
    return dropped
  }
