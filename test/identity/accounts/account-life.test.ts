import { isRight } from 'fp-ts/lib/Either.js'
import {
  makeDeactivateAccount,
  makeDeleteOwnAccount,
  makeDeleteUser,
  makePurgeAccounts,
  makeReactivateAccount,
} from '../../../core/identity/accounts/removal.ts'
import { makeEditUser, makeRenameUser, makeUnlockUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeEnrollSecondFactor, makeOfferSecondFactor } from '../../../core/identity/second-factor/enrollment.ts'
import { makeCreateToken } from '../../../core/identity/tokens/access-tokens.ts'
import type { User } from '../../../core/identity/types.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { callOf } from '../../sql/call.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import type { IdentityFixture } from '../identity-fixture.ts'
import { callBy, makeIdentityFixture, password } from '../identity-fixture.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { codeAt } from '../one-time-code-of.ts'
import { isMember, ownedOrganization } from '../owned-organization.ts'

const day = 24 * 3600
const deactivate = (fixture: IdentityFixture, user: User, by = user) =>
  makeDeactivateAccount(fixture.deps)(callBy(by), user.id)
const signsIn = async (fixture: IdentityFixture, login: string): Promise<boolean> =>
  isRight(
    await fixture.authenticator.authenticate(
      { kind: 'password', login, password: secret(password), oneTimeCode: undefined },
      undefined,
      '192.0.2.7',
    ),
  )

onEachDatabase(
  'a deactivated account cannot be used by password or token, and comes back without the token',
  async (t, fixture) => {
    const [root, ada] = [await fixture.user('root', { isAdmin: true }), await fixture.user('ada')]
    const token = unwrap(
      await makeCreateToken(fixture.deps)(callBy(ada), {
        owner: { userId: ada.id, login: 'ada' },
        name: 'ci',
        scopes: ['all'],
        expiresAt: undefined,
      }),
    )
    const byToken = async () =>
      isRight(await fixture.authenticator.authenticate({ kind: 'token', token: token.value }, undefined, '192.0.2.7'))
    t.true(await byToken())
    unwrap(await deactivate(fixture, ada))
    t.deepEqual([await byToken(), await signsIn(fixture, 'ada')], [false, false])
    unwrap(await deactivate(fixture, ada))
    t.is(
      tagOf(await makeReactivateAccount(fixture.deps)(callBy(root), root.id)),
      'UserMissing',
      'one that is not deactivated',
    )
    unwrap(await makeReactivateAccount(fixture.deps)(callBy(root), ada.id))
    t.deepEqual([await byToken(), await signsIn(fixture, 'ada')], [false, true])
    const actions = (await fixture.auditRows()).map(({ action }) => action)
    t.is(actions.filter((action) => action === 'user.deactivated').length, 1)
    t.is(actions.at(-1), 'user.reactivated')
  },
)

onEachDatabase('unlocking enables neither a deactivated nor an unconfirmed account', async (t, fixture) => {
  const [root, ada, bob, cyd] = [
    await fixture.user('root', { isAdmin: true }),
    await fixture.user('ada'),
    await fixture.user('bob'),
    await fixture.user('cyd'),
  ]
  unwrap(await deactivate(fixture, ada))
  await fixture.deps.stores.accountLife.markUnconfirmed(bob.id, fixture.deps.clock.now())
  unwrap(await makeEditUser(fixture.deps)(callBy(root), { login: 'cyd', isActive: false }))
  const unlock = makeUnlockUser(fixture.deps)
  t.deepEqual(
    [
      unwrap(await unlock(callBy(root), 'ada')),
      unwrap(await unlock(callBy(root), 'bob')),
      unwrap(await unlock(callBy(root), 'cyd')),
    ],
    [false, false, true],
  )
  t.deepEqual(
    [await signsIn(fixture, 'ada'), await signsIn(fixture, 'bob'), await signsIn(fixture, cyd.login)],
    [false, false, true],
  )
})

