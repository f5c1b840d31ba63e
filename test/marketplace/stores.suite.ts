import { randomBytes, randomUUID } from 'node:crypto'
import type { AccountId, OrgId, UserId } from '../../core/kernel/ids.ts'
import type { ClaimStore, InstallerStore, NotificationInbox, SubscriptionStore } from '../../core/marketplace/ports.ts'
import type { Installer, Lifecycle, Subscription } from '../../core/marketplace/types.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** Stores of their own for each case, without rows. */
export interface MarketplaceBench {
  readonly subscriptions: SubscriptionStore
  readonly installers: InstallerStore
  readonly claims: ClaimStore
  readonly inbox: NotificationInbox
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-02T08:00:00.456Z')
const firstPage = { page: 1, limit: 30 }
const ref = (): string => randomBytes(16).toString('hex')

const pending: Lifecycle = {
  state: 'Pending',
  installerRef: undefined,
  isProvisioned: false,
  lastTicks: 17_636_360_081_707_163n,
  isTombstone: false,
}

const obtained = (
  { subscriptions }: MarketplaceBench,
  text: string,
  lifecycle: Lifecycle = pending,
): Promise<Subscription> =>
  subscriptions.obtain(
    { key: { marketplace: 'CloudB', text }, ref: randomUUID(), applicationId: `/subscriptions/${text}` },
    lifecycle,
    at,
  )

const inserted = async ({ installers }: MarketplaceBench): Promise<Installer> => {
  const own = ref()
  await installers.insert(
    {
      ref: own,
      marketplace: 'CloudA',
      accountId: undefined,
      products: [{ product: 'database', features: ['a', 'b'] }],
      contractDays: 30,
      contact: 'a@example.com',
      expiresAt: later,
      archive: Uint8Array.of(0, 1, 255),
    },
    at,
  )
  const found = await installers.find(own)
  if (found === undefined) throw new Error('The installer does not exist.')
  return found
}

const about: SuiteAbout = {
  name: 'marketplace-stores',
  ports: ['SubscriptionStore', 'InstallerStore', 'ClaimStore', 'NotificationInbox'],
  needs: 'Stores without rows.',
}

/** What the stores of the marketplace keep. */
export const marketplaceStoresSuite = contractSuite<MarketplaceBench>(about, (onBench) => {
  onBench('a subscription is obtained once for a key, and found by each of its names', async (t, bench) => {
    const { subscriptions } = bench
    const first = await obtained(bench, 'one')
    t.deepEqual(await obtained(bench, 'one', { ...pending, state: 'Failed' }), first)
    const other = await obtained(bench, 'ONE')
    t.not(other.id, first.id)
    t.deepEqual(first.lastTicks, 17_636_360_081_707_163n)
    for (const found of [
      await subscriptions.find('CloudB', first.ref),
      await subscriptions.findById(first.id),
      await subscriptions.lock({ marketplace: 'CloudB', text: 'one' }),
      await subscriptions.lockById(first.id),
      await subscriptions.lockByRef('CloudB', first.ref),
    ])
      t.deepEqual(found, first)
    t.is(await subscriptions.find('CloudA', first.ref), undefined)
    t.is(await subscriptions.lock({ marketplace: 'CloudA', text: 'one' }), undefined)
    t.is(await subscriptions.lockByRef('CloudC', first.ref), undefined)
  })

  onBench('a change keeps what it does not name, and leaves other subscriptions alone', async (t, bench) => {
    const { subscriptions } = bench
    const [first, other] = [await obtained(bench, 'one'), await obtained(bench, 'two')]
    const plan = { publisher: 'p', product: 'ö', name: "n'", version: '1' }
    const lifecycle: Lifecycle = {
      ...pending,
      state: 'Running',
      installerRef: ref(),
      isProvisioned: true,
      lastTicks: undefined,
    }
    await subscriptions.update(
      first.id,
      { plan, lifecycle, contractIds: [7, 9] as never, accountId: 5 as AccountId },
      later,
    )
    await subscriptions.update(
      first.id,
      { resourceUsageId: 'u', error: { code: 'c', message: 'm' }, alertedAt: later },
      later,
    )
    await subscriptions.update(first.id, { alertedAt: later, clusterId: 'k', claimedBy: 3 as UserId }, later)
    t.deepEqual(await subscriptions.findById(first.id), {
      ...first,
      ...lifecycle,
      plan,
      contractIds: [7, 9],
      accountId: 5,
      claimedBy: 3,
      resourceUsageId: 'u',
      error: { code: 'c', message: 'm' },
      clusterId: 'k',
      alerts: 2,
      alertedAt: later,
      updatedAt: later,
    } as unknown as Subscription)
    t.deepEqual(await subscriptions.findById(other.id), other)
  })

  onBench('the list has the newest first and no tombstone; old tombstones are removed', async (t, bench) => {
    const { subscriptions } = bench
    const [first, second] = [await obtained(bench, 'one'), await obtained(bench, 'two')]
    const grave = await obtained(bench, 'gone', { ...pending, state: 'Deleted', isTombstone: true })
    const page = await subscriptions.list(firstPage)
    t.deepEqual([page.total, page.items.map(({ id }) => id)], [2, [second.id, first.id]])
    t.deepEqual(
      (await subscriptions.list({ page: 2, limit: 1 })).items.map(({ id }) => id),
      [first.id],
    )
    t.is(await subscriptions.find('CloudB', grave.ref), undefined)
    t.is(await subscriptions.removeTombstones(at, 10), 0)
    t.is(await subscriptions.removeTombstones(later, 10), 1)
    t.is(await subscriptions.findById(grave.id), undefined)
    t.is((await subscriptions.list(firstPage)).total, 2)
  })

  onBench('a subscription that follows a deleted one has its key, and the former stays', async (t, bench) => {
    const { subscriptions } = bench
    const former = await obtained(bench, 'one', { ...pending, state: 'Deleted' })
    const other = await obtained(bench, 'two')
    const content = { plan: former.plan, resourceUsageId: 'x', error: undefined }
    const begin = (of: typeof former, ref: string) =>
      subscriptions.begin(
        of,
        { key: { marketplace: 'CloudB', text: 'one' }, ref, applicationId: 'app' },
        pending,
        content,
        later,
      )
    const next = await begin(former, 'a'.repeat(36))
    t.like(next, { ref: 'a'.repeat(36), formerRef: former.ref, floorTicks: former.lastTicks, state: 'Pending' })
    t.deepEqual(await subscriptions.lock({ marketplace: 'CloudB', text: 'one' }), next)
    t.deepEqual(await subscriptions.findById(former.id), former)
    t.deepEqual(await subscriptions.findById(other.id), other)
    const third = await begin(next, 'b'.repeat(36))
    t.deepEqual(await subscriptions.lock({ marketplace: 'CloudB', text: 'one' }), third)
  })

  onBench('a history has its own events, the oldest first', async (t, bench) => {
    const { subscriptions } = bench
    const [first, other] = [await obtained(bench, 'one'), await obtained(bench, 'two')]
    const event = {
      at,
      operation: 'PUT',
      outcome: 'Succeeded',
      description: 'x'.repeat(600),
      state: 'Pending',
    } as const
    for (const operation of ['a', 'b', 'c']) await subscriptions.record(first.id, { ...event, operation })
    await subscriptions.record(other.id, { ...event, operation: 'other' })
    const history = await subscriptions.history(first.id, 2)
    t.deepEqual(
      history.map(({ operation }) => operation),
      ['b', 'c'],
    )
    t.is(history[0]?.description.length, 512)
  })

  onBench('an installer is bound to a subscription', async (t, bench) => {
    const { installers } = bench
    const [own, other] = [await inserted(bench), await inserted(bench)]
    const subscription = await obtained(bench, 'one')
    t.deepEqual([...((await installers.archive(own.ref)) ?? [])], [0, 1, 255])
    t.is(await installers.archive('none'), undefined)
    const binding = { clusterId: 'k', cloudAccountId: '123456789012' }
    await installers.bind(own, subscription.id, binding, 'root', { at, linkUntil: later })
    const bound: Installer = {
      ...own,
      binding: { ...binding, at },
      subscriptionId: subscription.id,
      linkExpiresAt: later,
      adminUsername: 'root',
    }
    t.deepEqual(await installers.lock(own.ref), bound)
    t.deepEqual(await installers.findById(own.id), bound)
    t.deepEqual(await installers.find(other.ref), other)
    t.deepEqual((await installers.list(firstPage)).items, [other, bound])
  })

  onBench('a link is renewed by one of several', async (t, bench) => {
    const { installers } = bench
    const own = await inserted(bench)
    const { id } = await obtained(bench, 'one')
    await installers.bind(own, id, { clusterId: 'k', cloudAccountId: '' }, '', { at, linkUntil: at })
    await installers.renewLink(own.id, at, later)
    await installers.renewLink(own.id, at, new Date(0))
    t.deepEqual((await installers.find(own.ref))?.linkExpiresAt, later)
  })

  onBench('a claim is checked by one of several, and taken', async (t, bench) => {
    const { claims } = bench
    const own = await inserted(bench)
    const [first, second] = [ref(), ref()]
    await claims.insert({ ref: first, installerId: own.id }, at)
    await claims.insert({ ref: second, installerId: own.id }, at)
    const known = await claims.find(first)
    t.deepEqual(known, {
      ref: first,
      installerId: own.id,
      isClaimable: false,
      attempts: 0,
      nextCheckAt: at,
      claimedAt: undefined,
    })
    if (known === undefined) return
    t.true(await claims.reserveCheck(known, later))
    t.false(await claims.reserveCheck(known, new Date(0)))
    t.deepEqual(await claims.lock(first), { ...known, attempts: 1, nextCheckAt: later })
    t.is(await claims.oldestClaimable(), undefined)
    await claims.setClaimable(second)
    t.is((await claims.oldestClaimable())?.ref, second)
    await claims.setClaimable(first)
    t.is((await claims.oldestClaimable())?.ref, first)
    await claims.take(first, 3 as UserId, 11 as OrgId, later)
    t.deepEqual((await claims.find(first))?.claimedAt, later)
    t.is((await claims.oldestClaimable())?.ref, second)
    t.is(await claims.find(ref()), undefined)
  })

  onBench('a subscription is inserted once, and events set what they leave of it', async (t, { subscriptions }) => {
    const key = { marketplace: 'CloudB', text: 'subscription/group/inserted' } as const
    const lifecycle = {
      state: 'Failed',
      installerRef: undefined,
      isProvisioned: false,
      lastTicks: 17_845_000_000_000_001n,
      isTombstone: false,
    } as const
    const content = {
      plan: { publisher: 'p', product: 'q', name: 'standard', version: '1' },
      resourceUsageId: 'usage',
      error: { code: 'x', message: 'y' },
    }
    const identity = { key, ref: 'inserted', applicationId: '/subscriptions/inserted' }
    const inserted = await subscriptions.insert(identity, lifecycle, content, at)
    t.like(inserted, { ...lifecycle, ...content, ref: 'inserted', contractIds: [], reports: 0 })
    t.deepEqual(await subscriptions.lock(key), inserted)
    t.is(await subscriptions.insert({ ...identity, ref: 'other' }, lifecycle, content, later), undefined)
    const known = await subscriptions.lock(key)
    t.is(known?.ref, 'inserted')
    const next = {
      ...lifecycle,
      state: 'Running',
      installerRef: 'i',
      lastTicks: 2n ** 60n,
      isProvisioned: true,
    } as const
    const after = { plan: { ...content.plan, name: 'large' }, resourceUsageId: 'usage-2', error: undefined }
    if (known !== undefined) await subscriptions.apply(known.id, next, after, later)
    t.like(await subscriptions.lock(key), { ...next, ...after, ref: 'inserted', updatedAt: later })
  })

  onBench('an answer is found by its key until it is removed', async (t, { inbox }) => {
    const [key, other] = [randomBytes(32), randomBytes(32)]
    const answer = { status: 403, message: 'no', installerRef: '' } as const
    t.is(await inbox.find(key), undefined)
    t.true(await inbox.add(key, 'CloudB', answer, at))
    await inbox.add(other, 'CloudA', { status: 200, message: '', installerRef: 'i' }, later)
    t.deepEqual(await inbox.find(key), answer)
    t.false(await inbox.add(key, 'CloudB', answer, later))
    t.is(await inbox.removeBefore(at, 10), 0)
    t.is(await inbox.removeBefore(later, 10), 1)
    t.is(await inbox.find(key), undefined)
    t.is((await inbox.find(other))?.installerRef, 'i')
  })
})
