import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { monthKey } from '../../core/usage/month.ts'
import type { UsageMonthId } from '../../core/usage/types.ts'
import type { StoredUsageView, UsageViewKey, UsageViewStore } from '../../core/usage/views/ports.ts'
import type { PlantedRevision } from './planted-months.ts'
import { plantRevision } from './planted-months.ts'
import { monthOfPlans, readOnce, viewSink, textOf, type ObjectPlan } from './product-months.ts'
import { buildViews } from '../../core/usage/views/build-views.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

export interface ViewStoreBench {
  readonly db: SqlDatabase
  readonly views: UsageViewStore
  close(): Promise<void>
}

const owner = 11 as AccountId
const otherOwner = 12 as AccountId
const june = monthKey(2026, 6)
const key: UsageViewKey = { product: 'dbProduct', view: 'objects-usage-view', viewType: 'total' }

const plansOf = (tenant: string, count = 600): readonly ObjectPlan[] =>
  Array.from({ length: count }, (_, n) => ({
    cluster: 1 + (n % 3),
    kind: 'Postgres',
    namespace: 'shop',
    name: `${tenant} № ${n}`,
    used: [
      { day: 1, use: 'prod' as const, contractId: 7, milliCpuSeconds: BigInt(n) * 1_000_000n, mebibyteSeconds: 5n },
    ],
  }))

const plant = (
  db: SqlDatabase,
  ownerId: AccountId,
  tenant: string,
  options: PlantedRevision & { readonly count?: number; readonly month?: ReturnType<typeof monthKey> } = {},
): Promise<UsageMonthId> =>
  plantRevision(db, ownerId, [monthOfPlans(plansOf(tenant, options.count), { month: options.month ?? june })], options)

const gathered = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const all: A[] = []
  for await (const item of items) all.push(item)
  return all
}
const found = async (views: UsageViewStore, ownerId = owner, revision?: number): Promise<StoredUsageView> => {
  const view = await views.find(ownerId, june, key, revision)
  if (view === undefined) throw new Error('The view does not exist.')
  return view
}
const namesIn = (text: string): readonly string[] =>
  (JSON.parse(`[${text}]`) as { name: string }[]).map(({ name }) => name)

const about: SuiteAbout = {
  name: 'view-store',
  ports: ['UsageViewStore'],
  needs: 'The organizations 11 and 12 without months. The database has our tables of usage.',
}

/** What every UsageViewStore keeps. Each case has rows of another owner beside those that it reads. */
export const viewStoreSuite = contractSuite<ViewStoreBench>(about, (onBench) => {
  onBench(
    'a view reads back as it was built, in pieces and packed, and not those of another owner',
    async (t, { db, views }) => {
      await plant(db, owner, 'mine')
      await plant(db, otherOwner, 'theirs')
      const { sink, views: built } = viewSink()
      await buildViews(sink, 1 as UsageMonthId, readOnce(monthOfPlans(plansOf('mine'), { month: june })))
      for (const expected of built) {
        const view = await views.find(owner, june, expected.key)
        t.is(view!.head + (await gathered(views.pieces(view!))).join(',') + view!.tail, textOf(expected))
        t.deepEqual([view!.itemCount, view!.pieceCount], [expected.itemCount, expected.pieces.length])
        t.deepEqual(
          (await gathered(views.packedPieces(view!))).map(({ size }) => size),
          expected.pieces.map(({ items }) => Buffer.byteLength(items)),
        )
      }
      t.is(await views.find(13 as AccountId, june, key), undefined)
      t.is(await views.find(owner, monthKey(2026, 5), key), undefined)
      t.is(await views.find(owner, june, { ...key, product: 'vaultProduct' }), undefined)
    },
  )

  onBench('the newest published revision is found, and each by its number', async (t, { db, views }) => {
    await plant(db, owner, 'one', { count: 3 })
    await plant(db, owner, 'two', { count: 3, revision: 2, status: 'provisional' })
    await plant(db, owner, 'hidden', { count: 3, revision: 3, isHidden: true })
    await plant(db, otherOwner, 'theirs', { count: 3, revision: 9 })
    t.deepEqual([(await found(views)).month.revision, (await found(views)).month.status], [2, 'provisional'])
    t.is((await found(views, owner, 1)).month.revision, 1)
    for (const revision of [3, 9]) t.is(await views.find(owner, june, key, revision), undefined)
  })

  onBench(
    'the months of an owner ascend, once each, without those that are not published',
    async (t, { db, views }) => {
      for (const [year, month] of [
        [2026, 6],
        [2025, 12],
        [2026, 1],
      ] as const)
        await plant(db, owner, 'mine', { count: 1, month: monthKey(year, month) })
      await plant(db, owner, 'mine', { count: 1, revision: 2 })
      await plant(db, owner, 'mine', { count: 1, month: monthKey(2026, 7), isHidden: true })
      await plant(db, otherOwner, 'theirs', { count: 1, month: monthKey(2024, 2) })
      t.deepEqual(await views.monthsOf(owner), [202512, 202601, 202606] as never)
      t.deepEqual(await views.monthsOf(13 as AccountId), [])
    },
  )

  onBench(
    'pieces from a key begin with the piece that has it, and a piece is found by the key of any of its items',
    async (t, { db, views }) => {
      await plant(db, owner, 'mine')
      await plant(db, otherOwner, 'theirs')
      const view = await found(views)
      const pieces = await gathered(views.pieces(view))
      const items = pieces.flatMap((text, piece) =>
        (JSON.parse(`[${text}]`) as { clusterUID: string; objectID: string; name: string }[]).map((item) => ({
          ...item,
          piece,
        })),
      )
      // The first, the last and some between.
      const asked = items.filter((_, index) => index % Math.ceil(items.length / 14) === 0 || index === items.length - 1)
      for (const { clusterUID, objectID, name: itemName, piece } of asked) {
        const from = await gathered(views.pieces(view, `${clusterUID}/`))
        const first = items.find((item) => item.clusterUID === clusterUID)!
        t.true(from.flatMap(namesIn).includes(first.name))
        t.is(from.at(-1), pieces.at(-1))
        t.true(from.length <= pieces.length - first.piece + 1)
        t.true(namesIn((await views.pieceWith(view, `${clusterUID}/${objectID}`))!).includes(itemName))
        t.true(piece < view.pieceCount)
      }
      t.is(await views.pieceWith(view, '/'), undefined)
      t.deepEqual(await gathered(views.pieces(view, 'zzz')), pieces.slice(-1))
    },
  )

  onBench('the views of a revision are listed, complete ones only', async (t, { db, views }) => {
    const id = await plant(db, owner, 'mine', { count: 2 })
    await plant(db, owner, 'two', { count: 2, revision: 2 })
    await views.begin(id, { ...key, product: 'ingressProduct' })
    const listed = await views.listOf(id)
    t.is(listed.length, 14)
    t.true(listed.every((view) => view.month.id === id && view.key.product === 'dbProduct'))
    const objects = listed.find((view) => view.key.view === key.view && view.key.viewType === 'total')!
    t.is((await gathered(views.pieces(objects))).join().length > 0, true)
    t.is(await views.find(owner, june, { ...key, product: 'ingressProduct' }, 1), undefined)
  })
})
