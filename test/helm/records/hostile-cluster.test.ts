import { gzipSync } from 'node:zlib'
import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import { makeHelmReleaseStore } from '../../../adapters/helm/records/release-store.ts'
import { AccessDenied } from '../../../core/authz/ports.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { AccountId, ClusterId } from '../../../core/kernel/ids.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { makeReleaseReads } from '../../../core/packages/releases/release-reads.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'

/** A cluster that answers whatever its owner likes: what it says must not fill the memory that all tenants share. */
const signal = new AbortController().signal
const store = makeHelmReleaseStore({ clock: { now: () => new Date() } })
test.after.always(() => store.close())

type Answer = (target: URL) => unknown
const clusterOf = (answer: Answer): MemberCluster & { readonly asked: () => number } => {
  let asked = 0
  return {
    id: 1 as ClusterId,
    ownerId: 1 as AccountId,
    ownerName: 'acme',
    name: 'prod',
    uid: 'u',
    asked: () => asked,
    request: ({ target }) => {
      asked += 1
      const json = answer(new URL(target, 'http://cluster'))
      return Promise.resolve(right({ status: 200, json, text: '' }))
    },
    relay: () => Promise.reject(new Error('not part of these tests')),
  }
}

const metadataOf = (index: number, more: object = {}) => ({
  name: `sh.helm.release.v1.r${index}.v1`,
  namespace: 'shop',
  uid: `u${index}`,
  resourceVersion: '1',
  labels: { owner: 'helm', name: `r${index}`, version: '1', status: 'deployed' },
  ...more,
})
const pageOf = (from: number, count: number, more: object = {}) => ({
  metadata: { continue: 'next' },
  items: Array.from({ length: count }, (_, at) => ({ metadata: metadataOf(from + at, more) })),
})

test('an index is bounded, however large its pages are and however long their words', async (t) => {
  const endless = clusterOf(() => pageOf(0, 30_000))
  t.is(tagOf(await store.index(endless, 'Secret', {}, signal)), 'ClusterUnreachable')
  t.true(endless.asked() < 10)
  const wordy = clusterOf(() => ({
    items: [
      { metadata: metadataOf(1, { uid: 'u'.repeat(10_000) }) },
      { metadata: metadataOf(2, { resourceVersion: '1'.repeat(10_000) }) },
      { metadata: metadataOf(3) },
    ],
  }))
  t.deepEqual(
    unwrap(await store.index(wordy, 'Secret', {}, signal)).map(({ name }) => name),
    ['r3'],
  )
})

/** Packs to a few kilobytes, and is large where it is read. */
const largeRecord = (index: number, record: object) => {
  const json = JSON.stringify({ name: `r${index}`, namespace: 'shop', version: 1, ...record })
  return {
    metadata: metadataOf(index),
    data: { release: Buffer.from(gzipSync(json).toString('base64')).toString('base64') },
  }
}
const indexed =
  (count: number, objectOf: (index: number) => object): Answer =>
  ({ pathname }) => {
    const named = /r(\d+)\.v1$/.exec(pathname)
    return named === null ? { items: pageOf(0, count).items } : objectOf(Number(named[1]))
  }

test('headers that are too large together are refused', async (t) => {
  const long = 'x'.repeat(8 * 1024 * 1024)
  const cluster = clusterOf(
    indexed(40, (index) =>
      largeRecord(index, { info: { status: 'deployed', description: long }, chart: { metadata: {} } }),
    ),
  )
  const refs = unwrap(await store.index(cluster, 'Secret', {}, signal))
  t.is(tagOf(await store.headers(cluster, 'Secret', refs, signal)), 'RecordUnreadable')
  t.is(unwrap(await store.headers(cluster, 'Secret', refs.slice(0, 2), signal)).length, 2)
})

test('whole releases that are too large together are refused', async (t) => {
  const manifest = 'x'.repeat(20 * 1024 * 1024)
  const cluster = clusterOf(
    indexed(100, (index) => largeRecord(index, { info: { status: 'deployed' }, chart: {}, manifest })),
  )
  const reads = makeReleaseReads({
    memberClusters: { open: () => Promise.resolve(right(cluster)) },
    releases: store,
    driverOf: () => Promise.resolve('Secret'),
    patterns: { compile: () => left(AccessDenied('')) as never },
  })
  const call = { signal } as SignedInCall
  const list = (limit: number) => reads.list(call, { grant: {} as never, options: { limit }, isFull: true })
  t.is(unwrap(await list(2)).length, 2)
  t.is(tagOf(await list(0)), 'RecordUnreadable')
  t.true(cluster.asked() < 40)
})
