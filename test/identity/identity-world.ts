import { randomBytes } from 'node:crypto'
import { right } from 'fp-ts/lib/Either.js'
import { makeListedCommonPasswords } from '../../adapters/security/common-passwords.ts'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { sha256TokenDigest } from '../../adapters/security/sha256-token-digest.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../adapters/sql/audit/hmac-digest.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/unit-of-work.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import { makeAuthenticator } from '../../core/identity/authenticate.ts'
import { makeCreateUser } from '../../core/identity/create-user.ts'
import type { CreateUserInput } from '../../core/identity/create-user.ts'
import type { Background, IdentitySettings, PasswordHasher } from '../../core/identity/ports.ts'
import type { User } from '../../core/identity/types.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { fullScope } from '../../core/kernel/token-scope.ts'
import { callOf } from '../sql/call.ts'
import { unwrap } from '../support/outcome.ts'

export const testSettings: IdentitySettings = {
  baseUrl: () => 'https://platform.example',
  sessionCookie: 'moorage_session',
  passwordMinLength: 12,
  sessionIdleSeconds: 3600,
  sessionSeconds: 86_400,
  rememberSeconds: 2_592_000,
}

/** A hasher that costs nothing; it counts what it was asked, and `old:` hashes want to be made anew. */
export const makeCheapHasher = () => {
  let verified = 0
  const hasher: PasswordHasher = {
    hash: (password) => Promise.resolve(right(`plain:${password.reveal()}`)),
    verify: (phc, password) => {
      verified += 1
      return Promise.resolve(right(phc === `plain:${password.reveal()}` || phc === `old:${password.reveal()}`))
    },
    needsRehash: (phc) => phc.startsWith('old:'),
    dummyPhc: () => Promise.resolve('nobody'),
  }
  return { hasher, verified: () => verified }
}

export const password = 'a long passphrase'

/** Identity over one database, with a clock that the test moves and work in the background that the test waits for. */
export const makeIdentityWorld = (db: SqlDatabase) => {
  let now = new Date('2026-05-01T08:00:00.000Z')
  const pending: Promise<void>[] = []
  const background: Background = { run: (_what, work) => void pending.push(work()) }
  const bindStores = makeSqlIdentityStores(db)
  const audit = makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(32))))
  const { hasher, verified } = makeCheapHasher()
  const deps = {
    stores: bindStores(db),
    unitOfWork: makeSqlUnitOfWork(db, (tx, trail) => ({ ...bindStores(tx), audit: trail }), audit),
    credentials: makeSqlCredentialStore(db),
    hasher,
    digest: sha256TokenDigest,
    passwords: { minLength: 12, common: makeListedCommonPasswords() },
    domains: idnaDomainNames,
    entropy: { bytes: (length: number) => new Uint8Array(randomBytes(length)) },
    clock: { now: () => now },
    background,
    settings: testSettings,
  }
  const createUser = makeCreateUser(deps)
  return {
    deps,
    authenticator: makeAuthenticator(deps),
    verified,
    passSeconds: (seconds: number) => void (now = new Date(now.getTime() + seconds * 1000)),
    /** Waits for all background work so far; answers how much there was. */
    settled: async () => (await Promise.all(pending.splice(0))).length,
    user: async (login: string, input: Partial<CreateUserInput> = {}): Promise<User> =>
      unwrap(await createUser(callOf(), { login, email: `${login}@example.org`, password: secret(password), ...input })),
    auditRows: () => db.query<{ action: string; changes: string; tenant_id: number | string }>((k) => k('audit_events').orderBy('id').select('action', 'changes', 'tenant_id')),
  }
}
export type IdentityWorld = ReturnType<typeof makeIdentityWorld>

/** A call by a user, with everything that a password allows. */
export const callBy = (user: User, extras: Partial<Principal> = {}): SignedInCall => ({
  ...callOf(),
  principal: { userId: user.id, login: user.login, isSiteAdmin: user.isAdmin, method: 'password', scopes: fullScope, ...extras },
})
