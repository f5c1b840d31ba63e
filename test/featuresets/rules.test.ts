import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight, right } from 'fp-ts/lib/Either.js'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import { isInRange } from '../../adapters/charts/versions.ts'
import { fastJsonPatches } from '../../adapters/charts/json-patches.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import type { Catalogue, Feature, InstalledFeatures } from '../../core/featuresets/catalogue.ts'
import { catalogueOf, installedIn, statesOf } from '../../core/featuresets/catalogue.ts'
import { makeFeatureClaims, parseClaim } from '../../core/featuresets/claims.ts'
import {
  parseModel,
  planInstall,
  planRemoval,
  removeOperations,
  writeOperations,
} from '../../core/featuresets/rules.ts'
import { featuresByClaim, missingFeatures } from '../../core/featuresets/profiles.ts'
import { autoUpdateRefusal, isSameVersion } from '../../core/featuresets/suite.ts'
import { compareFeature, makeSyncComparison, rememberedRanges } from '../../core/featuresets/sync-status.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isSameJson } from '../../core/kernel/json.ts'
import { unwrap } from '../support/outcome.ts'
import { modelOf } from './features-world.ts'

const releasePrefix = 'helmToolkitFluxcdIoHelmRelease_'

const pool = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const
const name: fc.Arbitrary<string> = fc.constantFrom(...pool)
const someNames = fc.uniqueArray(name)

const featureOf = (own: Partial<Feature> & { readonly name: string }): Feature => ({
  title: '',
  description: '',
  featureSet: 'one',
  featureBlock: '',
  exclusionGroup: '',
  isRecommended: false,
  isDisabled: false,
  requires: [],
  isEnabled: false,
  content: { featureSet: own.featureSet ?? 'one', chart: { name: own.name } },
  ...own,
})
const setOf = (own: string, requiredFeatures: readonly string[] = []) => ({
  name: own,
  title: '',
  description: '',
  isRecommended: false,
  isDisabled: false,
  requiredFeatures,
})

const feature = (own: string): fc.Arbitrary<Feature> =>
  fc
    .record({
      featureSet: fc.constantFrom('one', 'two'),
      exclusionGroup: fc.constantFrom('', '', '', 'x', 'y'),
      isDisabled: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
      requires: fc
        .oneof(fc.constant([]), fc.subarray([...pool], { maxLength: 2 }))
        .map((names) => names.filter((other) => other !== own)),
    })
    .map((rest) => featureOf({ name: own, ...rest }))
const catalogue: fc.Arbitrary<Catalogue> = fc
  .tuple(fc.tuple(...pool.map(feature)), fc.oneof(fc.constant([]), fc.subarray([...pool], { maxLength: 1 })))
  .map(([features, required]) => catalogueOf([setOf('one', required), setOf('two')], features))

const installedOf = (names: readonly string[], { features }: Catalogue): InstalledFeatures =>
  new Map(names.map((each) => [each, { name: each, featureSet: features.get(each)?.featureSet ?? 'one', version: '' }]))

const groupsIn = ({ features }: Catalogue, names: Iterable<string>): readonly string[] =>
  [...names].map((each) => features.get(each)?.exclusionGroup ?? '').filter((group) => group !== '')
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

