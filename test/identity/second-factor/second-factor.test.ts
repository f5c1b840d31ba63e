import type { ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { AttemptKind } from '../../../core/identity/attempt-ports.ts'
import {
  makeDisableSecondFactor,
  makeEnrollSecondFactor,
  makeOfferSecondFactor,
  makeReplaceRecoveryCodes,
  makeResetSecondFactor,
} from '../../../core/identity/second-factor/enrollment.ts'
import type { User } from '../../../core/identity/types.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { codeAt } from '../one-time-code-of.ts'

const noProof = { password: undefined, passCode: undefined }
const session = { method: 'session' } as const

/** The use cases of one fixture, and an authenticator app for each user. */
const appOf = (fixture: IdentityFixture) => {
  const { deps } = fixture
  const offer = makeOfferSecondFactor(deps)
  const enroll = makeEnrollSecondFactor(deps)
  const code = (seed: string, stepsOff = 0) => codeAt(seed, deps.clock.now(), stepsOff)
  return {
    enroll,
    offer,
    code,
    disable: makeDisableSecondFactor(deps),
    replaceCodes: makeReplaceRecoveryCodes(deps),
    reset: makeResetSecondFactor(deps),
    /**
     * Enrolls with the code of the step before the current one, and lets a step pass, so that the current one is fresh.
     */
    enrolled: async (user: User, call: SignedInCall = callBy(user)) => {
      const seed = unwrap(await offer(call)).seed.reveal()
      const codes = unwrap(await enroll(call, code(seed))).map((one) => one.reveal())
      fixture.passSeconds(30)
      return { seed, codes }
    },
    withPassword: async (login: string, oneTimeCode?: string, text = password) => {
      const proven = await fixture.authenticator.authenticate(
        { kind: 'password', login, password: secret(text), oneTimeCode },
        undefined,
        '192.0.2.1',
      )
      return isLeft(proven) ? proven : fixture.authenticator.spendCode(proven.right, '192.0.2.1')
    },
    proof: (passCode?: string, text = password) => ({ password: secret(text), passCode }),
  }
}

const sessionsOf = async ({ deps }: IdentityFixture, user: User, count: number): Promise<readonly SessionId[]> => {
  const now = deps.clock.now()
  const later = new Date(now.getTime() + 3_600_000)
  const insert = (fill: number) =>
    deps.stores.sessions.insert({
      userId: user.id,
      hash: new Uint8Array(32).fill(fill + user.id * 10),
      sourceIp: '192.0.2.1',
      userAgent: '',
      createdAt: now,
      proof: undefined,
      idleExpiresAt: later,
      expiresAt: later,
    })
  const ids: SessionId[] = []
  for (let n = 1; n <= count; n++) ids.push(await insert(n))
  return ids
}
const liveSessions = async ({ deps }: IdentityFixture, user: User) =>
  (await deps.stores.sessions.list(user.id, deps.clock.now())).map(({ id }) => id)

const actions = async (fixture: IdentityFixture) =>
  (await fixture.auditRows()).map(({ action }) => action).filter((action) => action.startsWith('second_factor'))

onEachDatabase(
  'a password alone opens nothing once a second factor is enrolled, and each code opens once',
  async (t, fixture) => {
    const app = appOf(fixture)
    const ada = await fixture.user('ada')
    await fixture.user('bob')
    t.is(tagOf(await app.withPassword('ada')), 'done')
    const { seed } = await app.enrolled(ada)
    t.is(tagOf(await app.withPassword('ada')), 'OneTimeCodeRequired')
    t.is(tagOf(await app.withPassword('ada', '')), 'OneTimeCodeRequired')
    t.is(tagOf(await app.withPassword('ada', app.code(seed, -1))), 'OneTimeCodeRequired', 'the code that enrolled')
    t.is(
      tagOf(await app.withPassword('ada', app.code(seed), 'wrong')),
      'NotAuthenticated',
      'a code does not replace the password',
    )
    t.is(tagOf(await app.withPassword('ada', app.code(seed))), 'done', 'a wrong password has not used the code up')
    t.is(tagOf(await app.withPassword('ada', app.code(seed))), 'OneTimeCodeRequired', 'the same again')
    t.is(tagOf(await app.withPassword('ada', app.code(seed, 1))), 'done', 'the next one, from a clock that is ahead')
    t.is(tagOf(await app.withPassword('ada', app.code(seed))), 'OneTimeCodeRequired', 'an older step')
    fixture.passSeconds(60)
    t.is(tagOf(await app.withPassword('ada', app.code(seed).replace(/^.../, '$& '))), 'done', 'in two groups')
    t.is(tagOf(await app.withPassword('bob')), 'done', 'another user is not concerned')
  },
)

onEachDatabase('a code that was used on one way in is used on every other', async (t, fixture) => {
  const app = appOf(fixture)
  const ada = await fixture.user('ada')
  const { seed } = await app.enrolled(ada)
  t.is(tagOf(await app.withPassword('ada', app.code(seed))), 'done')
  t.is(tagOf(await app.disable(callBy(ada, session), app.proof(app.code(seed)))), 'ProofRequired')
  t.is(tagOf(await app.replaceCodes(callBy(ada, session), app.proof(app.code(seed)))), 'ProofRequired')
  t.is(tagOf(await app.replaceCodes(callBy(ada, session), app.proof(app.code(seed, 1)))), 'done')
  t.is(tagOf(await app.withPassword('ada', app.code(seed, 1))), 'OneTimeCodeRequired')
})

onEachDatabase('enrolling takes the first code of the newest secret, once', async (t, fixture) => {
  const app = appOf(fixture)
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  t.is(tagOf(await app.enroll(callBy(ada), '123456')), 'OneTimeCodeWrong', 'before a secret was shown')
  const old = unwrap(await app.offer(callBy(ada))).seed.reveal()
  const seed = unwrap(await app.offer(callBy(ada))).seed.reveal()
  const ofBob = unwrap(await app.offer(callBy(bob))).seed.reveal()
  for (const wrong of [app.code(old), app.code(ofBob), app.code(seed, -3), '', 'abcdef', '12345678']) {
    t.is(tagOf(await app.enroll(callBy(ada), wrong)), 'OneTimeCodeWrong', wrong)
  }
  t.is(tagOf(await app.withPassword('ada')), 'done', 'a secret that waits is not asked for')
  const codes = unwrap(await app.enroll(callBy(ada), app.code(seed)))
  t.is(new Set(codes.map((one) => one.reveal())).size, 10)
  t.is(tagOf(await app.enroll(callBy(ada), app.code(seed, 1))), 'SecondFactorEnrolled')
  t.is(tagOf(await app.offer(callBy(ada))), 'SecondFactorEnrolled')
  t.is(tagOf(await app.enroll(callBy(bob), app.code(ofBob))), 'done')
})

onEachDatabase(
  'of many enrolments at once one counts, and the codes it answered are those that are kept',
  async (t, fixture) => {
    const app = appOf(fixture)
    const ada = await fixture.user('ada')
    const seed = unwrap(await app.offer(callBy(ada))).seed.reveal()
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => app.enroll(callBy(ada), app.code(seed))))
    t.deepEqual(outcomes.map(tagOf).sort(), [
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'SecondFactorEnrolled',
      'done',
    ])
    const codes = outcomes.flatMap((one) => (one._tag === 'Right' ? one.right : []))
    t.is(tagOf(await app.withPassword('ada', codes[0]?.reveal())), 'done')
  },
)

