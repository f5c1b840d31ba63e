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
import type { IdentityFixture } from '../identity-world.ts'
import { callBy, makeIdentityFixture, password } from '../identity-world.ts'
import { onEachDatabase } from '../on-each-database.ts'
import { codeAt } from '../one-time-code-of.ts'
import { isMember, ownedOrganization } from '../owned-organization.ts'

const day = 24 * 3600
const deactivate = (world: IdentityFixture, user: User, by = user) =>
  makeDeactivateAccount(world.deps)(callBy(by), user.id)
const signsIn = async (world: IdentityFixture, login: string): Promise<boolean> =>
  isRight(
    await world.authenticator.authenticate(
      { kind: 'password', login, password: secret(password), oneTimeCode: undefined },
      undefined,
      '192.0.2.7',
    ),
  )

onEachDatabase(
  'a deactivated account cannot be used by password or token, and comes back without the token',
  async (t, world) => {
    const [root, ada] = [await world.user('root', { isAdmin: true }), await world.user('ada')]
    const token = unwrap(
      await makeCreateToken(world.deps)(callBy(ada), {
        owner: { userId: ada.id, login: 'ada' },
        name: 'ci',
        scopes: ['all'],
        expiresAt: undefined,
      }),
    )
    const byToken = async () =>
      isRight(await world.authenticator.authenticate({ kind: 'token', token: token.value }, undefined, '192.0.2.7'))
    t.true(await byToken())
    unwrap(await deactivate(world, ada))
    t.deepEqual([await byToken(), await signsIn(world, 'ada')], [false, false])
    unwrap(await deactivate(world, ada))
    t.is(
      tagOf(await makeReactivateAccount(world.deps)(callBy(root), root.id)),
      'UserMissing',
      'one that is not deactivated',
    )
    unwrap(await makeReactivateAccount(world.deps)(callBy(root), ada.id))
    t.deepEqual([await byToken(), await signsIn(world, 'ada')], [false, true])
    const actions = (await world.auditRows()).map(({ action }) => action)
    t.is(actions.filter((action) => action === 'user.deactivated').length, 1)
    t.is(actions.at(-1), 'user.reactivated')
  },
)

onEachDatabase('unlocking enables neither a deactivated nor an unconfirmed account', async (t, world) => {
  const [root, ada, bob, cyd] = [
    await world.user('root', { isAdmin: true }),
    await world.user('ada'),
    await world.user('bob'),
    await world.user('cyd'),
  ]
  unwrap(await deactivate(world, ada))
  await world.deps.stores.accountLife.markUnconfirmed(bob.id, world.deps.clock.now())
  unwrap(await makeEditUser(world.deps)(callBy(root), { login: 'cyd', isActive: false }))
  const unlock = makeUnlockUser(world.deps)
  t.deepEqual(
    [
      unwrap(await unlock(callBy(root), 'ada')),
      unwrap(await unlock(callBy(root), 'bob')),
      unwrap(await unlock(callBy(root), 'cyd')),
    ],
    [false, false, true],
  )
  t.deepEqual(
    [await signsIn(world, 'ada'), await signsIn(world, 'bob'), await signsIn(world, cyd.login)],
    [false, false, true],
  )
})

onEachDatabase(
  'the last admin and the only active owner cannot be deactivated, and get the reasons',
  async (t, world, db) => {
    const [root, ada, bob] = [
      await world.user('root', { isAdmin: true }),
      await world.user('ada'),
      await world.user('bob'),
    ]
    t.is(tagOf(await deactivate(world, root)), 'AccountInUse')
    await ownedOrganization(db, 'alone', [ada.id], [bob.id])
    await ownedOrganization(db, 'shared', [ada.id, bob.id])
    t.like(await deactivate(world, ada), {
      left: { tag: 'AccountInUse', kind: 'Unprocessable', errors: ['organization alone'] },
    })
    unwrap(await deactivate(world, bob))
    t.like(
      await deactivate(world, ada),
      { left: { errors: ['organization alone', 'organization shared'] } },
      'an owner who is switched off owns nothing',
    )
    t.true(await signsIn(world, 'ada'))
  },
)

onEachDatabase('of two owners who deactivate themselves at once one stays', async (t, world, db) => {
  for (let round = 0; round < 5; round++) {
    const users = [await world.user(`ann${round}`), await world.user(`ben${round}`)]
    await ownedOrganization(
      db,
      `org${round}`,
      users.map(({ id }) => id),
    )
    const outcomes = await Promise.all(users.map((user) => deactivate(makeIdentityFixture(db), user)))
    t.deepEqual(outcomes.map(tagOf).sort(), ['AccountInUse', 'done'])
  }
})