test('installs lead only to states in which needs are met and no two features exclude each other', (t) => {
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

test('an installation contains what was asked for, is refused only for a reason, and is the same when repeated', (t) => {
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

test('a removal leaves no feature without what it needs, touches no other set, and has an effect once', (t) => {
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

test('a feature that takes the place of a needed one of its exclusion group is not removed', (t) => {
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

test('the operations write exactly the planned features as a whole, and none when nothing differs', (t) => {
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

test('any model is parsed or refused with reasons; a whole one has each feature by its name', (t) => {
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

const claimOf = (value: string) => ({ status: { clusterClaims: [{ name: 'features.ace.info', value }] } })

test('a claim is read in both forms, as it was printed; any other text is unknown', (t) => {
  const versions = fc.dictionary(name, fc.constantFrom('', '1.0.0', 'v2'))
  fc.assert(
    fc.property(versions, someNames, someNames, fc.boolean(), (enabled, external, disabled, isList) => {
      const enabledFeatures = isList ? Object.keys(enabled) : enabled
      const claim = unwrap(
        parseClaim(
          kubernetesYamlText,
          kubernetesYamlText.print({
            enabledFeatures,
            externallyManagedFeatures: external,
            disabledFeatures: disabled,
          }),
        ),
      )
      t.deepEqual(
        [...claim.enabled],
        Object.entries(enabled).map(([each, version]) => [each, isList ? '' : version]),
      )
      t.deepEqual([[...claim.external], [...claim.disabled]], [external, disabled])
    }),
  )
  const claims = makeFeatureClaims({ yaml: kubernetesYamlText, caches: lruCaches })
  const claimed = (value: string) => claims.of({ body: claimOf(value) })
  fc.assert(
    fc.property(fc.string(), (text) => {
      claimed(text)
    }),
  )
  for (const text of [
    '{',
    'a: *b',
    '[]',
    '7',
    'enabledFeatures: 7',
    'externallyManagedFeatures: {}',
    'disabledFeatures: x',
    'a: 1\n---\nb: 2\n',
  ])
    t.is(claimed(text), undefined, text)
  for (const text of ['', '{}', 'enabledFeatures:\n', 'enabledFeatures: {a: 1.5}'])
    t.not(claimed(text), undefined, text)
  t.is(claims.of({ body: {} }), undefined)
  t.deepEqual(claims.read({ body: {} }), right(undefined))
  t.like(claims.read({ body: claimOf('{') }), { left: { tag: 'ClaimUnreadable' } })
})

test('the same claim of many spokes is parsed once, also if it cannot be read; a text that is too long is not kept', (t) => {
  const parsed: string[] = []
  const claims = makeFeatureClaims({
    yaml: { parse: (text) => (parsed.push(text), kubernetesYamlText.parse(text)) },
    caches: lruCaches,
  })
  const texts = ['enabledFeatures: {a: 1.5.0}', '{', `enabledFeatures: {a: ${'1'.repeat(1024)}}`]
  const results = [1, 2].map(() => texts.map((value) => claims.read({ body: claimOf(value) })))
  t.deepEqual(results[0], results[1])
  t.deepEqual(parsed, [...texts, texts[2]])
})

test('the comparison of all features agrees with that of each one, and puts a spoke in at most one list', (t) => {
  const version = fc.constantFrom('', '1.0.0', '1.1.0', 'odd')
  const claim = fc.option(
    fc.record({
      enabled: fc.dictionary(name, version).map((all) => new Map(Object.entries(all))),
      external: someNames.map((all) => new Set<string>(all)),
      disabled: fc.constant(new Set<string>()),
    }),
    { nil: undefined },
  )
  const spokes = fc.array(
    fc.record({
      claim,
      unready: someNames.map((all) => new Set<string>(all)),
      silence: fc.constantFrom(undefined, undefined, 'It is away.'),
      isIdentified: fc.boolean(),
      unapplied: fc.constantFrom(new Map<string, string>(), new Map([['one', 'It may not.']])),
    }),
    { maxLength: 5 },
  )
  const wanted = fc
    .dictionary(name, fc.constantFrom('', '1.0.0', '^1.0', '>=2'))
    .map(
      (all) =>
        new Map(Object.entries(all).map(([each, range]) => [each, { name: each, featureSet: 'one', version: range }])),
    )
  fc.assert(
    fc.property(catalogue, wanted, spokes, (from, installed, all) => {
      const comparison = makeSyncComparison(installed, from, rememberedRanges(isInRange))
      all.forEach((spoke, index) => comparison.add(`s${index}`, spoke))
      const flat = new Map(Object.values(comparison.statuses()).flatMap((features) => Object.entries(features)))
      for (const each of pool) {
        const steps = all.map((spoke) => compareFeature(each, installed.get(each), spoke, isInRange))
        const where = (step: boolean) =>
          steps.flatMap((found, index) =>
            found !== undefined && (found.reason === undefined) === step ? [`s${index}`] : [],
          )
        const isShown =
          installed.has(each) ||
          all.some(
            (spoke) =>
              spoke.claim !== undefined &&
              spoke.silence === undefined &&
              compareFeature(each, undefined, spoke, isInRange) !== undefined,
          )
        const status = flat.get(each)
        t.deepEqual(
          status === undefined ? undefined : [status.insyncClusters, status.outOfSyncClusters],
          isShown ? [where(true), where(false)] : undefined,
        )
        const explained = all.flatMap((spoke, index) =>
          steps[index] !== undefined && (steps[index]?.reason !== undefined || !spoke.isIdentified)
            ? [`s${index}`]
            : [],
        )
        if (status !== undefined) t.deepEqual(Object.keys(status.reasons ?? {}).sort(), explained)
      }
    }),
  )
})

const reporting = {
  unready: new Set<string>(),
  silence: undefined,
  isIdentified: true,
  unapplied: new Map<string, string>(),
}

test('a spoke is in step with a range that its version is in, and with any version if either is not known', (t) => {
  const at = (version: string, range: string) =>
    compareFeature(
      'a',
      { name: 'a', featureSet: 'one', version: range },
      { ...reporting, claim: { enabled: new Map([['a', version]]), external: new Set(), disabled: new Set() } },
      isInRange,
    )?.reason === undefined
  for (const [version, range] of [
    ['1.2.3', '1.2.3'],
    ['v1.2.3', '1.2.3'],
    ['1.2.3', '^1.0'],
    ['', '1.2.3'],
    ['1.2.3', ''],
    ['odd', 'odd'],
  ] as const)
    t.true(at(version, range), `${version} ${range}`)
  for (const [version, range] of [
    ['1.2.3', '1.2.4'],
    ['2.0.0', '^1.0'],
    ['odd', '1.0.0'],
    ['1.0.0', 'odd'],
  ] as const)
    t.false(at(version, range), `${version} ${range}`)
})

test('a set is installed with all its required features, or with any if none is required', (t) => {
  fc.assert(
    fc.property(catalogue, someNames, (from, names) => {
      for (const shown of statesOf(from, installedOf(names, from))) {
        const own = [...from.features.values()].filter(({ featureSet }) => featureSet === shown.name)
        t.is(
          shown.isInstalled,
          shown.requiredFeatures.length > 0
            ? shown.requiredFeatures.every((each) => names.includes(each))
            : own.some((each) => names.includes(each.name)),
        )
        t.deepEqual(
          shown.features.map((each) => each.name),
          own
            .filter(({ isDisabled }) => !isDisabled)
            .map((each) => each.name)
            .sort(),
        )
        t.true(shown.features.every((each) => each.isInstalled === names.includes(each.name)))
      }
    }),
  )
  t.deepEqual(installedIn({ body: { spec: { features: 'odd' } } }), new Map())
})

test('a required feature is missing unless it, or another one of its group, is enabled, or it is disabled', (t) => {
  fc.assert(
    fc.property(
      catalogue,
      someNames,
      someNames,
      someNames,
      someNames,
      (from, required, enabled, external, disabled) => {
        const features = [...from.features.values()]
        const found = featuresByClaim(
          {
            enabled: new Map(enabled.map((each) => [each, ''])),
            external: new Set(external),
            disabled: new Set(disabled),
          },
          features,
        )
        const on = new Set<string>([...enabled, ...external])
        const groups = groupsIn(from, on)
        const off = new Set<string>([
          ...disabled,
          ...features.filter(({ isDisabled }) => isDisabled).map((each) => each.name),
        ])
        t.deepEqual(
          missingFeatures({ one: required, two: required }, found),
          [...required]
            .sort()
            .filter(
              (each) =>
                !on.has(each) && !off.has(each) && !groupsIn(from, [each]).some((group) => groups.includes(group)),
            ),
        )
      },
    ),
  )
})

test('an automatic update is possible if all of at least one spoke have the latest version', (t) => {
  const version = fc.constantFrom('', 'v1.0.0', '1.0.0', 'v2.0.0')
  fc.assert(
    fc.property(version, fc.array(version, { maxLength: 40 }), (latest, versions) => {
      const spokes = versions.map((each, index) => ({ name: `s${index}`, version: each, reason: undefined }))
      return (
        (autoUpdateRefusal(latest, spokes) === undefined) ===
        (latest !== '' && spokes.length > 0 && spokes.every((each) => isSameVersion(each.version, latest)))
      )
    }),
  )
  t.true(isSameVersion('v1.0.0', '1.0.0'))
  t.false(isSameVersion('v1.0.0', '1.0.1'))
  t.regex(
    autoUpdateRefusal(
      '2',
      Array.from({ length: 25 }, (_, index) => ({ name: `s${index}`, version: '1', reason: undefined })),
    ) ?? '',
    /s19 and 5 more\.$/,
  )
  t.regex(
    autoUpdateRefusal('2', [{ name: 'a', version: '', reason: 'It is away.' }]) ?? '',
    /of the suite: a\. a: It is away\.$/,
  )
})

test('equal JSON is equal in any order of keys', (t) => {
  const shuffled = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(shuffled)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, inner]) => [key, shuffled(inner)]),
          )
        : value
  fc.assert(fc.property(fc.jsonValue(), (value) => isSameJson(value, shuffled(value))))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => !isSameJson(value, [value]) && !isSameJson({ a: value }, { b: value })),
  )
  t.false(isSameJson({ a: 1 }, { a: 1, b: null }))
  t.true(isSameJson(Object(1), 1))
})
