import test from 'ava'
import fc from 'fast-check'
import { makeHeaderCache } from '../../../adapters/helm/records/headers.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import type { ReleaseHeader } from '../../../core/packages/types.ts'
import { refOfRecord } from './records.ts'

const cluster = (id: number) => ({ id: id as ClusterId })
const header = (name: string, chars: number): ReleaseHeader => ({ name, namespace: 'n', version: 1, info: { status: 'deployed', description: 'x'.repeat(chars) }, chartMetadata: {} })
const bare = JSON.stringify(header('a', 0)).length

test('a cache answers what was kept last for that cluster, object and version, and keeps to its limit', (t) => {
  const step = fc.record({ cluster: fc.integer({ min: 1, max: 2 }), name: fc.constantFrom('a', 'b', 'c', 'd'), resourceVersion: fc.constantFrom('1', '2'), chars: fc.integer({ min: 0, max: 300 }), isKept: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const limit = 3 * bare + 300
      const cache = makeHeaderCache(limit)
      /** Most recently used last. */
      let model: { readonly key: string; readonly header: ReleaseHeader; readonly chars: number }[] = []
      for (const { cluster: id, name, resourceVersion, chars, isKept } of steps) {
        const ref = { ...refOfRecord({ name, namespace: 'n', version: 1 }), resourceVersion }
        const key = `${id} ${name} ${resourceVersion}`
        const known = model.find((entry) => entry.key === key)
        model = model.filter((entry) => entry.key !== key)
        if (isKept) {
          const kept = header(name, chars)
          cache.keep(cluster(id), ref, kept)
          model.push({ key, header: kept, chars: bare + chars })
          while (model.reduce((sum, entry) => sum + entry.chars, 0) > limit) model.shift()
        } else {
          t.is(cache.find(cluster(id), ref), known?.header)
          if (known !== undefined) model.push(known)
        }
      }
    }),
  )
})

test('one that is larger than the whole cache is not kept, and puts nothing else out', (t) => {
  const cache = makeHeaderCache(2 * bare)
  const ref = refOfRecord({ name: 'a', namespace: 'n', version: 1 })
  cache.keep(cluster(1), ref, header('a', 0))
  cache.keep(cluster(1), refOfRecord({ name: 'b', namespace: 'n', version: 1 }), header('b', 3 * bare))
  t.is(cache.find(cluster(1), refOfRecord({ name: 'b', namespace: 'n', version: 1 })), undefined)
  t.deepEqual(cache.find(cluster(1), ref), header('a', 0))
})

test('numbers that JSON has no word for are counted too', (t) => {
  const cache = makeHeaderCache(1000)
  const ref = refOfRecord({ name: 'a', namespace: 'n', version: 1 })
  const large = { ...header('a', 0), chartMetadata: { big: 12345678901234567890n } }
  cache.keep(cluster(1), ref, large)
  t.is(cache.find(cluster(1), ref), large)
})