onEachDatabase(
  'the last admin and the only active owner cannot be deactivated, and get the reasons',
  async (t, fixture, db) => {
    const [root, ada, bob] = [
      await fixture.user('root', { isAdmin: true }),
      await fixture.user('ada'),
      await fixture.user('bob'),
    ]
    t.is(tagOf(await deactivate(fixture, root)), 'AccountInUse')
    await ownedOrganization(db, 'alone', [ada.id], [bob.id])
    await ownedOrganization(db, 'shared', [ada.id, bob.id])
    t.like(await deactivate(fixture, ada), {
      left: { tag: 'AccountInUse', kind: 'Unprocessable', errors: ['organization alone'] },
    })
    unwrap(await deactivate(fixture, bob))
    t.like(
      await deactivate(fixture, ada),
      { left: { errors: ['organization alone', 'organization shared'] } },
      'an owner who is switched off owns nothing',
    )
    t.true(await signsIn(fixture, 'ada'))
  },
)

onEachDatabase('of two owners who deactivate themselves at once one stays', async (t, fixture, db) => {
  for (let round = 0; round < 5; round++) {
    const users = [await fixture.user(`ann${round}`), await fixture.user(`ben${round}`)]
    await ownedOrganization(
      db,
      `org${round}`,
      users.map(({ id }) => id),
    )
    const outcomes = await Promise.all(users.map((user) => deactivate(makeIdentityFixture(db), user)))
    t.deepEqual(outcomes.map(tagOf).sort(), ['AccountInUse', 'done'])
  }
})

onEachDatabase('of two admins of whom each removes the other in another way one stays', async (t, fixture, db) => {
  for (let round = 0; round < 5; round++) {
    const [a, b] = [
      await fixture.user(`adm${round}`, { isAdmin: true }),
      await fixture.user(`boss${round}`, { isAdmin: true }),
    ]
    const first =
      round % 2 === 0
        ? makeEditUser(makeIdentityFixture(db).deps)(callBy(a), { login: b.login, isAdmin: false })
        : makeDeleteUser(makeIdentityFixture(db).deps)(callBy(a), { login: b.login })
    const outcomes = await Promise.all([first, deactivate(makeIdentityFixture(db), a)])
    t.is(outcomes.map(tagOf).filter((tag) => tag === 'done').length, 1)
    const acting = await fixture.deps.stores.users.lockActiveAdmins()
    t.is(acting.length, 1)
    // The one who is left goes by the store, so that the next round has two again.
    for (const id of acting) await fixture.deps.stores.users.update(id, { isAdmin: false })
  }
})

onEachDatabase(
  'deactivated accounts go after 30 days, unconfirmed ones after 7, and no other',
  async (t, fixture, db) => {
    const [ada, bob, cyd, dan, root] = [
      await fixture.user('ada'),
      await fixture.user('bob'),
      await fixture.user('cyd'),
      await fixture.user('dan'),
      await fixture.user('root', { isAdmin: true }),
    ]
    const purge = makePurgeAccounts(fixture.deps)
    unwrap(await deactivate(fixture, ada))
    await fixture.deps.stores.accountLife.markUnconfirmed(bob.id, fixture.deps.clock.now())
    unwrap(await makeEditUser(fixture.deps)(callBy(root), { login: 'cyd', isActive: false }))
    fixture.passSeconds(7 * day - 60)
    t.deepEqual(unwrap(await purge(callOf())), { removed: 0, kept: 0 })
    fixture.passSeconds(120)
    t.deepEqual(unwrap(await purge(callOf())), { removed: 1, kept: 0 })
    t.is(await fixture.deps.stores.users.byId(bob.id), undefined)
    fixture.passSeconds(23 * day)
    const shared = await ownedOrganization(db, 'shared', [dan.id], [ada.id])
    t.deepEqual(unwrap(await purge(callOf())), { removed: 1, kept: 0 })
    t.is(await fixture.deps.stores.users.byId(ada.id), undefined)
    t.false(await isMember(db, shared, ada.id))
    t.truthy(await fixture.deps.stores.users.byId(cyd.id), 'an administrator switched this one off')
    t.deepEqual((await fixture.auditRows()).filter(({ action }) => action === 'user.purged').length, 2)
    unwrap(await makeRenameUser(fixture.deps)(callBy(root), { login: 'dan', newLogin: 'ada' }))
  },
)