onEachDatabase(
  'a recovery code replaces a one-time code, once, and the mail to its owner says how many are left',
  async (t, fixture) => {
    const app = appOf(fixture)
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const { codes } = await app.enrolled(ada)
    const ofBob = await app.enrolled(bob)
    const [first = '', second = ''] = codes
    t.is(tagOf(await app.withPassword('ada', ofBob.codes[0])), 'OneTimeCodeRequired', 'the code of another')
    fixture.posted.splice(0)
    t.is(tagOf(await app.withPassword('ada', first.toUpperCase().replaceAll('-', ' '))), 'done')
    t.is(tagOf(await app.withPassword('ada', first)), 'OneTimeCodeRequired')
    t.deepEqual(
      fixture.posted.map(({ to, subject }) => [to, subject]),
      [['ada@example.org', 'A recovery code was used']],
    )
    t.true(fixture.posted[0]?.paragraphs.some((line) => line.includes('Recovery codes left: 9.')))
    const told = (await fixture.auditRows()).filter(({ action }) => action === 'second_factor.recovery_code_used')
    t.deepEqual(
      told.map((row) => [Number(row.tenant_id), JSON.parse(row.changes)]),
      [[ada.id, { recovery_codes_left: 9 }]],
    )
    t.is(
      tagOf(await app.disable(callBy(ada, session), app.proof(second))),
      'done',
      'a user who lost the phone can remove it',
    )
    t.is(tagOf(await app.withPassword('ada')), 'done')
    t.is(tagOf(await app.withPassword('bob', ofBob.codes[0])), 'done', 'the codes of another are not touched')
  },
)

