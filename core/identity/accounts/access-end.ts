import type { IdentityChanges } from '../ports.ts'
import { auditOfUser } from '../audit.ts'
import type { AccessEnd, EndedAccess } from '../access-ports.ts'
import type { User } from '../types.ts'

type Stores = Pick<IdentityChanges, 'audit' | 'linkCodes' | 'sessions' | 'tokens'>

/** Ends the credentials of a user, within a transaction that holds the lock on the user's row. */
export const endCredentials = async (stores: Stores, user: Pick<User, 'id'>, at: Date): Promise<EndedAccess> => {
  const sessions = await stores.sessions.removeAll(user.id, undefined)
  const tokens = await stores.tokens.removeAll(user.id)
  await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, at)
  return { sessions, tokens }
}

/** AccessEnd over the stores of a transaction. See the port for what it ends. */
export const accessEnd: AccessEnd = {
  async end(stores, user, { at, because }) {
    const ended = await endCredentials(stores, user, at)
    await stores.audit.record(
      auditOfUser(user, 'user.access_ended', {
        because,
        sessions_ended: ended.sessions,
        tokens_removed: ended.tokens,
      }),
    )
    return ended
  },
}
