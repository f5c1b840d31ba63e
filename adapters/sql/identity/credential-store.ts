import type { Knex } from 'knex'
import type { SessionId, TokenId } from '../../../core/kernel/ids.ts'
import type { CredentialStore, TokenGrant } from '../../../core/identity/ports.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import type { SessionRow, StateRow, UserRow } from './rows.ts'
import {
  onlyClusterOf,
  optionalInstant,
  orgIdOf,
  selectUsers,
  sessionColumns,
  sessionOf,
  stateColumns,
  stateOf,
  userOf,
  wordsOf,
} from './rows.ts'

/** The columns of a token that a request needs; `t` is the token's row. */
const grantColumns = [
  't.id as token_id',
  't.scopes',
  't.only_org_id',
  't.only_cluster_id',
  't.created_at as token_created_at',
  't.expires_at as token_expires_at',
  't.last_used_at',
] as const

interface GrantRow extends StateRow {
  readonly token_id: number | string
  readonly scopes: string
  readonly only_org_id: number | string | null
  readonly only_cluster_id: number | string | null
  readonly token_created_at: number | string
  readonly token_expires_at: number | string | null
  readonly last_used_at: number | string | null
}

const grantOf = (row: GrantRow): TokenGrant => ({
  account: stateOf(row),
  tokenId: Number(row.token_id) as TokenId,
  scopeWords: wordsOf(row.scopes),
  onlyOrgId: orgIdOf(row.only_org_id),
  ...onlyClusterOf(row),
  createdAt: new Date(Number(row.token_created_at)),
  expiresAt: optionalInstant(row.token_expires_at),
  lastUsedAt: optionalInstant(row.last_used_at),
})

/**
 * Selects the reference of the enrolled second factor of the user `u`. A factor without a confirmed first code does not
 * count.
 */
const enrolledSecondFactor = (k: Knex): Knex.Raw =>
  k.raw(
    '(select f.ref from two_factors as f where f.user_id = u.id and f.enrolled_at is not null) as second_factor_ref',
  )

const statements = (db: SqlDatabase) => ({
  tokenByHash: db.prepare((k, p: (n: 'hash') => Knex.Value) =>
    k('access_tokens as t')
      .join('users as u', 'u.id', 't.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('t.token_hash', p('hash'))
      .select(...stateColumns, ...grantColumns),
  ),
  tokenWithProfileByHash: db.prepare((k, p: (n: 'hash') => Knex.Value) =>
    selectUsers(k)
      .join('access_tokens as t', 't.user_id', 'u.id')
      .where('t.token_hash', p('hash'))
      .select('u.id as user_id', ...grantColumns),
  ),
  sessionByHash: db.prepare((k, p: (n: 'hash') => Knex.Value) =>
    k('sessions as s')
      .join('users as u', 'u.id', 's.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('s.session_hash', p('hash'))
      .select(
        ...stateColumns,
        ...sessionColumns.filter((column) => column !== 'user_id').map((column) => `s.${column}`),
      ),
  ),
  passwordByName: db.prepare((k, p: (n: 'key') => Knex.Value) =>
    k('accounts as a')
      .join('users as u', 'u.id', 'a.id')
      .where('a.lower_name', p('key'))
      // A robot account has no password, so the attempt costs the same as one for an unknown name.
      .whereNull('u.robot_org_id')
      .select(...stateColumns, 'u.password_hash', 'u.last_login_at', enrolledSecondFactor(k)),
  ),
  passwordByEmail: db.prepare((k, p: (n: 'key') => Knex.Value) =>
    k('emails as e')
      .join('users as u', 'u.id', 'e.user_id')
      .join('accounts as a', 'a.id', 'u.id')
      .where('e.lower_email', p('key'))
      .where('e.verified', 1)
      .select(...stateColumns, 'u.password_hash', 'u.last_login_at', enrolledSecondFactor(k)),
  ),
  accountByName: db.prepare((k, p: (n: 'key') => Knex.Value) =>
    k('accounts as a')
      .leftJoin('users as u', 'u.id', 'a.id')
      .where('a.lower_name', p('key'))
      .whereNull('u.robot_org_id')
      .select('a.kind', ...stateColumns),
  ),
  markToken: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) =>
    k('access_tokens')
      .where('id', p('id'))
      .where((older) => older.whereNull('last_used_at').orWhere('last_used_at', '<', p('at')))
      .update({ last_used_at: p('at') }),
  ),
  // MySQL changes both rows in one statement. The owner's row is locked first, as by every change of the owner's
  // tokens.
  markTokenAndOwner: db.prepare((k, p: (n: 'id' | 'ownerId' | 'at') => Knex.Value & number) =>
    k.raw(
      `update users as u straight_join access_tokens as t on t.user_id = u.id
      set u.last_login_at = greatest(coalesce(u.last_login_at, 0), cast(? as signed)), t.last_used_at = greatest(coalesce(t.last_used_at, 0), cast(? as signed))
      where u.id = ? and t.id = ?`,
      [p('at'), p('at'), p('ownerId'), p('id')],
    ),
  ),
  markUser: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) =>
    k('users')
      .where('id', p('id'))
      .where((older) => older.whereNull('last_login_at').orWhere('last_login_at', '<', p('at')))
      .update({ last_login_at: p('at') }),
  ),
  markSession: db.prepare((k, p: (n: 'id' | 'at' | 'idle') => Knex.Value) =>
    k('sessions')
      .where('id', p('id'))
      .where('last_seen_at', '<', p('at'))
      .update({ last_seen_at: p('at'), idle_expires_at: p('idle') }),
  ),
})