onEachDatabase('of many at once with one recovery code one gets in', async (t, fixture) => {
  const app = appOf(fixture)
  const { codes } = await app.enrolled(await fixture.user('ada'))
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => app.withPassword('ada', codes[0])))
  t.is(outcomes.filter((one) => tagOf(one) === 'done').length, 1)
})

onEachDatabase('new recovery codes void the old ones', async (t, fixture) => {
  const app = appOf(fixture)
  const ada = await fixture.user('ada')
  t.is(tagOf(await app.replaceCodes(callBy(ada), noProof)), 'SecondFactorMissing')
  const { codes } = await app.enrolled(ada)
  const fresh = unwrap(await app.replaceCodes(callBy(ada), noProof)).map((one) => one.reveal())
  t.deepEqual([fresh.length, fresh.filter((code) => codes.includes(code))], [10, []])
  t.is(tagOf(await app.withPassword('ada', codes[0])), 'OneTimeCodeRequired')
  t.is(tagOf(await app.withPassword('ada', fresh[0])), 'done')
})

/** Each way to prove oneself anew, for what asks for it. */
const proofCases = async (t: ExecutionContext, fixture: IdentityFixture, title: 'disable' | 'replaceCodes') => {
  const app = appOf(fixture)
  const act = app[title]
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const ofBob = await app.enrolled(bob)
  const { seed } = await app.enrolled(ada)
  for (const call of [callBy(ada, session), callBy(ada, { method: 'token' })]) {
    for (const proof of [
      noProof,
      app.proof(),
      { password: undefined, passCode: app.code(seed) },
      app.proof(app.code(seed), 'wrong'),
      app.proof(app.code(ofBob.seed)),
      app.proof(app.code(seed, -1)),
    ]) {
      t.is(tagOf(await act(call, proof)), 'ProofRequired')
    }
  }
  const admin = await fixture.user('boss', { isAdmin: true })
  const sudo = callBy(ada, { impersonator: { userId: admin.id, login: 'boss' } })
  t.is(tagOf(await act(sudo, app.proof(app.code(seed)))), 'ProofRequired', 'while another user acts as ada')
  t.is(
    tagOf(await app.withPassword('ada', app.code(seed))),
    'done',
    'no refusal has changed anything or used the code up',
  )
  fixture.passSeconds(30)
  t.is(tagOf(await act(callBy(ada, session), app.proof(app.code(seed)))), 'done')
}
onEachDatabase('switching off asks for the password and a code in the same request', (t, fixture) =>
  proofCases(t, fixture, 'disable'),
)
onEachDatabase('new recovery codes ask for the password and a code in the same request', (t, fixture) =>
  proofCases(t, fixture, 'replaceCodes'),
)

