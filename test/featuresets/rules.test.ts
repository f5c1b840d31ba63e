import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import { fastJsonPatches } from '../../adapters/charts/json-patches.ts'
import type { Catalogue, InstalledFeatures } from '../../core/hubs/featuresets/catalogue.ts'
import { catalogueOf } from '../../core/hubs/featuresets/catalogue.ts'
import {
  parseModel,
  planInstall,
  planRemoval,
  removeOperations,
  writeOperations,
} from '../../core/hubs/featuresets/rules.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isSameJson } from '../../core/kernel/json.ts'
import { unwrap } from '../support/outcome.ts'
import { modelOf } from './features-fixture.ts'
import { catalogue, featureOf, groupsIn, installedOf, name, pool, setOf, someNames } from './rules.fixture.ts'

const releasePrefix = 'helmToolkitFluxcdIoHelmRelease_'

const hasClash = (from: Catalogue, names: Iterable<string>): boolean =>
  new Set(groupsIn(from, names)).size < groupsIn(from, names).length
/** Whether each feature has what it needs, itself or another one of its group. */
const isComplete = (from: Catalogue, names: ReadonlySet<string>): boolean =>
  [...names].every((each) =>
    (from.features.get(each)?.requires ?? []).every(
      (needed) => names.has(needed) || groupsIn(from, [needed]).some((group) => groupsIn(from, names).includes(group)),
    ),
  )

/** States that installs alone lead to. */
const state = fc
  .tuple(
    catalogue,
    fc.array(fc.tuple(fc.constantFrom('one', 'two'), fc.uniqueArray(name, { minLength: 1, maxLength: 3 })), {
      maxLength: 4,
    }),
  )
  .map(([from, steps]) => {
    let installed: InstalledFeatures = new Map()
    for (const [featureSet, names] of steps) {
      const plan = planInstall(from, installed, {
        featureSet,
        contents: new Map(names.map((each) => [each, { featureSet }])),
      })
      if (isRight(plan)) installed = installedOf([...new Set([...installed.keys(), ...plan.right.keys()])], from)
    }
    return { from, installed }
  })

test('installs reach only states with met dependencies and no conflicts', (t) => {
  let met = 0
  fc.assert(
    fc.property(state, ({ from, installed }) => {
      const names = new Set(installed.keys())
      met += names.size > 1 ? 1 : 0
      return (
        isComplete(from, names) &&
        !hasClash(from, names) &&
        [...names].every((each) => from.features.get(each)?.isDisabled === false)
      )
    }),
  )
  t.true(met > 0)
})

test('an installation contains the requested features or has a refusal reason', (t) => {
  fc.assert(
    fc.property(state, fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), ({ from, installed }, names) => {
      const model = {
        featureSet: 'one',
        contents: new Map(names.map((each) => [each, { featureSet: 'one', values: { own: each } }])),
      }
      const plan = planInstall(from, installed, model)
      if (isLeft(plan)) {
        const needs = new Set([...names, ...names.flatMap((each) => from.features.get(each)?.requires ?? [])])
        const isPlain =
          needs.size === names.length &&
          names.every((each) => from.features.get(each)?.featureSet === 'one' && !from.features.get(each)?.isDisabled)
        const required = from.featureSets.get('one')?.requiredFeatures ?? []
        const isWhole = required.every((each) => names.includes(each) || installed.has(each))
        return !isPlain || !isWhole || hasClash(from, new Set([...installed.keys(), ...names]))
      }
      const after = installedOf([...new Set([...installed.keys(), ...plan.right.keys()])], from)
      const again = planInstall(from, after, model)
      return (
        names.every((each) => plan.right.get(each) === model.contents.get(each)) &&
        isRight(again) &&
        [...again.right.keys()].every((each) => names.includes(each))
      )
    }),
  )
  t.pass()
})

test('a removal breaks no dependency, touches no other set, and is idempotent', (t) => {
  let removals = 0
  fc.assert(
    fc.property(
      state,
      someNames,
      fc.constantFrom('one', 'two'),
      fc.boolean(),
      ({ from, installed }, names, featureSet, isOfInstalled) => {
        // Of names without the installed ones, nearly every removal is refused.
        const features = isOfInstalled ? names.filter((each) => installed.get(each)?.featureSet === featureSet) : names
        const plan = planRemoval(from, installed, { featureSet, features })
        if (isLeft(plan)) return true
        removals += plan.right.length
        const rest = installedOf(
          [...installed.keys()].filter((each) => !plan.right.includes(each)),
          from,
        )
        const asked = features.length === 0 ? [...pool] : features
        const again = planRemoval(from, rest, { featureSet, features })
        return (
          isComplete(from, new Set(rest.keys())) &&
          plan.right.every((each) => asked.includes(each) && installed.get(each)?.featureSet === featureSet) &&
          isRight(again) &&
          again.right.length === 0
        )
      },
    ),
    { numRuns: 500 },
  )
  t.true(removals > 0)
})

