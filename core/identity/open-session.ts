import type { SessionId, UserId } from '../kernel/ids.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Call } from '../kernel/principal.ts'
import { randomBase62 } from './access-token.ts'
import type { IdentitySettings, IdentityStores, TokenDigest } from './ports.ts'
import type { RememberedId } from './remembered-ports.ts'
import { maxSessionsPerUser, newSessionTimes } from './session-rules.ts'

/** 43 base62 characters are a little more than 256 bits. */
const sessionKeyLength = 43

/** What a browser presents from now on. Never one that came with a request: nobody can plant a session. */
export const newSessionKey = (entropy: Entropy): string => randomBase62(entropy, sessionKeyLength)

export interface OpenSessionDeps {
  readonly digest: TokenDigest
  readonly settings: IdentitySettings
}

export interface OpenedWith {
  readonly userId: UserId
  readonly key: string
  /** The remembered login that it belongs to; the session is over no later than this. */
  readonly remembered: { readonly id: RememberedId; readonly expiresAt: Date } | undefined
  readonly now: Date
}

/** Opens a session inside of a transaction, after the user's row was locked; the oldest beyond the limit end. */
export const openSession = async (
  stores: Pick<IdentityStores, 'sessions'>,
  deps: OpenSessionDeps,
  call: Call,
  { userId, key, remembered, now }: OpenedWith,
): Promise<SessionId> => {
  const id = await stores.sessions.insert({
    userId,
    hash: deps.digest.digest(key),
    rememberedId: remembered?.id,
    sourceIp: call.sourceIp,
    userAgent: call.userAgent ?? '',
    createdAt: now,
    ...newSessionTimes(deps.settings, now, remembered?.expiresAt),
  })
  await stores.sessions.trim(userId, maxSessionsPerUser, now)
  return id
}