onEachDatabase(
  'a session that ended and a password that was replaced during the request change nothing',
  async (t, fixture) => {
    const app = appOf(fixture)
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const [ended] = await sessionsOf(fixture, ada, 1)
    const [ofBob] = await sessionsOf(fixture, bob, 1)
    const seed = unwrap(await app.offer(callBy(ada))).seed.reveal()
    await fixture.deps.stores.sessions.removeAll(ada.id, undefined)
    for (const call of [
      callBy(ada, { ...session, sessionId: ended as SessionId }),
      callBy(ada, { ...session, sessionId: ofBob as SessionId }),
      callBy(ada, { provenPhc: secret('plain:an older passphrase') }),
    ]) {
      t.is(tagOf(await app.enroll(call, app.code(seed))), 'NotAuthenticated')
      t.is(tagOf(await app.offer(call)), 'NotAuthenticated')
    }
    unwrap(await app.enroll(callBy(ada), app.code(seed)))
    t.is(
      tagOf(await app.disable(callBy(ada, { provenPhc: secret('plain:an older passphrase') }), noProof)),
      'NotAuthenticated',
    )
    t.is(tagOf(await app.withPassword('ada')), 'OneTimeCodeRequired')
  },
)

onEachDatabase(
  'what was proven before a second factor was enrolled, or with another one, proves nothing after it',
  async (t, fixture) => {
    const app = appOf(fixture)
    const ada = await fixture.user('ada')
    const before = unwrap(await app.withPassword('ada'))
    t.is(tagOf(await fixture.authenticator.authenticateAgain(before)), 'done')
    const first = await app.enrolled(ada)
    const within = unwrap(await app.withPassword('ada', app.code(first.seed)))
    const refused = async (principal: typeof before, what: string) => {
      const call = { ...callOf(), principal }
      t.is(tagOf(await app.disable(call, noProof)), 'NotAuthenticated', what)
      t.is(tagOf(await app.replaceCodes(call, noProof)), 'NotAuthenticated', what)
      t.is(tagOf(await fixture.authenticator.authenticateAgain(principal)), 'NotAuthenticated', what)
    }
    await refused(before, 'proven without a code')
    t.is(tagOf(await fixture.authenticator.authenticateAgain(within)), 'done')
    unwrap(await app.reset(callBy(await fixture.user('boss', { isAdmin: true })), 'ada'))
    fixture.passSeconds(60)
    await app.enrolled(ada)
    await refused(within, 'proven with the code of another one')
  },
)

for (const change of ['disable', 'replaceCodes'] as const) {
  onEachDatabase(
    `a second factor that is enrolled between the proof by body and the change stays as it is (${change})`,
    async (t, fixture) => {
      const app = appOf(fixture)
      const ada = await fixture.user('ada')
      const { hasher } = fixture.deps
      let isDone = false
      const enrollsMeanwhile: typeof hasher.verify = async (phc, given) => {
        if (!isDone) await app.enrolled(ada)
        isDone = true
        return hasher.verify(phc, given)
      }
      const deps = { ...fixture.deps, hasher: { ...hasher, verify: enrollsMeanwhile } }
      const act = change === 'disable' ? makeDisableSecondFactor(deps) : makeReplaceRecoveryCodes(deps)
      t.is(tagOf(await act(callBy(ada, session), app.proof())), 'NotAuthenticated')
      t.is(tagOf(await app.withPassword('ada')), 'OneTimeCodeRequired')
    },
  )
}

onEachDatabase('a caller by HTTP Basic has proven password and code already', async (t, fixture) => {
  const app = appOf(fixture)
  const ada = await fixture.user('ada')
  t.is(tagOf(await app.disable(callBy(ada), noProof)), 'SecondFactorMissing')
  await app.enrolled(ada)
  t.is(tagOf(await app.disable(callBy(ada), noProof)), 'done')
  t.is(tagOf(await app.disable(callBy(ada), noProof)), 'SecondFactorMissing')
})

