import { left, right } from 'fp-ts/lib/Either.js'
import test from 'ava'
import { NotAHub, type Hub, type HubKey, type HubKind } from '../../core/clusters/hubs/ports.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { addComponents } from '../../core/hubs/spokes/imports.ts'
import { unwrap } from '../support/outcome.ts'

/**
 * What an import does with `components`. The API server of the tests is shared, so that its add-ons are those of all
 * test files.
 */

/** A hub with this definition of the add-on; undefined: it has none. Fails as a hub that does not serve add-ons. */
const hubWith = (
  definition: FreeObject | 'not served' | undefined,
  created: 'created' | 'exists' | 'unplaced' = 'created',
) => {
  const writes: object[] = []
  const said: string[] = []
  const hub = {
    get: async (_kind: HubKind, { name }: HubKey) =>
      definition === 'not served'
        ? left(NotAHub(''))
        : right(
            definition === undefined
              ? undefined
              : { name, namespace: '', uid: '1', resourceVersion: '1', isDeleting: false, body: definition },
          ),
    create: async ({ kind }: HubKind, key: HubKey, content: FreeObject) => {
      writes.push({ kind, ...key, ...content })
      return right(created)
    },
  } as unknown as Hub
  const step = { say: (text: string) => void said.push(text), done: () => undefined, failed: () => undefined }
  const add = (gitOpsEngine: boolean, omitted: readonly string[] = []) =>
    addComponents(hub, 'reef', { gitOpsEngine, omitted }, step)
  return { add, writes, said }
}
const manual = { spec: { installStrategy: { type: 'Manual' } } }

test('the GitOps engine is an add-on unless the hub places or lacks it', async (t) => {
  const asked = hubWith(manual)
  t.regex(unwrap(await asked.add(true)), /has the add-on fluxcd-addon/)
  t.deepEqual(asked.writes, [{ kind: 'ManagedClusterAddOn', namespace: 'reef', name: 'fluxcd-addon', spec: {} }])
  t.regex(unwrap(await hubWith(manual, 'exists').add(true)), /has the add-on/)
  t.like(await hubWith(manual, 'unplaced').add(true), { left: { tag: 'SpokeStuck' } })

  const placed = hubWith({ spec: { installStrategy: { type: 'Placements' } } })
  t.regex(unwrap(await placed.add(true)), /hub itself places/)
  for (const definition of ['not served', undefined] as const) {
    const without = hubWith(definition)
    t.regex(unwrap(await without.add(true)), /is not installed/)
    t.regex(without.said.join(), /no add-on fluxcd-addon/)
    t.deepEqual(without.writes, [])
  }
  const unasked = hubWith(manual)
  unwrap(await unasked.add(false))
  t.deepEqual([placed.writes, unasked.writes, unasked.said], [[], [], []])
})

test('an ignored import option is reported with its route', async (t) => {
  const { add, said } = hubWith(undefined)
  unwrap(await add(false, ['allFeatures', 'featureSets']))
  t.is(said.length, 1)
  t.regex(said[0] ?? '', /components\.allFeatures, components\.featureSets\..*install-featureset/)
})