onEachDatabase('an account on which an organization depends is kept, and hides no other', async (t, fixture, db) => {
  const [ada, bob, cyd] = [await fixture.user('ada'), await fixture.user('bob'), await fixture.user('cyd')]
  const orgId = await ownedOrganization(db, 'acme', [ada.id, bob.id], [cyd.id])
  unwrap(await deactivate(fixture, ada))
  await db.run(
    db.prepare({}, (k) => k('team_members').where('user_id', bob.id).delete()),
    {},
  )
  unwrap(await deactivate(fixture, cyd))
  fixture.passSeconds(31 * day)
  t.deepEqual(unwrap(await makePurgeAccounts(fixture.deps)(callOf())), { removed: 1, kept: 1 })
  t.true(await isMember(db, orgId, ada.id), 'what was begun for the kept one is undone')
})

onEachDatabase('an account that comes back while it is purged is whole or gone', async (t, fixture, db) => {
  for (let round = 0; round < 5; round++) {
    const user = await fixture.user(`ada${round}`)
    unwrap(await deactivate(fixture, user))
    fixture.passSeconds(31 * day)
    const [purged, back] = await Promise.all([
      makePurgeAccounts(fixture.deps)(callOf()),
      makeReactivateAccount(makeIdentityFixture(db).deps)(callBy(user), user.id),
    ])
    const after = await fixture.deps.stores.users.byId(user.id)
    t.deepEqual(
      [unwrap(purged).removed, tagOf(back), after?.isActive],
      after === undefined ? [1, 'UserMissing', undefined] : [0, 'done', true],
    )
  }
})

onEachDatabase(
  'purging a user leaves shared organizations and is refused by those that would have no owner',
  async (t, fixture, db) => {
    const [root, ada, bob] = [
      await fixture.user('root', { isAdmin: true }),
      await fixture.user('ada'),
      await fixture.user('bob'),
    ]
    const shared = await ownedOrganization(db, 'shared', [ada.id, bob.id])
    const alone = await ownedOrganization(db, 'alone', [ada.id], [bob.id])
    const remove = makeDeleteUser(fixture.deps)
    t.like(await remove(callBy(root), { login: 'ada' }), {
      left: { tag: 'UserInUse', errors: ['organization alone', 'organization shared'] },
    })
    t.like(await remove(callBy(root), { login: 'ada', leavesOrganizations: true }), {
      left: { tag: 'UserInUse', errors: ['organization alone'] },
    })
    t.deepEqual(
      [await isMember(db, shared, ada.id), await isMember(db, alone, ada.id)],
      [true, true],
      'a refusal changes nothing',
    )
    unwrap(await remove(callBy(root), { login: 'bob', leavesOrganizations: true }))
    t.deepEqual([await isMember(db, shared, bob.id), await isMember(db, shared, ada.id)], [false, true])
  },
)

onEachDatabase('a user who is renamed is notified once', async (t, fixture) => {
  const [root] = [await fixture.user('root', { isAdmin: true }), await fixture.user('ada')]
  unwrap(await makeRenameUser(fixture.deps)(callBy(root), { login: 'ada', newLogin: 'countess' }))
  unwrap(await makeRenameUser(fixture.deps)(callBy(root), { login: 'countess', newLogin: 'countess' }))
  t.deepEqual(
    fixture.posted.map(({ to, subject }) => [to, subject]),
    [['ada@example.org', 'Your account has another name']],
  )
})

const sessionOf = async ({ deps }: IdentityFixture, user: User, fill: number): Promise<SessionId> => {
  const now = deps.clock.now()
  const later = new Date(now.getTime() + 3_600_000)
  const hash = new Uint8Array(32).fill(fill)
  return deps.stores.sessions.insert({
    userId: user.id,
    hash,
    sourceIp: '',
    userAgent: '',
    createdAt: now,
    proof: undefined,
    idleExpiresAt: later,
    expiresAt: later,
  })
}
const isActive = async ({ deps }: IdentityFixture, user: User) => (await deps.stores.users.byId(user.id))?.isActive
const given = (text: string, passCode?: string) => ({ password: secret(text), passCode })

