import type { CredentialStore, TokenGrant } from '../../../core/identity/ports.ts'
import type { LocalSignInFacts } from '../../../core/identity-providers/ports.ts'
import { localSignInFacts } from '../identity-providers/local-sign-in-facts.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { fromUsers, onlyClusterOf, secondFactorRef, stateOf, stateRow, userRow, wordsOf } from './rows.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, instant, nullableColumns, pick, present } from '../kit/columns.ts'
import { values } from '../kit/values.ts'
import { accessTokens, accounts, emails, sessions, users } from '../tables/identity.ts'
import { rowReader } from '../kit/row-reader.ts'
import { decidingNothing, selected } from '../kit/fragments.ts'
import type { DriverRow } from '../kit/row-reader.ts'

const t = aliased(accessTokens, 't')
/** What a request needs to know of the token `t`. */
const grantRow = {
  tokenId: t.id,
  ...pick(t, 'scopes', 'onlyOrgId', 'onlyClusterId', 'lastUsedAt'),
  tokenCreatedAt: t.createdAt,
  tokenExpiresAt: t.expiresAt,
}

type Grant = Row<typeof grantRow> & Row<typeof stateRow>

const grantOf = (row: Grant): TokenGrant => ({
  account: stateOf(row),
  tokenId: row.tokenId,
  scopeWords: wordsOf(row.scopes),
  onlyOrgId: row.onlyOrgId,
  ...onlyClusterOf(row),
  createdAt: row.tokenCreatedAt,
  expiresAt: row.tokenExpiresAt,
  lastUsedAt: row.lastUsedAt,
})

const tokenRow = { ...stateRow, ...grantRow }
const readGrant = rowReader(tokenRow)
const readUser = rowReader(userRow)

/** What a sign-in with a password needs to know of the user `u`. */
const passwordRow = {
  ...stateRow,
  ...pick(aliased(users, 'u'), 'passwordHash', 'lastLoginAt'),
  secondFactorRef,
  ...localSignInFacts,
}

/** The state of a user, if the account has one. */
const maybeState = nullableColumns(stateRow)

const s0 = aliased(sessions, 's')
/** A session `s` with the state of its user. */
const sessionWithState = { ...stateRow, ...pick(s0, 'id', 'lastSeenAt', 'idleExpiresAt', 'expiresAt', 'proof') }

