// process: waiting - uses components
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hubs } from '../../core/clusters/hubs/ports.ts'
import { ClusterStorePort } from '../../core/clusters/ports.ts'
import { makeAddToClusterSet } from '../../core/hubs/clustersets/membership.ts'
import { makeCreateClusterSet, makeDeleteClusterSet } from '../../core/hubs/clustersets/cluster-sets.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { AuditEntry } from '../../core/kernel/unit-of-work.ts'
import { disturbedHub, type Disturbance } from '../clusters/disturbed-hub.ts'
import { needing } from '../support/components/needing.ts'
import { managedClusterSets } from '../support/hub/api/kinds.ts'
import { tagOf } from '../support/outcome.ts'
import { change, hubId, objects, recordOf, rowsOf, service } from './set-changes.fixture.ts'

/** Changes of cluster sets, on a real kube-apiserver with the definitions of OCM. */
const test = needing('kubernetes')

test('a cluster that is added to two sets is in one, as the audit log says', async (t) => {
  const { cluster, set, setsOf } = objects
  const [one, two] = [await set(), await set()]
  const clusters = await Promise.all([1, 2, 3, 4].map(() => cluster()))
  const answers = await Promise.all([
    change('add', one, clusters),
    change('add', two, clusters),
    change('add', one, clusters),
    change('add', two, clusters),
  ])
  // A conflict five times in a row is possible, and reported.
  for (const { status } of answers) t.true([200, 409, 422].includes(status))
  const ends = await setsOf(...clusters)
  const moves = [
    ...new Map([...(await rowsOf(one)), ...(await rowsOf(two))].map((row) => [JSON.stringify(row), row])).values(),
  ] as unknown as [string, string, string[]][]
  for (const [index, name] of clusters.entries()) {
    const own = moves.filter(([, , names]) => names.includes(name))
    t.true(ends[index] === one || ends[index] === two)
    t.is(own.filter(([from]) => from === '').length, 1, 'it left no set once')
    t.true(own.some(([, to]) => to === ends[index]))
  }
})

test('two creates of one set both succeed, and one of them is recorded', async (t) => {
  const { cluster, setsOf, unique } = objects
  const name = unique('set')
  const [a, b] = [await cluster(), await cluster()]
  const answers = await Promise.all([change('create', name, [a]), change('create', name, [b]), change('create', name)])
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.deepEqual(await setsOf(a, b), [name, name])
  t.is((await rowsOf(name)).filter((row) => (row as string[])[0] === 'cluster.set_created').length, 1)
})

test('no cluster keeps the name of a deleted set', async (t) => {
  const { cluster, set, setsOf, hasSet } = objects
  const rounds = await Promise.all(Array.from({ length: 8 }, async () => [await set(), await cluster()] as const))
  await Promise.all(
    rounds.map(async ([name, a]) => {
      const [added, deleted] = await Promise.all([change('add', name, [a]), change('delete', name)])
      t.true([200, 422].includes(added.status), added.text)
      t.true([200, 422].includes(deleted.status), deleted.text)
      t.deepEqual(
        [await hasSet(name), ...(await setsOf(a))],
        deleted.status === 200 ? [false, undefined] : [true, name],
      )
    }),
  )
})

test('a spoke that its hub does not manage, or no longer, is in no set', async (t) => {
  const [set, gone] = [await objects.set(), objects.unique('spoke')]
  const record = await recordOf(t, gone)
  t.is(await record.refresh(), '')
  const known = await objects.cluster({ set })
  const other = await recordOf(t, known)
  t.is(await other.refresh(), set)
  await objects.deleteCluster(known)
  t.is(await other.refresh(), '')
})

/** The use cases on a hub where something else happens before chosen requests, and what they record. */
const meeting = async (before: Disturbance) => {
  const { hub } = await disturbedHub(service, hubId, before)
  const recorded: AuditEntry[] = []
  const deps = {
    hubs: { open: async () => right(hub), openSpoke: async () => right(hub) } as Hubs,
    clusters: service.running.container.resolve(ClusterStorePort),
    unitOfWork: {
      run: async (
        _call: unknown,
        work: (stores: { audit: { record(entry: AuditEntry): Promise<void> } }) => Promise<never>,
      ) => work({ audit: { record: async (entry) => void recorded.push(entry) } }),
    } as never,
  }
  return { deps, recorded, call: {} as SignedInCall, grant: {} as AccessGrant }
}
/** Runs once, before the first request that fits. */
const once = (fits: (method: string, target: string) => boolean, work: () => Promise<unknown>): Disturbance => {
  let isDone = false
  return async ({ method, target }) => {
    if (isDone || !fits(method, target)) return
    isDone = true
    await work()
  }
}