onEachDatabase('of two admins of whom each removes the other in another way one stays', async (t, world, db) => {
  for (let round = 0; round < 5; round++) {
    const [a, b] = [
      await world.user(`adm${round}`, { isAdmin: true }),
      await world.user(`boss${round}`, { isAdmin: true }),
    ]
    const first =
      round % 2 === 0
        ? makeEditUser(makeIdentityFixture(db).deps)(callBy(a), { login: b.login, isAdmin: false })
        : makeDeleteUser(makeIdentityFixture(db).deps)(callBy(a), { login: b.login })
    const outcomes = await Promise.all([first, deactivate(makeIdentityFixture(db), a)])
    t.is(outcomes.map(tagOf).filter((tag) => tag === 'done').length, 1)
    const acting = await world.deps.stores.users.lockActiveAdmins()
    t.is(acting.length, 1)
    // The one who is left goes by the store, so that the next round has two again.
    for (const id of acting) await world.deps.stores.users.update(id, { isAdmin: false })
  }
})

onEachDatabase(
  'deactivated accounts go after 30 days, unconfirmed ones after 7, and no other',
  async (t, world, db) => {
    const [ada, bob, cyd, dan, root] = [
      await world.user('ada'),
      await world.user('bob'),
      await world.user('cyd'),
      await world.user('dan'),
      await world.user('root', { isAdmin: true }),
    ]
    const purge = makePurgeAccounts(world.deps)
    unwrap(await deactivate(world, ada))
    await world.deps.stores.accountLife.markUnconfirmed(bob.id, world.deps.clock.now())
    unwrap(await makeEditUser(world.deps)(callBy(root), { login: 'cyd', isActive: false }))
    world.passSeconds(7 * day - 60)
    t.deepEqual(unwrap(await purge(callOf())), { removed: 0, kept: 0 })
    world.passSeconds(120)
    t.deepEqual(unwrap(await purge(callOf())), { removed: 1, kept: 0 })
    t.is(await world.deps.stores.users.byId(bob.id), undefined)
    world.passSeconds(23 * day)
    const shared = await ownedOrganization(db, 'shared', [dan.id], [ada.id])
    t.deepEqual(unwrap(await purge(callOf())), { removed: 1, kept: 0 })
    t.is(await world.deps.stores.users.byId(ada.id), undefined)
    t.false(await isMember(db, shared, ada.id))
    t.truthy(await world.deps.stores.users.byId(cyd.id), 'an administrator switched this one off')
    t.deepEqual((await world.auditRows()).filter(({ action }) => action === 'user.purged').length, 2)
    unwrap(await makeRenameUser(world.deps)(callBy(root), { login: 'dan', newLogin: 'ada' }))
  },
)

onEachDatabase('an account on which an organization depends is kept, and hides no other', async (t, world, db) => {
  const [ada, bob, cyd] = [await world.user('ada'), await world.user('bob'), await world.user('cyd')]
  const orgId = await ownedOrganization(db, 'acme', [ada.id, bob.id], [cyd.id])
  unwrap(await deactivate(world, ada))
  await db.run(
    db.prepare({}, (k) => k('team_members').where('user_id', bob.id).delete()),
    {},
  )
  unwrap(await deactivate(world, cyd))
  world.passSeconds(31 * day)
  t.deepEqual(unwrap(await makePurgeAccounts(world.deps)(callOf())), { removed: 1, kept: 1 })
  t.true(await isMember(db, orgId, ada.id), 'what was begun for the kept one is undone')
})

onEachDatabase('an account that comes back while it is purged is whole or gone', async (t, world, db) => {
  for (let round = 0; round < 5; round++) {
    const user = await world.user(`ada${round}`)
    unwrap(await deactivate(world, user))
    world.passSeconds(31 * day)
    const [purged, back] = await Promise.all([
      makePurgeAccounts(world.deps)(callOf()),
      makeReactivateAccount(makeIdentityFixture(db).deps)(callBy(user), user.id),
    ])
    const after = await world.deps.stores.users.byId(user.id)
    t.deepEqual(
      [unwrap(purged).removed, tagOf(back), after?.isActive],
      after === undefined ? [1, 'UserMissing', undefined] : [0, 'done', true],
    )
  }
})