onEachDatabase('enrolling and switching off end the other sessions of that user, and no other', async (t, fixture) => {
  const app = appOf(fixture)
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const [first] = await sessionsOf(fixture, ada, 3)
  const [ofBob] = await sessionsOf(fixture, bob, 1)
  const call = callBy(ada, { ...session, sessionId: first as SessionId })
  const { seed } = await app.enrolled(ada, call)
  t.deepEqual(await liveSessions(fixture, ada), [first])
  await fixture.deps.stores.sessions.removeAll(ada.id, undefined)
  const [kept] = await sessionsOf(fixture, ada, 2)
  t.is(
    tagOf(await app.disable(callBy(ada, { ...session, sessionId: kept as SessionId }), app.proof(app.code(seed)))),
    'done',
  )
  t.deepEqual([await liveSessions(fixture, ada), await liveSessions(fixture, bob)], [[kept], [ofBob]])
})

onEachDatabase('a site admin removes a lost second factor, never the own one', async (t, fixture) => {
  const app = appOf(fixture)
  const [ada, boss] = [await fixture.user('ada'), await fixture.user('boss', { isAdmin: true })]
  const call = callBy(boss)
  t.is(tagOf(await app.reset(call, 'nobody')), 'UserMissing')
  t.is(tagOf(await app.reset(call, 'ada')), 'SecondFactorMissing')
  unwrap(await app.offer(callBy(ada)))
  t.is(tagOf(await app.reset(call, 'ada')), 'SecondFactorMissing', 'one that waits for its first code is none')
  await app.enrolled(ada)
  await app.enrolled(boss)
  await sessionsOf(fixture, ada, 2)
  fixture.posted.splice(0)
  t.is(tagOf(await app.reset(call, 'boss')), 'OwnSecondFactor')
  t.is(
    tagOf(
      await app.reset(callBy(ada, { isSiteAdmin: true, impersonator: { userId: boss.id, login: 'boss' } }), 'boss'),
    ),
    'OwnSecondFactor',
  )
  t.is(tagOf(await app.reset(call, 'ADA')), 'done')
  t.is(tagOf(await app.withPassword('ada')), 'done')
  t.deepEqual(await liveSessions(fixture, ada), [])
  t.is(tagOf(await app.withPassword('boss')), 'OneTimeCodeRequired')
  t.deepEqual(
    fixture.posted.map(({ to, subject }) => [to, subject]),
    [['ada@example.org', 'An administrator removed your second factor']],
  )
  t.false(JSON.stringify(fixture.posted).includes('192.0.2'), 'the address of the administrator is not told')
  t.is(tagOf(await app.reset(callOf(), 'boss')), 'done', 'the operator at the command line may, for the last admin')
})

onEachDatabase('every change is recorded in the log of its user and mailed', async (t, fixture) => {
  const app = appOf(fixture)
  const ada = await fixture.user('ada')
  fixture.posted.splice(0)
  const { seed, codes } = await app.enrolled(ada)
  unwrap(await app.replaceCodes(callBy(ada), noProof))
  unwrap(await app.disable(callBy(ada), noProof))
  t.deepEqual(await actions(fixture), [
    'second_factor.enrolled',
    'second_factor.recovery_codes_replaced',
    'second_factor.disabled',
  ])
  t.deepEqual(
    fixture.posted.map(({ subject }) => subject),
    ['A second factor was set up', 'Your recovery codes were replaced', 'Your second factor was switched off'],
  )
  const rows = (await fixture.auditRows()).filter(({ action }) => action.startsWith('second_factor'))
  t.true(rows.every((row) => Number(row.tenant_id) === ada.id))
  for (const text of [seed, ...codes]) t.false(JSON.stringify([fixture.posted, rows]).includes(text))
})

