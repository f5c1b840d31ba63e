import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeListedCommonPasswords } from '../../adapters/security/passwords.ts'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import { otpauthOneTimePasswords } from '../../adapters/security/one-time-passwords.ts'
import { makeSimpleWebAuthn } from '../../adapters/security/webauthn.ts'
import { sha256TokenDigest, makeHmacDigest } from '../../adapters/security/digests.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { isLocalSignInOff } from '../../core/identity-providers/local-sign-in.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import { makeAuthenticator } from '../../core/identity/authentication/authenticator.ts'
import { makeSessionResumption } from '../../core/identity/sessions/remembered-logins.ts'
import { makeCreateUser } from '../../core/identity/accounts/users.ts'
import type { CreateUserInput } from '../../core/identity/accounts/users.ts'
import type { Background, IdentitySettings, PasswordHasher } from '../../core/identity/ports.ts'
import { makeUsePasskey } from '../../core/identity/passkeys/assertions.ts'
import { makeSealedSeeds } from '../../core/identity/second-factor/codes.ts'
import type { Attempt, AttemptThrottle, Guarded } from '../../core/identity/attempt-ports.ts'
import type { User } from '../../core/identity/types.ts'
import {
  makeCheckOneTimeCode,
  makeSpendOneTimeCode,
  makeUseOneTimeCode,
  makeUseRecoveryCode,
} from '../../core/identity/second-factor/one-time-codes.ts'
import type { Mail } from '../../core/mail/ports.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { callOf } from '../sql/call.ts'
import { unwrap } from '../support/outcome.ts'
import { heldObjects } from '../support/object-rows.ts'

export const testSettings: IdentitySettings = {
  baseUrl: () => 'https://platform.example',
  sessionCookie: 'moorage_session',
  passwordMinLength: 12,
  sessionIdleSeconds: 3600,
  sessionSeconds: 86_400,
  rememberSeconds: 2_592_000,
}

/** A hasher that costs nothing; it counts what it was asked, and `old:` hashes want to be made anew. */
const makeCheapHasher = () => {
  let verified = 0
  const hasher: PasswordHasher = {
    hash: (password) => Promise.resolve(`plain:${password.reveal()}`),
    verify: (phc, password) => {
      verified += 1
      return Promise.resolve(phc === `plain:${password.reveal()}` || phc === `old:${password.reveal()}`)
    },
    needsRehash: (phc) => phc.startsWith('old:'),
    dummyPhc: () => Promise.resolve('nobody'),
  }
  return { hasher, verified: () => verified }
}

export const password = 'a long passphrase'

/** Counts nothing. */
const uncounted: AttemptThrottle = {
  guard: async <E, A>(_attempt: Attempt, check: () => Promise<Either<E, A | undefined>>): Promise<Guarded<E, A>> => {
    const answer = await check()
    if (isLeft(answer)) return { kind: 'judged', answer }
    return answer.right === undefined
      ? { kind: 'wrong', hasLocked: false }
      : { kind: 'judged', answer: right(answer.right) }
  },
  unlock: () => Promise.resolve(false),
}

const testBox = makeSecretBox(openKeyring(newKeyring()).wrapper)

/** Identity over one database, with a clock that the test moves and work in the background that the test waits for. */
export const makeIdentityFixture = (db: SqlDatabase) => {
  let now = new Date('2026-05-01T08:00:00.000Z')
  const pending: Promise<void>[] = []
  const posted: Mail[] = []
  const background: Background = { run: (_what, work) => void pending.push(work()) }
  const bindStores = makeSqlIdentityStores(db, heldObjects(db))
  const audit = makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(32))))
  const { hasher, verified } = makeCheapHasher()
  const plain = {
    stores: bindStores(db),
    unitOfWork: makeSqlUnitOfWork(
      db,
      (tx, trail) => ({
        ...bindStores(tx),
        audit: trail,
        mail: { post: (mail: Mail) => Promise.resolve(void posted.push(mail)) },
      }),
      audit,
    ),
    credentials: makeSqlCredentialStore(db, isLocalSignInOff),
    hasher,
    digest: sha256TokenDigest,
    passwords: { minLength: 12, common: makeListedCommonPasswords() },
    domains: idnaDomainNames,
    entropy: systemEntropy,
    clock: { now: () => now },
    background,
    caches: lruCaches,
    settings: testSettings,
    throttle: { ...uncounted },
    allowances: { take: () => Promise.resolve(undefined) },
    onLocked: () => undefined,
    secretBox: testBox,
    oneTimePasswords: otpauthOneTimePasswords,
    webAuthn: makeSimpleWebAuthn(testSettings.baseUrl()),
  }
  const oneTimeCodes = {
    ...plain,
    seeds: makeSealedSeeds(testBox),
    secondFactors: plain.stores.secondFactors,
    useRecoveryCode: makeUseRecoveryCode(plain),
    usePasskey: makeUsePasskey(plain),
  }
  const codes = {
    useOneTimeCode: makeUseOneTimeCode(oneTimeCodes),
    checkOneTimeCode: makeCheckOneTimeCode(oneTimeCodes),
    spendOneTimeCode: makeSpendOneTimeCode(oneTimeCodes),
  }
  const deps = {
    ...plain,
    ...codes,
    usePasskey: oneTimeCodes.usePasskey,
    busPasses: { passFor: () => Promise.resolve(undefined) },
  }
  const createUser = makeCreateUser(deps)
  return {
    deps,
    authenticator: makeAuthenticator(deps),
    resumption: makeSessionResumption(deps),
    verified,
    /** Mail that was posted, also by transactions that were rolled back. */
    posted,
    passSeconds: (seconds: number) => void (now = new Date(now.getTime() + seconds * 1000)),
    /** Waits for all background work so far; answers how much there was. */
    settled: async () => (await Promise.all(pending.splice(0))).length,
    user: async (login: string, input: Partial<CreateUserInput> = {}): Promise<User> =>
      unwrap(
        await createUser(callOf(), { login, email: `${login}@example.org`, password: secret(password), ...input }),
      ),
    auditRows: () =>
      db.query<{ action: string; changes: string; tenant_id: number | string }>((k) =>
        k('audit_events').orderBy('id').select('action', 'changes', 'tenant_id'),
      ),
  }
}
export type IdentityFixture = ReturnType<typeof makeIdentityFixture>

/** A call by a user, with everything that a password allows. */
export const callBy = (user: User, extras: Partial<Principal> = {}): SignedInCall => ({
  ...callOf(),
  principal: {
    userId: user.id,
    login: user.login,
    isSiteAdmin: user.isAdmin,
    method: 'password',
    scopes: fullScope,
    ...extras,
  },
})
