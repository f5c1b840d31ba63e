import type { SignInAttemptStore } from '../../../core/identity-providers/ports.ts'
import { pick, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { removeRows } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { signInAttempts, usedLogoutTokens } from '../tables/identity-providers.ts'

const maxPurged = 1_000
const shown = without(signInAttempts, 'id')

const statements = (db: SqlDatabase) => ({
  insert: insertInto(db, signInAttempts, { omitted: ['id'] }),
  find: db.prepare(pick(signInAttempts, 'stateHash', 'browserHash'), shown, (k, p) =>
    k('sign_in_attempts').where('state_hash', p.stateHash).where('browser_hash', p.browserHash),
  ),
  awaitingCode: db.prepare(pick(signInAttempts, 'browserHash', 'providerId'), shown, (k, p) =>
    k('sign_in_attempts')
      .where('browser_hash', p.browserHash)
      .where('provider_id', p.providerId)
      .where(values(signInAttempts, { stage: 'code' }))
      .orderBy('id', 'desc')
      .limit(1),
  ),
  use: db.prepare(pick(signInAttempts, 'stateHash', 'stage'), (k, p) =>
    k('sign_in_attempts')
      .where('state_hash', p.stateHash)
      .where('stage', p.stage)
      .update(values(signInAttempts, { stage: 'used' })),
  ),
  useToken: insertInto(db, usedLogoutTokens),
  over: db.prepare({ at: signInAttempts.expiresAt }, pick(signInAttempts, 'id'), (k, p) =>
    k('sign_in_attempts').where('expires_at', '<', p.at).orderBy('expires_at').limit(maxPurged),
  ),
  remove: db.prepare(pick(signInAttempts, 'id'), (k, p) => k('sign_in_attempts').where('id', p.id).delete()),
  tokensOver: db.prepare({ at: usedLogoutTokens.expiresAt }, pick(usedLogoutTokens, 'tokenHash'), (k, p) =>
    k('used_logout_tokens').where('expires_at', '<', p.at).orderBy('expires_at').limit(maxPurged),
  ),
  removeToken: db.prepare(pick(usedLogoutTokens, 'tokenHash'), (k, p) =>
    k('used_logout_tokens').where('token_hash', p.tokenHash).delete(),
  ),
})

/** SignInAttemptStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlSignInAttemptStore = (db: SqlDatabase): ((runner: SqlRunner) => SignInAttemptStore) => {
  const s = statements(db)
  return (runner) => ({
    async insert(attempt) {
      await runner.run(s.insert, attempt)
    },
    find: (stateHash, browserHash) => runner.first(s.find, { stateHash, browserHash }),
    awaitingCode: (browserHash, providerId) => runner.first(s.awaitingCode, { browserHash, providerId }),
    async use(stateHash, stage) {
      return (await runner.run(s.use, { stateHash, stage })).affected > 0
    },
    async useLogoutToken(tokenHash, expiresAt) {
      try {
        await runner.run(s.useToken, { tokenHash, expiresAt })
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },
    async purge(at) {
      const attempts = await removeRows(runner, s.over, s.remove, { at })
      const tokens = await runner.all(s.tokensOver, { at })
      for (const { tokenHash } of tokens) await runner.run(s.removeToken, { tokenHash })
      return attempts + tokens.length
    },
  })
}