onEachDatabase('what cannot be mailed does not happen', async (t, fixture) => {
  const app = appOf(fixture)
  const { deps } = fixture
  const ada = await fixture.user('ada')
  const unitOfWork: typeof deps.unitOfWork = {
    run: (call, work) =>
      deps.unitOfWork.run(call, (stores) =>
        work({ ...stores, mail: { post: () => Promise.reject(new Error('no outbox')) } }),
      ),
  }
  const seed = unwrap(await app.offer(callBy(ada))).seed.reveal()
  await t.throwsAsync(makeEnrollSecondFactor({ ...deps, unitOfWork })(callBy(ada), app.code(seed)), {
    message: 'no outbox',
  })
  t.is(tagOf(await app.withPassword('ada')), 'done')
  t.is(tagOf(await app.enroll(callBy(ada), app.code(seed))), 'done', 'the code is not lost either')
  await t.throwsAsync(makeDisableSecondFactor({ ...deps, unitOfWork })(callBy(ada), noProof), { message: 'no outbox' })
  t.is(tagOf(await app.withPassword('ada')), 'OneTimeCodeRequired')
  t.deepEqual(await actions(fixture), ['second_factor.enrolled'])
})

onEachDatabase(
  'the database holds no seed and no recovery code in the clear, and no seal fits another row',
  async (t, fixture, db) => {
    const app = appOf(fixture)
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const { seed, codes } = await app.enrolled(ada)
    const ofBob = await app.enrolled(bob)
    const tables = await Promise.all(
      ['two_factors', 'recovery_codes', 'audit_events'].map((table) =>
        db.query<Record<string, unknown>>((k) => k(table).select('*')),
      ),
    )
    const texts = tables
      .flat()
      .flatMap((row) =>
        Object.values(row).map((value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
        ),
      )
    t.true(texts.length > 50)
    for (const clear of [seed, ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
      t.false(texts.some((text) => text.includes(clear)))
    // Somebody who may write to the database puts the own seal into the row of another.
    const [own] = await db.query<{ sealed_seed: Uint8Array; ref: string }>((k) =>
      k('two_factors').where('user_id', bob.id).select('sealed_seed', 'ref'),
    )
    await db.query((k) =>
      k('two_factors').where('user_id', ada.id).update({ sealed_seed: own?.sealed_seed, ref: own?.ref }),
    )
    await t.throwsAsync(app.withPassword('ada', app.code(ofBob.seed)))
  },
)

onEachDatabase('every wrong code is counted, on each way in; a missing one is not', async (t, fixture) => {
  const counted: AttemptKind[] = []
  const { guard } = fixture.deps.throttle
  fixture.deps.throttle.guard = async (attempt, check) => {
    const guarded = await guard(attempt, check)
    if (guarded.kind === 'wrong') counted.push(attempt.kind)
    return guarded
  }
  const app = appOf(fixture)
  const ada = await fixture.user('ada')
  const seed = unwrap(await app.offer(callBy(ada))).seed.reveal()
  const kindsOf = async (work: () => Promise<unknown>): Promise<readonly AttemptKind[]> => (
    counted.splice(0),
    await work(),
    counted.splice(0)
  )
  t.deepEqual(await kindsOf(() => app.enroll(callBy(ada), app.code(seed, 5))), ['one-time-code'])
  unwrap(await app.enroll(callBy(ada), app.code(seed)))
  t.deepEqual(await kindsOf(() => app.withPassword('ada', app.code(seed))), ['one-time-code'], 'a used one')
  t.deepEqual(await kindsOf(() => app.withPassword('ada', 'zzzz-zzzz-zzzz-zzzz')), ['one-time-code'])
  t.deepEqual(await kindsOf(() => app.disable(callBy(ada, session), app.proof(app.code(seed)))), ['one-time-code'])
  t.deepEqual(await kindsOf(() => app.disable(callBy(ada, session), app.proof(undefined, 'wrong'))), ['password'])
  t.deepEqual(await kindsOf(() => app.withPassword('ada')), [])
})
