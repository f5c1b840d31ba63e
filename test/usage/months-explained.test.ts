import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeSqlUsageViewStore } from '../../adapters/sql/usage/view-store.ts'
import { daySeconds } from '../../core/usage/month.ts'
import { makeExplain } from '../../core/usage/months/explain.ts'
import { callOf } from '../sql/call.ts'
import { end, fillMonth, month, owner, start } from './months-fixture.ts'
import { closed, closeInput, objectsOf, onEachFixture } from './months-close-fixture.ts'

onEachFixture('a namespace has the client organization that its labels name', async (t, fixture) => {
  const { a, b, kind } = await fillMonth(fixture)
  const label = 'ace.appscode.com/client-org'
  const organizationsOf = async () =>
    (
      (await fixture.shown('namespaces-usage-view'))?.json['items'] as {
        clusterUID: string
        namespace: string
        clientOrg: string
      }[]
    )
      .filter(({ clusterUID }) => clusterUID === a.uid)
      .map(({ namespace, clientOrg }) => [namespace, clientOrg])
  for (const namespace of ['acme', 'globex', 'other', 'quoted', 'unlabelled'])
    await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1, memoryMib: 1 }], { namespace })
  await fixture.namespace(a.id, 'n-acme', 'acme', { a: '1', [label]: 'true' })
  await fixture.namespace(a.id, 'n-globex', 'globex', { [label]: 'terminating' })
  await fixture.namespace(a.id, 'n-other', 'other', { [label]: 'false' })
  await fixture.namespace(a.id, 'n-quoted', 'quoted', { note: `"${label}":"true"` })
  await fixture.namespace(b.id, 'n-shop', 'shop', { [label]: 'true' })
  await closed(fixture.close(callOf(), closeInput))
  t.deepEqual(await organizationsOf(), [
    ['acme', 'acme'],
    ['globex', 'globex'],
    ['other', ''],
    ['quoted', ''],
    ['shop', ''],
    ['unlabelled', ''],
  ])
  // What a namespace belongs to is part of what a month is computed from.
  await fixture.db.query((k) =>
    k('usage_namespaces')
      .where({ cluster_id: a.id, namespace_uid: 'n-other' })
      .update({ labels: JSON.stringify({ [label]: 'true' }) }),
  )
  t.like(await closed(fixture.close(callOf(), closeInput)), { isNew: true })
  t.like(await organizationsOf(), { 2: ['other', 'other'] })
})

onEachFixture('the pieces that explain a figure add up to it', async (t, fixture) => {
  const { a, contract, kind } = await fillMonth(fixture)
  await closed(fixture.close(callOf(), closeInput))
  const { objects } = await objectsOf(fixture)
  const explain = makeExplain({
    months: fixture.deps.months,
    inputs: fixture.inputs,
    views: makeSqlUsageViewStore(fixture.db)(fixture.db),
  })
  for (const { object, clusterUid, parts } of objects) {
    for (const part of parts) {
      const explained = await explain({
        ownerId: owner,
        month,
        product: 'dbProduct',
        clusterUid,
        objectUid: object.uid,
        contractId: part.contractId,
        use: part.use,
      })
      if (isLeft(explained)) throw new Error(explained.left.message)
      let sum = 0n
      for await (const pieces of explained.right.pieces)
        for (const piece of pieces) sum += BigInt(piece.milliCpu) * BigInt(piece.to - piece.from)
      t.is(sum, part.milliCpuSeconds)
      t.false(await explained.right.hasChanged())
    }
  }
  const segments = await explain({
    ownerId: owner,
    month,
    product: 'dbProduct',
    clusterUid: a.uid,
    objectUid: undefined,
    contractId: undefined,
    use: undefined,
  })
  t.deepEqual(
    isRight(segments) &&
      segments.right.segments.map(({ from, to, mode, contractId }) => [from - start, to - start, mode, contractId]),
    [
      [0, 3600, 'non-prod', 0],
      [3600, 15 * daySeconds, 'non-prod', contract],
      [15 * daySeconds, end - start, 'prod', contract],
    ],
  )
  const unknown = await explain({
    ownerId: owner,
    month,
    product: 'dbProduct',
    clusterUid: 'no',
    objectUid: undefined,
    contractId: undefined,
    use: undefined,
  })
  t.is(isLeft(unknown) && unknown.left.tag, 'UsageMonthMissing')

  await fixture.object(a.id, kind, [{ from: start, to: start + daySeconds, milliCpu: 1000, memoryMib: 0 }])
  const later = await explain({
    ownerId: owner,
    month,
    product: 'dbProduct',
    clusterUid: a.uid,
    objectUid: objects[0]?.object.uid,
    contractId: undefined,
    use: undefined,
  })
  if (isLeft(later)) throw new Error(later.left.message)
  for await (const _ of later.right.pieces);
  t.true(await later.right.hasChanged(), 'what was reported since then')
})