test('a feature that replaces a required one is not removed', (t) => {
  const features = [
    featureOf({ name: 'a', requires: ['b'] }),
    featureOf({ name: 'b', exclusionGroup: 'x' }),
    featureOf({ name: 'c', exclusionGroup: 'x', featureSet: 'two' }),
  ]
  const from = catalogueOf([setOf('one'), setOf('two')], features)
  t.like(planRemoval(from, installedOf(['a', 'c'], from), { featureSet: 'two', features: [] }), {
    left: { tag: 'FeaturesRefused' },
  })
  t.deepEqual(planRemoval(from, installedOf(['c'], from), { featureSet: 'two', features: [] }), right(['c']))
})

const jsonObject = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<FreeObject>
const featureName = fc.constantFrom('a', 'b-c', 'd.e', 'f~/g')

test('operations write exactly the planned features, or nothing', (t) => {
  const body = fc.oneof(
    fc.constant({}),
    fc.constant({ spec: {} }),
    fc.dictionary(featureName, jsonObject).map((features) => ({ spec: { namespaces: ['kept'], features } })),
  )
  fc.assert(
    fc.property(body, fc.dictionary(featureName, jsonObject), (before, contents) => {
      const { operations, changed } = unwrap(
        writeOperations({ body: before as FreeObject }, new Map(Object.entries(contents))),
      )
      const after = unwrap(fastJsonPatches.apply(before as Json, operations as unknown as Json)) as {
        spec?: { namespaces?: unknown; features?: FreeObject }
      }
      const former = (before as typeof after).spec?.features ?? {}
      t.true(isSameJson(after.spec?.features ?? {}, { ...former, ...contents }))
      t.deepEqual(after.spec?.namespaces, (before as typeof after).spec?.namespaces)
      t.deepEqual(unwrap(writeOperations({ body: after as FreeObject }, new Map(Object.entries(contents)))), {
        operations: [],
        changed: [],
      })
      const removed = unwrap(
        fastJsonPatches.apply(after as Json, removeOperations(changed) as unknown as Json),
      ) as typeof after
      t.deepEqual(
        Object.keys(removed.spec?.features ?? {}).filter((each) => changed.includes(each)),
        [],
      )
    }),
  )
})

test('any model is parsed or refused with reasons', (t) => {
  fc.assert(
    fc.property(jsonObject, (model) => {
      const parsed = parseModel(model)
      return isRight(parsed) || (parsed.left.errors ?? []).length > 0
    }),
  )
  const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$/)
  fc.assert(
    fc.property(
      label,
      fc.dictionary(label, jsonObject, { minKeys: 1, noNullPrototype: true }),
      (featureSet, releases) => {
        const parsed = unwrap(parseModel(modelOf(featureSet, releases) as FreeObject))
        t.is(parsed.featureSet, featureSet)
        t.deepEqual([...parsed.contents.keys()].sort(), Object.keys(releases).sort())
        for (const [own, content] of parsed.contents)
          t.like(content, { featureSet, chart: { name: own, sourceRef: { kind: 'HelmRepository', name: 'charts' } } })
      },
    ),
  )
  const spec = {
    chart: { spec: { chart: 'c', sourceRef: { apiVersion: 'source.toolkit.fluxcd.io/v1', name: 'r' } } },
    targetNamespace: 'n',
    install: { createNamespace: true, crds: 'Create' },
    valuesFrom: [{ kind: 'Secret', name: 's' }],
  }
  const parsed = unwrap(
    parseModel({ metadata: { release: { name: 'one' } }, resources: { [`${releasePrefix}my_feature`]: { spec } } }),
  )
  t.deepEqual(parsed.contents.get('my-feature'), {
    featureSet: 'one',
    chart: {
      namespace: 'n',
      createNamespace: true,
      name: 'c',
      sourceRef: { apiGroup: 'source.toolkit.fluxcd.io', name: 'r' },
    },
    valuesFrom: [{ kind: 'Secret', name: 's' }],
  })
})
