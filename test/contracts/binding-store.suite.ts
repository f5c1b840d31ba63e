import { randomUUID } from 'node:crypto'
import type { ContractClusterId } from '../../core/contracts/types.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { at, bound, days, firstPage, inserted, later, otherOwner, owner, sortedUids } from './contract-store.fixture.ts'
import type { ContractStoreBench } from './contract-store.suite.ts'
import { fillContractFixture } from './contract-store.suite.ts'

const about: SuiteAbout = {
  name: 'binding-store',
  ports: ['BindingStore', 'ContractEvents'],
  needs: 'The organizations 11 and 12 without contracts.',
  fill: fillContractFixture,
}

/** What every BindingStore and the history keep. */
export const bindingStoreSuite = contractSuite<ContractStoreBench>(about, (onBench) => {
  onBench('bindings are listed by name, in pages, and found within their contract alone', async (t, bench) => {
    const [contract, other] = [await inserted(bench, owner), await inserted(bench, owner)]
    const uids = sortedUids(3)
    const [first] = await bound(bench, contract, ...uids)
    t.deepEqual(await bench.bindings.find(contract.id, first!.id), {
      id: first!.id,
      contractId: contract.id,
      ownerId: owner,
      clusterUid: uids[0]!,
      displayName: `cluster ${uids[0]}`,
      tags: [],
      boundAt: at,
    })
    t.is(await bench.bindings.find(other.id, first!.id), undefined)
    t.is(await bench.bindings.find(contract.id, 999_999 as ContractClusterId), undefined)
    const second = await bench.bindings.listOf(contract.id, { page: 2, limit: 2 })
    t.deepEqual([second.items.map(({ clusterUid }) => clusterUid), second.total], [[uids[2]!], 3])
    t.deepEqual(await bench.bindings.boundAmong(contract.id, [uids[1]!, randomUUID(), uids[0]!]), [uids[0]!, uids[1]!])
    t.deepEqual(await bench.bindings.boundAmong(other.id, uids), [])
  })

  onBench('one cluster is bound to a contract at most once', async (t, bench) => {
    const contract = await inserted(bench, owner)
    const [uid] = sortedUids(1) as [string]
    await bound(bench, contract, uid)
    await t.throwsAsync(bench.bindings.add(contract, [{ clusterUid: uid, displayName: 'again' }], later))
  })

  onBench('a thousand clusters are bound and found at once', async (t, bench) => {
    const contract = await inserted(bench, owner)
    const uids = sortedUids(1000)
    t.is((await bound(bench, contract, ...uids)).length, 1000)
    t.deepEqual(
      (await bench.bindings.listFor(owner, uids, at)).map(({ binding }) => binding.clusterUid),
      uids,
    )
    t.deepEqual(await bench.bindings.listFor(otherOwner, uids, at), [])
    t.deepEqual(await bench.bindings.boundAmong(contract.id, uids), uids)
  })

  onBench('listFor knows contracts in force alone, of the account alone', async (t, bench) => {
    const [active, second, scheduled, foreign] = [
      await inserted(bench, owner),
      await inserted(bench, owner, { product: 'vault', features: ['vault'], allowsOffline: false }),
      await inserted(bench, owner, { startsAt: days(1) }),
      await inserted(bench, otherOwner),
    ]
    const [uid] = sortedUids(1) as [string]
    for (const each of [second, active, scheduled, foreign]) await bound(bench, each, uid)
    const found = await bench.bindings.listFor(owner, [uid], at)
    t.deepEqual(
      found.map(({ contract }) => contract),
      [
        { id: active.id, product: 'database', features: ['db-backup', 'db-basic'], allowsOffline: true },
        { id: second.id, product: 'vault', features: ['vault'], allowsOffline: false },
      ],
    )
    t.deepEqual(
      (await bench.bindings.listFor(otherOwner, [uid], at)).map(({ contract }) => contract.id),
      [foreign.id],
    )
    t.deepEqual(await bench.bindings.listFor(owner, [], at), [])
  })

  onBench('clusters of active offline contracts are listed once each, by UID, with all of them', async (t, bench) => {
    const [first, second] = [await inserted(bench, owner), await inserted(bench, owner)]
    const [online, ended, foreign] = [
      await inserted(bench, owner, { allowsOffline: false }),
      await inserted(bench, owner, { endsAt: at }),
      await inserted(bench, otherOwner),
    ]
    const [a, b, c] = sortedUids(3) as [string, string, string]
    await bound(bench, first, b, a)
    await bound(bench, second, a)
    for (const each of [online, ended]) await bound(bench, each, a, c)
    await bound(bench, foreign, a, c)
    await bench.bindings.setTags(owner, a, ['eu'])
    await bench.bindings.setTags(otherOwner, a, ['theirs'])
    t.deepEqual(await bench.bindings.listLicensed(owner, at, firstPage), {
      items: [
        { clusterUid: a, displayName: `cluster ${a}`, tags: ['eu'], contractIds: [first.id, second.id] },
        { clusterUid: b, displayName: `cluster ${b}`, tags: [], contractIds: [first.id] },
      ],
      total: 2,
    })
    const page = await bench.bindings.listLicensed(owner, at, { page: 2, limit: 1 })
    t.deepEqual([page.items.map(({ clusterUid }) => clusterUid), page.total], [[b], 2])
  })

  onBench('tags are shared by the contracts of one account, and replaced whole', async (t, bench) => {
    const contracts = [
      await inserted(bench, owner),
      await inserted(bench, owner),
      await inserted(bench, owner),
      await inserted(bench, otherOwner),
    ]
    const [uid] = sortedUids(1) as [string]
    for (const each of contracts) await bound(bench, each, uid)
    for (const tags of [['eu', 'prod'], ['us']]) {
      await bench.bindings.setTags(owner, uid, tags)
      const seen = await Promise.all(
        contracts.map(async ({ id }) => (await bench.bindings.listOf(id, firstPage)).items[0]?.tags),
      )
      t.deepEqual(seen, [tags, tags, tags, []])
    }
  })

  onBench('a binding is renamed and removed alone, and can be made again', async (t, bench) => {
    const [contract, other] = [await inserted(bench, owner), await inserted(bench, owner)]
    const [uid] = sortedUids(1) as [string]
    const [binding] = await bound(bench, contract, uid)
    await bound(bench, other, uid)
    await bench.bindings.rename(binding!, 'Pröd')
    t.is((await bench.bindings.find(contract.id, binding!.id))?.displayName, 'Pröd')
    t.is((await bench.bindings.listOf(other.id, firstPage)).items[0]?.displayName, `cluster ${uid}`)
    await bench.bindings.remove(binding!, later)
    t.is(await bench.bindings.find(contract.id, binding!.id), undefined)
    t.is((await bench.bindings.listOf(other.id, firstPage)).total, 1)
    t.is((await bound(bench, contract, uid)).length, 1)
  })

  onBench('the history of a contract is in the order of events, in pages', async (t, bench) => {
    const [contract, other] = [await inserted(bench, owner), await inserted(bench, otherOwner)]
    await bench.events.record(contract.id, 'contract.created', 'ann@example.com', at)
    await bench.events.record(other.id, 'contract.created', 'bob@example.com', at)
    await bench.events.record(contract.id, 'license.issued', `${'x'.repeat(300)}@example.com`, later, {
      number: 2,
      from: at,
    })
    const { items, total } = await bench.events.listOf(contract.id, firstPage)
    t.is(total, 2)
    t.deepEqual(
      items.map(({ id: _, ...event }) => event),
      [
        {
          contractId: contract.id,
          addedBy: 'ann@example.com',
          event: 'contract.created',
          createdAt: at,
          terms: undefined,
        },
        {
          contractId: contract.id,
          addedBy: 'x'.repeat(254),
          event: 'license.issued',
          createdAt: later,
          terms: { number: 2, from: at },
        },
      ],
    )
    t.deepEqual(
      (await bench.events.listOf(contract.id, { page: 2, limit: 1 })).items.map(({ event }) => event),
      ['license.issued'],
    )
  })
})
