import { randomUUID } from 'node:crypto'
import type { BoundCluster, ContractId, TermsVersion } from '../../core/contracts/types.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import type { Fixture } from '../authz/fixture.ts'
import {
  at,
  bound,
  days,
  firstPage,
  idsOf,
  inserted,
  later,
  otherOwner,
  owner,
  sortedUids,
  terms,
} from './contract-store.fixture.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { BindingStore, ContractEvents, ContractStore } from '../../core/contracts/ports.ts'

/**
 * Stores of their own for each case. They find the organizations 11 (account11) and 12 (account12), without contracts.
 */
export interface ContractStoreBench {
  /** Bound to one transaction or connection. */
  readonly contracts: ContractStore
  readonly bindings: BindingStore
  readonly events: ContractEvents
  close(): Promise<void>
}

const organization = (id: number) => ({
  id,
  visibility: 'private' as const,
  members: [1],
  teams: [],
  roles: [],
  grants: [],
})
const fixture: Fixture = { users: [1], orgs: [organization(11), organization(12)], clusters: [], tokens: [] }

/** Writes what the suites of contracts need into an empty database. */
export const fillContractFixture = (database: SqlDatabase): Promise<void> => storeFixture(database, fixture)

const about: SuiteAbout = {
  name: 'contract-store',
  ports: ['ContractStore'],
  needs: 'The organizations 11 and 12 without contracts.',
  fill: fillContractFixture,
}