test('a cluster that is added during a deletion is removed from the set', async (t) => {
  const { cluster, set, setsOf, hasSet, move } = objects
  const [name, a] = [await set(), await cluster()]
  const { deps, recorded, call, grant } = await meeting(
    once(
      (method) => method === 'DELETE',
      () => move(a, name),
    ),
  )
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.false(await hasSet(name))
  t.deepEqual(await setsOf(a), [undefined])
  t.deepEqual(
    recorded.map(({ action, changes }) => [action, changes]),
    [
      ['cluster.set_deleted', { clusterSet: name }],
      ['cluster.spokes_moved', { from: name, to: '', clusters: [a] }],
    ],
  )
})

test('a set that is replaced during a deletion stays with its clusters', async (t) => {
  const { cluster, set, setsOf, hasSet, move, deleteSet, client } = objects
  const [name, a] = [await set(), await cluster()]
  const { deps, recorded, call, grant } = await meeting(
    once(
      (method) => method === 'DELETE',
      async () => {
        await deleteSet(name)
        await client.create(managedClusterSets, { metadata: { name } })
        await move(a, name)
      },
    ),
  )
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.true(await hasSet(name))
  t.deepEqual(await setsOf(a), [name])
  t.deepEqual(recorded, [])
})

test('a cluster that moves to another set while it is swept stays there', async (t) => {
  const { cluster, set, setsOf, move } = objects
  const [name, other, a] = [await set(), await set(), await cluster()]
  const added = once(
    (method) => method === 'DELETE',
    () => move(a, name),
  )
  const moved = once(
    (method) => method === 'PATCH',
    () => move(a, other),
  )
  const { deps, call, grant } = await meeting(async (request) => (await added(request), await moved(request)))
  t.is(tagOf(await makeDeleteClusterSet(deps)(call, { grant, clusterSet: name })), 'done')
  t.deepEqual(await setsOf(a), [other])
})

test('clusters leave a set that is deleted while they are added', async (t) => {
  const { cluster, set, setsOf, deleteSet, unique } = objects
  for (const make of [makeAddToClusterSet, makeCreateClusterSet]) {
    const [name, a] = [make === makeAddToClusterSet ? await set() : unique('set'), await cluster()]
    const { deps, recorded, call, grant } = await meeting(
      once(
        (method) => method === 'PATCH',
        () => deleteSet(name),
      ),
    )
    const outcome = await make(deps)(call, { grant, clusterSet: name, clusters: [a] })
    t.is(tagOf(outcome), 'ClusterSetRefused')
    t.regex(isLeft(outcome) ? outcome.left.message : '', /was deleted during the request/)
    t.deepEqual(await setsOf(a), [undefined])
    t.deepEqual(
      recorded.filter(({ action }) => action === 'cluster.spokes_moved').map(({ changes }) => changes),
      [
        { from: '', to: name, clusters: [a] },
        { from: name, to: '', clusters: [a] },
      ],
    )
  }
})

test('a cluster that changes while it is added is judged again', async (t) => {
  const { cluster, set, setsOf, deleteCluster } = objects
  const [name, other] = [await set(), await set()]
  const [a, leaving] = [await cluster(), await cluster({ finalizers: ['example.com/stay'] })]
  const moved = await meeting(
    once(
      (method) => method === 'PATCH',
      () => objects.move(a, other),
    ),
  )
  t.is(
    tagOf(await makeAddToClusterSet(moved.deps)(moved.call, { grant: moved.grant, clusterSet: name, clusters: [a] })),
    'done',
  )
  t.deepEqual(
    moved.recorded.map(({ changes }) => changes),
    [{ from: other, to: name, clusters: [a] }],
  )
  const deleted = await meeting(
    once(
      (method) => method === 'PATCH',
      () => deleteCluster(leaving),
    ),
  )
  t.is(
    tagOf(
      await makeAddToClusterSet(deleted.deps)(deleted.call, {
        grant: deleted.grant,
        clusterSet: name,
        clusters: [leaving],
      }),
    ),
    'ClusterSetRefused',
  )
  t.deepEqual(await setsOf(a, leaving), [name, undefined])
})

test('no more than eight clusters are changed at a time', async (t) => {
  const { cluster, set, setsOf } = objects
  const name = await set()
  const clusters = await Promise.all(Array.from({ length: 24 }, () => cluster()))
  const open = new Set<string>()
  let most = 0
  const { deps, call, grant } = await meeting(async ({ method, target }) => {
    const spoke = /managedclusters\/([^/?]+)$/.exec(target)?.[1]
    if (spoke === undefined) return
    if (method === 'GET') open.add(spoke)
    most = Math.max(most, open.size)
    // The cluster counts until its change is sent.
    if (method === 'PATCH') open.delete(spoke)
  })
  t.is(tagOf(await makeAddToClusterSet(deps)(call, { grant, clusterSet: name, clusters })), 'done')
  t.true(most > 1 && most <= 8, String(most))
  t.deepEqual(new Set(await setsOf(...clusters)), new Set([name]))
})