const statements = (db: SqlDatabase) => ({
  tokenByHash: db.prepare({ hash: accessTokens.tokenHash }, tokenRow, (k, p) =>
    k('access_tokens as t')
      .join('users as u', 'u.id', 't.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('t.token_hash', p.hash),
  ),
  tokenWithProfileByHash: db.prepare({ hash: accessTokens.tokenHash }, (k, p) =>
    selected(k, fromUsers(k).join('access_tokens as t', 't.user_id', 'u.id').where('t.token_hash', p.hash), {
      ...userRow,
      ...tokenRow,
    }),
  ),
  sessionByHash: db.prepare({ hash: sessions.sessionHash }, sessionWithState, (k, p) =>
    k('sessions as s')
      .join('users as u', 'u.id', 's.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('s.session_hash', p.hash),
  ),
  passwordByName: db.prepare({ key: accounts.lowerName }, passwordRow, (k, p) =>
    k('accounts as a')
      .join('users as u', 'u.id', 'a.id')
      .where('a.lower_name', p.key)
      // A robot account has no password, so the attempt costs the same as one for an unknown name.
      .whereNull('u.robot_org_id'),
  ),
  passwordByEmail: db.prepare({ key: emails.lowerEmail }, passwordRow, (k, p) =>
    k('emails as e')
      .join('users as u', 'u.id', 'e.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('e.lower_email', p.key)
      .where('e.verified', 1),
  ),
  accountByName: db.prepare({ key: accounts.lowerName }, { kind: aliased(accounts, 'a').kind, ...maybeState }, (k, p) =>
    k('accounts as a').leftJoin('users as u', 'u.id', 'a.id').where('a.lower_name', p.key).whereNull('u.robot_org_id'),
  ),
  markToken: db.prepare({ id: accessTokens.id, at: present(accessTokens.lastUsedAt) }, (k, p) =>
    k('access_tokens')
      .where('id', p.id)
      .where((older) => older.whereNull('last_used_at').orWhere('last_used_at', '<', p.at))
      .update(values(accessTokens, { lastUsedAt: p.at })),
  ),
  // MySQL changes both rows in one statement. The owner's row is locked first, as by every change of the owner's
  // tokens.
  markTokenAndOwner: db.prepare({ id: accessTokens.id, ownerId: users.id, at: instant() }, (k, p) =>
    decidingNothing(
      k.raw(
        `update users as u straight_join access_tokens as t on t.user_id = u.id
        set u.last_login_at = greatest(coalesce(u.last_login_at, 0), cast(? as signed)), t.last_used_at = greatest(coalesce(t.last_used_at, 0), cast(? as signed))
        where u.id = ? and t.id = ?`,
        [p.at, p.at, p.ownerId, p.id],
      ),
    ),
  ),
  markUser: db.prepare({ id: users.id, at: present(users.lastLoginAt) }, (k, p) =>
    k('users')
      .where('id', p.id)
      .where((older) => older.whereNull('last_login_at').orWhere('last_login_at', '<', p.at))
      .update(values(users, { lastLoginAt: p.at })),
  ),
  markSession: db.prepare({ id: sessions.id, at: sessions.lastSeenAt, idle: sessions.idleExpiresAt }, (k, p) =>
    k('sessions')
      .where('id', p.id)
      .where('last_seen_at', '<', p.at)
      .update(values(sessions, { lastSeenAt: p.at, idleExpiresAt: p.idle })),
  ),
})

/**
 * Reads credentials directly from the pool, with one prepared query each and no transaction.
 *
 * @param isLocalSignInOff decides by the facts of a user.
 */
export const makeSqlCredentialStore = (
  db: SqlDatabase,
  isLocalSignInOff: (facts: LocalSignInFacts) => boolean,
): CredentialStore => {
  const s = statements(db)
  return {
    async tokenByHash(hash) {
      const row = await db.first(s.tokenByHash, { hash })
      return row === undefined ? undefined : grantOf(row)
    },
    async tokenWithProfileByHash(hash) {
      const row = (await db.first(s.tokenWithProfileByHash, { hash })) as DriverRow | undefined
      return row === undefined ? undefined : { ...grantOf(readGrant(row)), profile: readUser(row) }
    },
    async sessionByHash(hash) {
      const row = await db.first(s.sessionByHash, { hash })
      if (row === undefined) return undefined
      const { lastSeenAt, idleExpiresAt, expiresAt, proof } = row
      return { account: stateOf(row), sessionId: row.id, lastSeenAt, idleExpiresAt, expiresAt, proof }
    },
    async passwordByKey(key) {
      const row = await db.first(key.includes('@') ? s.passwordByEmail : s.passwordByName, { key })
      if (row === undefined) return undefined
      const secondFactorRef = row.secondFactorRef
      return {
        account: stateOf(row),
        phc: row.passwordHash,
        hasSecondFactor: secondFactorRef !== undefined,
        secondFactorRef,
        lastLoginAt: row.lastLoginAt,
        isLocalSignInOff: isLocalSignInOff(row),
      }
    },
    async accountByName(name) {
      const row = await db.first(s.accountByName, { key: name.toLowerCase() })
      if (row === undefined) return undefined
      return row.kind === 'user' ? stateOf(row as typeof row & Row<typeof stateRow>) : 'organization'
    },
    async markTokenUsed(id, ownerId, at) {
      const binds = { id, ownerId, at }
      if (db.dialect === 'mysql') await db.run(s.markTokenAndOwner, binds)
      else
        await db.transaction(async (tx) => {
          await tx.run(s.markUser, { id: ownerId, at })
          await tx.run(s.markToken, binds)
        })
    },
    async markPasswordUsed(userId, at) {
      await db.run(s.markUser, { id: userId, at })
    },
    async markSessionSeen(id, at, idleExpiresAt) {
      await db.run(s.markSession, { id, at, idle: idleExpiresAt })
    },
  }
}