onEachDatabase(
  'purging a user leaves shared organizations and is refused by those that would have no owner',
  async (t, world, db) => {
    const [root, ada, bob] = [
      await world.user('root', { isAdmin: true }),
      await world.user('ada'),
      await world.user('bob'),
    ]
    const shared = await ownedOrganization(db, 'shared', [ada.id, bob.id])
    const alone = await ownedOrganization(db, 'alone', [ada.id], [bob.id])
    const remove = makeDeleteUser(world.deps)
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

onEachDatabase('a user who is renamed is notified once', async (t, world) => {
  const [root] = [await world.user('root', { isAdmin: true }), await world.user('ada')]
  unwrap(await makeRenameUser(world.deps)(callBy(root), { login: 'ada', newLogin: 'countess' }))
  unwrap(await makeRenameUser(world.deps)(callBy(root), { login: 'countess', newLogin: 'countess' }))
  t.deepEqual(
    world.posted.map(({ to, subject }) => [to, subject]),
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
    idleExpiresAt: later,
    expiresAt: later,
  })
}
const isActive = async ({ deps }: IdentityFixture, user: User) => (await deps.stores.users.byId(user.id))?.isActive
const given = (text: string, passCode?: string) => ({ password: secret(text), passCode })

onEachDatabase(
  'an account is deleted by its owner with the password, however the owner was proven',
  async (t, world) => {
    const remove = makeDeleteOwnAccount(world.deps)
    for (const method of ['password', 'session'] as const) {
      const user = await world.user(`by-${method}`)
      const sessionId = await sessionOf(world, user, user.id)
      const call = callBy(user, method === 'session' ? { method, sessionId } : { method })
      t.true(
        ['OwnPasswordWrong', 'ProofRequired'].includes(tagOf(await remove(call, given('a wrong passphrase')))),
        method,
      )
      t.true(await isActive(world, user))
      unwrap(await remove(call, given(password)))
      t.false(await isActive(world, user))
      t.deepEqual(await world.deps.stores.sessions.list(user.id, world.deps.clock.now()), [])
      const mail = world.posted.filter(({ to }) => to === user.primaryEmail)
      t.deepEqual(
        mail.map(({ subject, accountId }) => [subject, accountId]),
        [['Your account was deleted', user.id]],
      )
      t.is(
        (await world.auditRows()).filter(
          ({ action, tenant_id }) => action === 'user.deactivated' && Number(tenant_id) === user.id,
        ).length,
        1,
      )
    }
  },
)

onEachDatabase('a session needs the one-time code as well where a second factor is enrolled', async (t, world) => {
  const [ada, root] = [await world.user('ada'), await world.user('root', { isAdmin: true })]
  const seed = unwrap(await makeOfferSecondFactor(world.deps)(callBy(ada))).seed.reveal()
  unwrap(await makeEnrollSecondFactor(world.deps)(callBy(ada), codeAt(seed, world.deps.clock.now())))
  world.passSeconds(30)
  const call = callBy(ada, { method: 'session', sessionId: await sessionOf(world, ada, 1) })
  const remove = makeDeleteOwnAccount(world.deps)
  t.is(tagOf(await remove(call, given(password))), 'ProofRequired')
  t.is(tagOf(await remove(call, given(password, '000000'))), 'ProofRequired')
  t.true(await isActive(world, ada))
  unwrap(await remove(call, given(password, codeAt(seed, world.deps.clock.now()))))
  t.false(await isActive(world, ada))
  unwrap(await makeReactivateAccount(world.deps)(callBy(root), ada.id))
  t.true(await isActive(world, ada), 'an administrator brings it back')
})

onEachDatabase('the reasons are returned, and nothing is done', async (t, world, db) => {
  const [root, ada] = [await world.user('root', { isAdmin: true }), await world.user('ada')]
  const remove = makeDeleteOwnAccount(world.deps)
  t.like(await remove(callBy(root), given(password)), {
    left: { tag: 'AccountInUse', errors: ['last active site administrator'] },
  })
  await ownedOrganization(db, 'alone', [ada.id])
  t.like(await remove(callBy(ada), given(password)), {
    left: { tag: 'AccountInUse', kind: 'Unprocessable', errors: ['organization alone'] },
  })
  t.deepEqual([await isActive(world, root), await isActive(world, ada)], [true, true])
  t.deepEqual(world.posted, [])
})

onEachDatabase('a session that ended during the request deletes nothing', async (t, world) => {
  const ada = await world.user('ada')
  const sessionId = await sessionOf(world, ada, 1)
  await world.deps.stores.sessions.removeAll(ada.id, undefined)
  t.is(
    tagOf(await makeDeleteOwnAccount(world.deps)(callBy(ada, { method: 'session', sessionId }), given(password))),
    'NotAuthenticated',
  )
  t.true(await isActive(world, ada))
})