type PasswordRow = StateRow &
  Pick<UserRow, 'last_login_at'> & { readonly password_hash: string; readonly second_factor_ref: string | null }

/** Reads credentials directly from the pool, with one prepared query each and no transaction. */
export const makeSqlCredentialStore = (db: SqlDatabase): CredentialStore => {
  const s = statements(db)
  return {
    async tokenByHash(hash) {
      const row = await db.first<GrantRow>(s.tokenByHash, { hash })
      return row === undefined ? undefined : grantOf(row)
    },
    async tokenWithProfileByHash(hash) {
      const row = await db.first<GrantRow & UserRow>(s.tokenWithProfileByHash, { hash })
      return row === undefined ? undefined : { ...grantOf(row), profile: userOf(row) }
    },
    async sessionByHash(hash) {
      const row = await db.first<SessionRow & StateRow>(s.sessionByHash, { hash })
      if (row === undefined) return undefined
      const { lastSeenAt, idleExpiresAt, expiresAt } = sessionOf(row)
      return { account: stateOf(row), sessionId: Number(row.id) as SessionId, lastSeenAt, idleExpiresAt, expiresAt }
    },
    async passwordByKey(key) {
      const row = await db.first<PasswordRow>(key.includes('@') ? s.passwordByEmail : s.passwordByName, { key })
      if (row === undefined) return undefined
      const secondFactorRef = row.second_factor_ref ?? undefined
      return {
        account: stateOf(row),
        phc: row.password_hash,
        hasSecondFactor: secondFactorRef !== undefined,
        secondFactorRef,
        lastLoginAt: optionalInstant(row.last_login_at),
      }
    },
    async accountByName(name) {
      const row = await db.first<StateRow & { readonly kind: string }>(s.accountByName, { key: name.toLowerCase() })
      if (row === undefined) return undefined
      return row.kind === 'user' ? stateOf(row) : 'organization'
    },
    async markTokenUsed(id, ownerId, at) {
      const binds = { id, ownerId, at: at.getTime() }
      if (db.dialect === 'mysql') await db.run(s.markTokenAndOwner, binds)
      else
        await db.transaction(async (tx) => {
          await tx.run(s.markUser, { id: ownerId, at: at.getTime() })
          await tx.run(s.markToken, binds)
        })
    },
    async markPasswordUsed(userId, at) {
      await db.run(s.markUser, { id: userId, at: at.getTime() })
    },
    async markSessionSeen(id, at, idleExpiresAt) {
      await db.run(s.markSession, { id, at: at.getTime(), idle: idleExpiresAt.getTime() })
    },
  }
}