/** What every ContractStore keeps. Each case on an account's data has its twin from another account. */
export const contractStoreSuite = contractSuite<ContractStoreBench>(about, (onBench) => {
  onBench('a contract reads back as it was inserted, with version 1', async (t, bench) => {
    const contract = await inserted(bench, owner)
    t.deepEqual(contract, {
      ...terms(),
      id: contract.id,
      ownerId: owner,
      ownerName: 'account11',
      document: undefined,
      revokedAt: undefined,
      remindedAt45Days: undefined,
      remindedAt10Days: undefined,
      createdAt: at,
      termsNumber: 1,
      version: 1,
    })
    t.deepEqual(await bench.contracts.getAny(contract.id), contract)
    t.deepEqual(await bench.contracts.lock(owner, [contract.id, contract.id]), [contract])
  })

  onBench('a contract of another account does not exist', async (t, bench) => {
    const { id } = await inserted(bench, otherOwner)
    t.is(await bench.contracts.get(owner, id), undefined)
    t.deepEqual(await bench.contracts.lock(owner, [id]), [])
    t.deepEqual(await bench.contracts.listOf(owner, {}, firstPage), { items: [], total: 0 })
    t.deepEqual(await bench.contracts.listBindingNew(owner, at), [])
  })

  onBench('lock returns contracts in the order of ids, and those of the account alone', async (t, bench) => {
    const made = [await inserted(bench, owner), await inserted(bench, otherOwner), await inserted(bench, owner)]
    const locked = await bench.contracts.lock(owner, [made[2]!.id, made[1]!.id, made[0]!.id, 999_999 as ContractId])
    t.deepEqual(
      locked.map(({ id }) => id),
      [made[0]!.id, made[2]!.id],
    )
  })

  onBench('lists have the newest start first, in pages', async (t, bench) => {
    const [old, fresh, same] = [
      await inserted(bench, owner, { startsAt: days(-3) }),
      await inserted(bench, owner),
      await inserted(bench, owner),
    ]
    const foreign = await inserted(bench, otherOwner, { startsAt: days(-2) })
    t.deepEqual(idsOf(await bench.contracts.listOf(owner, {}, firstPage)), [same.id, fresh.id, old.id])
    const second = await bench.contracts.listOf(owner, {}, { page: 2, limit: 2 })
    t.deepEqual([idsOf(second), second.total], [[old.id], 3])
    t.deepEqual(idsOf(await bench.contracts.listAll(firstPage)), [same.id, fresh.id, foreign.id, old.id])
  })

  onBench('a contract is active from its start to just before its end, unless it is revoked', async (t, bench) => {
    const { id, startsAt, endsAt } = await inserted(bench, owner)
    const activeAt = async (instant: number) =>
      (await bench.contracts.listOf(owner, { activeAt: new Date(instant) }, firstPage)).total
    const instants = [startsAt.getTime() - 1, startsAt.getTime(), endsAt.getTime() - 1, endsAt.getTime()]
    t.deepEqual(await Promise.all(instants.map(activeAt)), [0, 1, 1, 0])
    await bench.contracts.revoke(id, at)
    t.deepEqual(await Promise.all(instants.map(activeAt)), [0, 0, 0, 0])
    t.like(await bench.contracts.get(owner, id), { revokedAt: at, version: 2 })
    await bench.contracts.revoke(id, later)
    t.deepEqual((await bench.contracts.get(owner, id))?.revokedAt, at, 'the first instant stays')
  })

  onBench('lists select by offline licenses and by a cluster that is bound or not', async (t, bench) => {
    const [offline, online] = [await inserted(bench, owner), await inserted(bench, owner, { allowsOffline: false })]
    const foreign = await inserted(bench, otherOwner)
    const [uid] = sortedUids(1) as [string]
    await bound(bench, online, uid)
    await bound(bench, foreign, uid)
    const found = async (selection: Parameters<ContractStore['listOf']>[1]) =>
      idsOf(await bench.contracts.listOf(owner, selection, firstPage))
    t.deepEqual(await found({ allowsOffline: true }), [offline.id])
    t.deepEqual(await found({ cluster: { uid, bound: 'with' } }), [online.id])
    t.deepEqual(await found({ cluster: { uid, bound: 'without' } }), [offline.id])
    t.deepEqual(await found({ allowsOffline: true, cluster: { uid, bound: 'with' } }), [])
    t.deepEqual(await found({ cluster: { uid: randomUUID(), bound: 'without' }, activeAt: at }), [
      online.id,
      offline.id,
    ])
  })

  onBench(
    'details are replaced at once, without a version of the terms, and touch no other contract',
    async (t, bench) => {
      const [contract, other] = [await inserted(bench, owner), await inserted(bench, otherOwner)]
      const next = {
        name: 'Ünïcode 𝒩ame',
        emails: { ...contract.emails, financeTeam: ['cash@example.com'] },
        bindsNewClusters: true,
      }
      await bench.contracts.setDetails(contract.id, { ...contract, ...next }, later)
      t.deepEqual(await bench.contracts.get(owner, contract.id), { ...contract, ...next, version: 2 })
      t.is((await bench.contracts.listTerms(contract.id)).length, 1)
      t.deepEqual(await bench.contracts.get(otherOwner, other.id), other)
    },
  )

  onBench(
    'a contract has the version of its terms that is in force when it is read, in every list',
    async (t, bench) => {
      const [contract, other] = [await inserted(bench, owner), await inserted(bench, otherOwner)]
      const [uid] = sortedUids(1) as [string]
      await bound(bench, contract, uid)
      const [first] = (await bench.contracts.listTerms(contract.id)) as [TermsVersion]
      t.like(first, {
        number: 1,
        from: new Date(0),
        to: undefined,
        recordedAt: at,
        supersededAt: undefined,
        features: ['db-backup', 'db-basic'],
      })
      const planned: TermsVersion = {
        ...first,
        number: 2,
        from: days(2),
        features: ['vault'],
        product: 'vault',
        allowsOffline: false,
        maxTrials: 0,
        endsAt: days(4),
      }
      await bench.contracts.setTerms(contract.id, [{ ...first, to: days(2) }, planned], later)
      t.deepEqual(await bench.contracts.get(owner, contract.id), { ...contract, version: 2 })
      t.deepEqual(await bench.contracts.lock(owner, [contract.id]), [{ ...contract, version: 2 }])
      t.like(
        (await bench.contracts.listAll(firstPage)).items.find(({ id }) => id === contract.id),
        { termsNumber: 1, product: 'database' },
      )
      const seenAt = async (instant: Date) => {
        const [one] = (await bench.contracts.listOf(owner, { activeAt: instant }, firstPage)).items
        const [licensed] = await bench.bindings.listFor(owner, [uid], instant)
        const offline = (await bench.bindings.listLicensed(owner, instant, firstPage)).total
        return [
          one?.termsNumber,
          one?.product,
          licensed?.contract.product,
          offline,
          (await bench.contracts.listToRemind(45, instant, days(44), 10)).filter(({ ownerId }) => ownerId === owner)
            .length,
        ]
      }
      t.deepEqual(await seenAt(new Date(days(2).getTime() - 1)), [1, 'database', 'database', 1, 1])
      t.deepEqual(await seenAt(days(2)), [2, 'vault', 'vault', 0, 1])
      t.deepEqual(await seenAt(days(4)), [undefined, undefined, undefined, 0, 0])
      t.deepEqual(
        (await bench.bindings.listContractsOf(uid, 5)).map((each) => each.contract.termsNumber),
        [1],
      )
      t.deepEqual(await bench.contracts.get(otherOwner, other.id), other)
    },
  )

  onBench('versions that are no longer in force at any time are kept as superseded', async (t, bench) => {
    const contract = await inserted(bench, owner)
    const [first] = (await bench.contracts.listTerms(contract.id)) as [TermsVersion]
    const [second, third] = [
      { ...first, number: 2, from: days(2), recordedBy: 'ann@example.com' },
      { ...first, number: 3, from: days(1) },
    ]
    await bench.contracts.setTerms(contract.id, [{ ...first, to: days(2) }, second], later)
    await bench.contracts.setTerms(contract.id, [{ ...first, to: days(1) }, third], later)
    t.deepEqual(await bench.contracts.listTerms(contract.id), [
      { ...first, to: days(1) },
      { ...second, supersededAt: later },
      third,
    ])
    await bench.contracts.setTerms(contract.id, [{ ...third, number: 4, from: new Date(0) }], later)
    t.deepEqual(
      (await bench.contracts.listTerms(contract.id)).map(({ number, supersededAt }) => [
        number,
        supersededAt !== undefined,
      ]),
      [
        [1, true],
        [2, true],
        [3, true],
        [4, false],
      ],
    )
  })

  onBench('a contract is used once a cluster was bound to it, also after that was removed', async (t, bench) => {
    const [contract, other] = [await inserted(bench, owner), await inserted(bench, otherOwner)]
    t.false(await bench.contracts.isUsed(contract.id))
    const [binding] = (await bound(bench, contract, randomUUID())) as [BoundCluster]
    await bench.bindings.remove(binding, later)
    t.deepEqual([await bench.contracts.isUsed(contract.id), await bench.contracts.isUsed(other.id)], [true, false])
  })

  onBench('a document is kept, replaced and removed', async (t, bench) => {
    const { id } = await inserted(bench, owner)
    const document = {
      ref: randomUUID(),
      fileName: 'Vertrag – final.pdf',
      mediaType: 'application/pdf',
      size: 26_214_400,
    }
    await bench.contracts.setDocument(id, document, later)
    t.like(await bench.contracts.get(owner, id), { document, version: 2 })
    await bench.contracts.setDocument(id, undefined, later)
    t.is((await bench.contracts.get(owner, id))?.document, undefined)
  })

  onBench('remove takes the bindings and the history with the contract, and nothing of another', async (t, bench) => {
    const [contract, other] = [await inserted(bench, owner), await inserted(bench, otherOwner)]
    const [uid] = sortedUids(1) as [string]
    await bound(bench, contract, uid)
    await bound(bench, other, uid)
    await bench.events.record(contract.id, 'cluster.added', 'ann@example.com', at)
    await bench.contracts.remove(contract.id)
    t.is(await bench.contracts.getAny(contract.id), undefined)
    t.is((await bench.bindings.listOf(contract.id, firstPage)).total, 0)
    t.is((await bench.events.listOf(contract.id, firstPage)).total, 0)
    t.is((await bench.bindings.listOf(other.id, firstPage)).total, 1)
  })

  onBench('a contract is due for each reminder once, until its end moves', async (t, bench) => {
    const [soon, sooner] = [
      await inserted(bench, owner, { endsAt: days(40) }),
      await inserted(bench, otherOwner, { endsAt: days(9) }),
    ]
    await inserted(bench, owner, { endsAt: days(45) })
    await inserted(bench, owner, { endsAt: at })
    await bench.contracts.revoke((await inserted(bench, owner, { endsAt: days(5) })).id, at)
    const due = async (within: 45 | 10, limit = 10) =>
      (await bench.contracts.listToRemind(within, at, days(within), limit)).map(({ id }) => id)
    t.deepEqual([await due(45), await due(10), await due(45, 1)], [[sooner.id, soon.id], [sooner.id], [sooner.id]])
    t.deepEqual(
      [await bench.contracts.markReminded(soon, 45, at), await bench.contracts.markReminded(soon, 45, later)],
      [true, false],
    )
    t.like(await bench.contracts.get(owner, soon.id), { remindedAt45Days: at, remindedAt10Days: undefined })
    t.deepEqual(await due(45), [sooner.id])
    const [first] = (await bench.contracts.listTerms(soon.id)) as [TermsVersion]
    await bench.contracts.setTerms(soon.id, [{ ...first, number: 2, endsAt: days(41) }], later)
    t.deepEqual(await due(45), [sooner.id, soon.id])
    t.like(await bench.contracts.get(owner, soon.id), { remindedAt45Days: undefined })
  })

  onBench(
    'the next end is that of any account, without revoked contracts and those that have ended',
    async (t, bench) => {
      t.deepEqual(await bench.contracts.nextEnds(at, days(10)), { first: undefined, count: 0 })
      await inserted(bench, owner, { endsAt: days(40) })
      await inserted(bench, otherOwner, { endsAt: days(9) })
      await inserted(bench, owner, { endsAt: at })
      await bench.contracts.revoke((await inserted(bench, owner, { endsAt: days(5) })).id, at)
      t.deepEqual(await bench.contracts.nextEnds(at, days(10)), { first: days(9), count: 1 })
    },
  )

  onBench('new clusters are bound to active contracts of the account that say so', async (t, bench) => {
    const automatic = await inserted(bench, owner, { bindsNewClusters: true })
    await inserted(bench, owner)
    await inserted(bench, owner, { bindsNewClusters: true, startsAt: days(1) })
    const foreign = await inserted(bench, otherOwner, { bindsNewClusters: true })
    t.deepEqual(
      (await bench.contracts.listBindingNew(owner, at)).map(({ id }) => id),
      [automatic.id],
    )
    t.deepEqual(
      (await bench.contracts.listBindingNew(otherOwner, at)).map(({ id }) => id),
      [foreign.id],
    )
  })
})
