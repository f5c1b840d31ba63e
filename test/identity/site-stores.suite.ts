import type { IdentityStores } from '../../core/identity/ports.ts'
import type { NewUser } from '../../core/identity/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** Stores over an empty database of their own. */
export interface SiteBench {
  readonly stores: IdentityStores
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')
const later = (seconds: number): Date => new Date(at.getTime() + seconds * 1000)
const page = { page: 1, limit: 30 }

const newUser = (login: string, changes: Partial<NewUser> = {}): NewUser => ({
  login,
  fullName: '',
  passwordPhc: 'phc',
  mustChangePassword: false,
  isAdmin: false,
  isActive: true,
  restricted: false,
  visibility: 'public',
  createdAt: at,
  ...changes,
})
const added = async (stores: IdentityStores, login: string, changes: Partial<NewUser> = {}): Promise<UserId> => {
  const id = unwrap(await stores.users.insert(newUser(login, changes)))
  unwrap(
    await stores.emails.insert(
      id,
      { text: `${login}@Example.org`, key: `${login}@example.org`.toLowerCase() },
      true,
      true,
      at,
    ),
  )
  return id
}

const about: SuiteAbout = {
  name: 'site-stores',
  ports: ['SiteRulesStore', 'AccountLifeStore'],
  needs: 'No users.',
}

/** What every SiteRulesStore and AccountLifeStore does, and what the console asks of users and addresses. */
export const siteStoresSuite = contractSuite<SiteBench>(about, (onBench) => {
  const contract = (title: string, body: (t: Assertions, stores: IdentityStores) => Promise<void>): void =>
    onBench(title, (t, { stores }) => body(t, stores))

  contract('registration is closed and every domain allowed by default', async (t, { siteRules }) => {
    t.deepEqual(await siteRules.read(), { isRegistrationOpen: false, allowedDomains: [] })
    await siteRules.setRegistrationOpen(true)
    await siteRules.setRegistrationOpen(true)
    t.true((await siteRules.read()).isRegistrationOpen)
    await siteRules.setRegistrationOpen(false)
    t.false((await siteRules.read()).isRegistrationOpen)
  })

  contract('a domain is added and removed once', async (t, { siteRules }) => {
    t.deepEqual(
      [await siteRules.addDomain('b.org'), await siteRules.addDomain('a.org'), await siteRules.addDomain('b.org')],
      [true, true, false],
    )
    t.deepEqual((await siteRules.read()).allowedDomains, ['a.org', 'b.org'])
    t.deepEqual([await siteRules.removeDomain('b.org'), await siteRules.removeDomain('b.org')], [true, false])
    t.deepEqual((await siteRules.read()).allowedDomains, ['a.org'])
  })

  contract('an account waits for its confirmation, once', async (t, stores) => {
    const [ada, bob] = [await added(stores, 'ada'), await added(stores, 'bob')]
    t.false(await stores.accountLife.confirm(ada), 'it does not wait')
    await stores.accountLife.markUnconfirmed(ada, at)
    t.is(await stores.accountLife.lockState(ada), 'unconfirmed')
    t.false((await stores.users.byId(ada))?.isActive)
    t.deepEqual(await stores.accountLife.unconfirmedBefore(at, 0, 10), [])
    t.deepEqual(await stores.accountLife.unconfirmedBefore(later(1), 0, 10), [ada])
    t.deepEqual(await stores.accountLife.unconfirmedBefore(later(1), ada, 10), [])
    t.false(await stores.accountLife.confirm(bob))
    t.true(await stores.accountLife.confirm(ada))
    t.true((await stores.users.byId(ada))?.isActive)
    t.false(await stores.accountLife.confirm(ada))
    t.is(await stores.accountLife.lockState(ada), undefined)
  })

  contract('an account is deactivated and comes back, once, and another stays as it is', async (t, stores) => {
    const [ada, bob, root] = [await added(stores, 'ada'), await added(stores, 'bob'), await added(stores, 'root')]
    t.false(await stores.accountLife.reactivate(ada))
    t.true(await stores.accountLife.deactivate(ada, root, at))
    t.false(await stores.accountLife.deactivate(ada, ada, later(5)))
    t.deepEqual(await stores.accountLife.deactivatedAt(ada), at)
    t.is(await stores.accountLife.deactivatedAt(bob), undefined)
    t.is(await stores.accountLife.lockState(ada), 'deactivated')
    const listed = await stores.accountLife.deactivated(page)
    t.is(listed.total, 1)
    t.like(listed.items[0], { userId: ada, login: 'ada', primaryEmail: 'ada@Example.org', deactivatedBy: 'root' })
    t.is(unwrap(await stores.users.insert(newUser('eve'))) > 0, true)
    t.is(tagOf(await stores.users.insert(newUser('ADA'))), 'UserNameTaken', 'the name stays taken')
    t.deepEqual(await stores.accountLife.deactivatedBefore(at, 0, 10), [])
    t.deepEqual(await stores.accountLife.deactivatedBefore(later(1), 0, 10), [ada])
    t.deepEqual(await stores.accountLife.deactivatedBefore(later(1), ada, 10), [])
    t.true(await stores.accountLife.reactivate(ada))
    t.false(await stores.accountLife.reactivate(ada))
    t.true((await stores.users.byId(ada))?.isActive)
    t.true((await stores.users.byId(bob))?.isActive)
    t.is((await stores.accountLife.deactivated(page)).total, 0)
  })

  contract('who makes an account active in another way ends its deactivation and its waiting', async (t, stores) => {
    const [ada, bob] = [await added(stores, 'ada'), await added(stores, 'bob')]
    await stores.accountLife.deactivate(ada, ada, at)
    await stores.accountLife.markUnconfirmed(bob, at)
    await stores.users.update(ada, { fullName: 'Ada' })
    t.is(await stores.accountLife.lockState(ada), 'deactivated', 'another change leaves it')
    for (const id of [ada, bob]) await stores.users.update(id, { isActive: true })
    t.deepEqual(
      [await stores.accountLife.lockState(ada), await stores.accountLife.lockState(bob)],
      [undefined, undefined],
    )
  })

  contract('a rename keeps the account, and the old name leads to it until it is taken', async (t, stores) => {
    const ada = await added(stores, 'ada', { fullName: 'Ada Lovelace' })
    await added(stores, 'bob')
    const user = (await stores.users.byId(ada))!
    t.is(tagOf(await stores.users.rename(user, 'BOB')), 'UserNameTaken')
    unwrap(await stores.users.rename(user, 'Countess'))
    t.is((await stores.users.byLogin('countess'))?.id, ada)
    t.is(await stores.users.byLogin('ada'), undefined)
    t.is((await stores.users.byFormerLogin('ADA'))?.login, 'Countess')
    t.deepEqual(
      (await stores.users.list('countess', page)).items.map(({ id }) => id),
      [ada],
      'it is found by the new name',
    )
    t.is((await stores.users.list('ada ada', page)).total, 0)
    unwrap(await stores.users.rename((await stores.users.byId(ada))!, 'COUNTESS'))
    t.is((await stores.users.byId(ada))?.login, 'COUNTESS', 'another case of the same name')
    await added(stores, 'ada2')
    const next = unwrap(await stores.users.insert(newUser('ada')))
    t.is((await stores.users.byLogin('ada'))?.id, next)
    t.is(await stores.users.byFormerLogin('ada'), undefined)
    unwrap(await stores.users.rename((await stores.users.byId(ada))!, 'back'))
    unwrap(await stores.users.rename((await stores.users.byId(ada))!, 'countess'))
    t.is(await stores.users.byFormerLogin('countess'), undefined, 'a name in use is not a former name')
  })

  contract('users are narrowed by each property, and ordered', async (t, stores) => {
    const [ann, ben, cyd] = [
      await added(stores, 'ann', { isAdmin: true }),
      await added(stores, 'ben', { restricted: true, visibility: 'private' }),
      await added(stores, 'cyd'),
    ]
    await stores.users.update(cyd, { isActive: false, prohibitLogin: true })
    await stores.users.markLoggedIn(ann, at)
    await stores.users.markLoggedIn(ben, later(9))
    await stores.secondFactors.offer(ben, new Uint8Array([1]), 'ref', at)
    const ids = async (listing: NonNullable<Parameters<IdentityStores['users']['list']>[2]>, prefix = '') => {
      const found = await stores.users.list(prefix, page, listing)
      t.is(found.total, found.items.length)
      return found.items.map(({ id }) => id)
    }
    t.deepEqual(await ids({}), [ann, ben, cyd])
    t.deepEqual(await ids({ isAdmin: true }), [ann])
    t.deepEqual(await ids({ isAdmin: false }), [ben, cyd])
    t.deepEqual(await ids({ isActive: false }), [cyd])
    t.deepEqual(await ids({ restricted: true }), [ben])
    t.deepEqual(await ids({ prohibitLogin: true }), [cyd])
    t.deepEqual(await ids({ visibility: 'private' }), [ben])
    t.deepEqual(await ids({ login: 'BEN' }), [ben])
    t.deepEqual(await ids({ isActive: true, isAdmin: false }), [ben])
    t.deepEqual(await ids({ isActive: true }, 'an'), [ann])
    t.deepEqual(await ids({ hasSecondFactor: true }), [], 'one that waits for its first code does not count')
    await stores.secondFactors.enroll(ben, 'ref', 1, at)
    t.deepEqual(await ids({ hasSecondFactor: true }), [ben])
    t.deepEqual(await ids({ hasSecondFactor: false }), [ann, cyd])
    t.deepEqual(await ids({ order: 'reversealphabetically' }), [cyd, ben, ann])
    t.deepEqual(await ids({ order: 'newest' }), [cyd, ben, ann])
    t.deepEqual(await ids({ order: 'oldest' }), [ann, ben, cyd])
    t.deepEqual((await ids({ order: 'recentlogin' })).slice(0, 2), [ben, ann])
    const second = await stores.users.list('', { page: 2, limit: 2 }, { isAdmin: false, order: 'oldest' })
    t.deepEqual([second.items.length, second.total], [0, 2])
  })

  contract(
    'addresses of all users are found by their parts, those that start with the text first',
    async (t, stores) => {
      const ids = [await added(stores, 'Ada'), await added(stores, 'bob')]
      const all = await stores.emails.listAll('', page)
      t.deepEqual(
        all.items.map(({ email, login }) => [email.email, login, email.userId]),
        [
          ['Ada@Example.org', 'Ada', ids[0]],
          ['bob@Example.org', 'bob', ids[1]],
        ],
      )
      t.is(all.total, 2)
      t.deepEqual(
        (await stores.emails.listAll('bob@', page)).items.map(({ login }) => login),
        ['bob'],
      )
      t.deepEqual(
        (await stores.emails.listAll('b', page)).items.map(({ login }) => login),
        ['bob'],
      )
      t.deepEqual(
        (await stores.emails.listAll('a', page)).items.map(({ login }) => login),
        ['Ada', 'bob'],
      )
      t.is((await stores.emails.listAll('%', page)).total, 0)
      t.is(await stores.emails.ownerOf('ada@example.org'), ids[0])
      t.is(await stores.emails.ownerOf('eve@example.org'), undefined)
    },
  )
})