onEachDatabase(
  'an account is deleted by its owner with the password, however the owner was proven',
  async (t, fixture) => {
    const remove = makeDeleteOwnAccount(fixture.deps)
    for (const method of ['password', 'session'] as const) {
      const user = await fixture.user(`by-${method}`)
      const sessionId = await sessionOf(fixture, user, user.id)
      const call = callBy(user, method === 'session' ? { method, sessionId } : { method })
      t.true(
        ['OwnPasswordWrong', 'ProofRequired'].includes(tagOf(await remove(call, given('a wrong passphrase')))),
        method,
      )
      t.true(await isActive(fixture, user))
      unwrap(await remove(call, given(password)))
      t.false(await isActive(fixture, user))
      t.deepEqual(await fixture.deps.stores.sessions.list(user.id, fixture.deps.clock.now()), [])
      const mail = fixture.posted.filter(({ to }) => to === user.primaryEmail)
      t.deepEqual(
        mail.map(({ subject, accountId }) => [subject, accountId]),
        [['Your account was deleted', user.id]],
      )
      t.is(
        (await fixture.auditRows()).filter(
          ({ action, tenant_id }) => action === 'user.deactivated' && Number(tenant_id) === user.id,
        ).length,
        1,
      )
    }
  },
)

onEachDatabase('a session needs the one-time code as well where a second factor is enrolled', async (t, fixture) => {
  const [ada, root] = [await fixture.user('ada'), await fixture.user('root', { isAdmin: true })]
  const seed = unwrap(await makeOfferSecondFactor(fixture.deps)(callBy(ada))).seed.reveal()
  unwrap(await makeEnrollSecondFactor(fixture.deps)(callBy(ada), codeAt(seed, fixture.deps.clock.now())))
  fixture.passSeconds(30)
  const call = callBy(ada, { method: 'session', sessionId: await sessionOf(fixture, ada, 1) })
  const remove = makeDeleteOwnAccount(fixture.deps)
  t.is(tagOf(await remove(call, given(password))), 'ProofRequired')
  t.is(tagOf(await remove(call, given(password, '000000'))), 'ProofRequired')
  t.true(await isActive(fixture, ada))
  unwrap(await remove(call, given(password, codeAt(seed, fixture.deps.clock.now()))))
  t.false(await isActive(fixture, ada))
  unwrap(await makeReactivateAccount(fixture.deps)(callBy(root), ada.id))
  t.true(await isActive(fixture, ada), 'an administrator brings it back')
})

onEachDatabase('the reasons are returned, and nothing is done', async (t, fixture, db) => {
  const [root, ada] = [await fixture.user('root', { isAdmin: true }), await fixture.user('ada')]
  const remove = makeDeleteOwnAccount(fixture.deps)
  t.like(await remove(callBy(root), given(password)), {
    left: { tag: 'AccountInUse', errors: ['last active site administrator'] },
  })
  await ownedOrganization(db, 'alone', [ada.id])
  t.like(await remove(callBy(ada), given(password)), {
    left: { tag: 'AccountInUse', kind: 'Unprocessable', errors: ['organization alone'] },
  })
  t.deepEqual([await isActive(fixture, root), await isActive(fixture, ada)], [true, true])
  t.deepEqual(fixture.posted, [])
})

onEachDatabase('a session that ended during the request deletes nothing', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const sessionId = await sessionOf(fixture, ada, 1)
  await fixture.deps.stores.sessions.removeAll(ada.id, undefined)
  t.is(
    tagOf(await makeDeleteOwnAccount(fixture.deps)(callBy(ada, { method: 'session', sessionId }), given(password))),
    'NotAuthenticated',
  )
  t.true(await isActive(fixture, ada))
})
