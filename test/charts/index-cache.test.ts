import test from 'ava'
import type { ChartThreads } from '../../adapters/charts/chart-threads.ts'
import { makeIndexCache } from '../../adapters/charts/repositories/http-repository.ts'
import { IndexRefused, packIndex, readIndex, unpackIndex } from '../../adapters/charts/repositories/repository-index.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import type { GuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'

const indexOf = (versions: number): string =>
  `entries: {web: [${Array.from({ length: versions }, (_, at) => `{version: 1.0.${at}, urls: [web-${at}.tgz]${at % 2 === 0 ? `, digest: ${'a'.repeat(64)}` : ''}}`).join(', ')}]}`

const threads = {
  run: async ({ kind, bytes }: { readonly kind: string; readonly bytes: Uint8Array }) => ({
    kind,
    parts: packIndex(readIndex(bytes)),
  }),
} as unknown as ChartThreads

/** A source whose answers wait until they are let go. */
const heldSource = () => {
  const open = new Set<string>()
  const asked: string[] = []
  const released: string[] = []
  const gate = Promise.withResolvers<void>()
  let most = 0
  const fetch: GuardedFetch = async ({ url }) => {
    open.add(url.href)
    asked.push(url.href)
    most = Math.max(most, open.size)
    await gate.promise
    open.delete(url.href)
    return {
      status: 200,
      headers: {},
      bytes: new TextEncoder().encode(indexOf(1)),
      url,
      release: () => void released.push(url.href),
    }
  }
  return { fetch, asked, released, letGo: gate.resolve, most: () => most }
}
const access = (query: string) => ({ url: `https://charts.example/${query}`, isPlainHttp: false, credentials: {} })
const never = new AbortController().signal

test('requests for one index at the same time read it once', async (t) => {
  const source = heldSource()
  const cache = makeIndexCache({ fetch: source.fetch, threads })
  const all = Array.from({ length: 24 }, () => cache.of(access('a'), never))
  source.letGo()
  t.is(new Set(await Promise.all(all)).size, 1)
  t.is(source.asked.length, 1)
  t.deepEqual(source.released, source.asked, 'the bytes no longer count')
})

test('an account reads one index at a time, and holds up no other account', async (t) => {
  const source = heldSource()
  let account: AccountKey = 1
  const cache = makeIndexCache({ fetch: source.fetch, threads, account: () => account })
  const all = Array.from({ length: 24 }, (_, at) => cache.of(access(`?n=${at}`), never))
  await new Promise((resolve) => setImmediate(resolve))
  t.is(source.asked.length, 1)
  account = 2
  const others = cache.of(access('other'), never)
  await new Promise((resolve) => setImmediate(resolve))
  t.is(source.asked.length, 2)
  source.letGo()
  await Promise.all([...all, others])
  t.is(source.asked.length, 25)
  t.is(source.most(), 2)
})

test('an index comes back from its thread as it was, in parts', async (t) => {
  const index = readIndex(new TextEncoder().encode(indexOf(600)))
  const parts = packIndex(index)
  t.is(parts.length, 3)
  t.deepEqual(await unpackIndex(parts), index)
  t.throws(() => readIndex(new TextEncoder().encode(indexOf(100_001))), {
    instanceOf: IndexRefused,
    message: /more than 100000 versions/,
  })
})
