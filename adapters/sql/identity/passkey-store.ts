import type { PasskeyRecord, PasskeyStore } from '../../../core/identity/passkey-ports.ts'
import type { PasskeyId } from '../../../core/kernel/ids.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { cutTo, pick, present, without } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { passkeyChallenges, passkeys } from '../tables/identity.ts'

const maxPurged = 1_000

const shownRow = without(passkeys, 'credentialHash')

const recordOf = ({ transports, ...row }: Row<typeof shownRow>): PasskeyRecord => ({
  ...row,
  transports: transports.split(' ').filter((word) => word !== ''),
})

const statements = (db: SqlDatabase) => ({
  list: db.prepare({ userId: passkeys.userId }, shownRow, (k, p) =>
    k('passkeys').where('user_id', p.userId).orderBy('id'),
  ),
  find: db.prepare({ hash: passkeys.credentialHash }, shownRow, (k, p) =>
    k('passkeys').where('credential_hash', p.hash),
  ),
  insert: insertInto(db, passkeys, { omitted: ['id', 'lastUsedAt'] }),
  markUsed: db.prepare({ ...pick(passkeys, 'id', 'counter', 'isBackedUp'), at: present(passkeys.lastUsedAt) }, (k, p) =>
    k('passkeys')
      .where('id', p.id)
      .update(values(passkeys, { counter: p.counter, isBackedUp: p.isBackedUp, lastUsedAt: p.at })),
  ),
  rename: db.prepare(pick(passkeys, 'userId', 'id', 'name'), (k, p) =>
    k('passkeys')
      .where('user_id', p.userId)
      .where('id', p.id)
      .update(values(passkeys, { name: p.name })),
  ),
  remove: db.prepare(pick(passkeys, 'userId', 'id'), (k, p) =>
    k('passkeys').where('user_id', p.userId).where('id', p.id).delete(),
  ),
  removeAll: db.prepare(pick(passkeys, 'userId'), (k, p) => k('passkeys').where('user_id', p.userId).delete()),
})

const challengeStatements = (db: SqlDatabase) => ({
  insert: insertInto(db, passkeyChallenges, { omitted: [] }),
  find: db.prepare(pick(passkeyChallenges, 'keyHash'), pick(passkeyChallenges, 'name', 'expiresAt'), (k, p) =>
    k('passkey_challenges').where('key_hash', p.keyHash),
  ),
  remove: db.prepare(pick(passkeyChallenges, 'keyHash'), (k, p) =>
    k('passkey_challenges').where('key_hash', p.keyHash).delete(),
  ),
  expired: db.prepare({ at: passkeyChallenges.expiresAt }, pick(passkeyChallenges, 'keyHash'), (k, p) =>
    k('passkey_challenges').where('expires_at', '<', p.at).orderBy('expires_at').limit(maxPurged),
  ),
})

/** Passkeys on SQL. A challenge is used by the one statement that deletes its row. */
export const makeSqlPasskeyStore = (db: SqlDatabase): ((runner: SqlRunner) => PasskeyStore) => {
  const s = statements(db)
  const challenge = challengeStatements(db)
  return (runner) => ({
    async list(userId) {
      return (await runner.all(s.list, { userId })).map(recordOf)
    },
    async findByCredential(hash) {
      const row = await runner.first(s.find, { hash })
      return row === undefined ? undefined : recordOf(row)
    },
    async insert({ transports, ...passkey }) {
      try {
        const stored = { ...passkey, transports: cutTo(passkeys.transports, transports.join(' ')) }
        return (await runner.run(s.insert, stored)).insertId as PasskeyId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async markUsed(id, use) {
      return (await runner.run(s.markUsed, { id, ...use })).affected > 0
    },
    async rename(userId, id, name) {
      return (await runner.run(s.rename, { userId, id, name })).affected > 0
    },
    async remove(userId, id) {
      return (await runner.run(s.remove, { userId, id })).affected > 0
    },
    async removeAll(userId) {
      return (await runner.run(s.removeAll, { userId })).affected
    },
    async addChallenge(added) {
      await runner.run(challenge.insert, added)
    },
    async takeChallenge(keyHash, now) {
      const found = await runner.first(challenge.find, { keyHash })
      if (found === undefined || (await runner.run(challenge.remove, { keyHash })).affected === 0) return undefined
      return found.expiresAt.getTime() > now.getTime() ? { name: found.name } : undefined
    },
    async purgeChallenges(at) {
      const expired = await runner.all(challenge.expired, { at })
      for (const { keyHash } of expired) await runner.run(challenge.remove, { keyHash })
      return expired.length
    },
  })
}
