import test from 'ava'
import fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import { isInRange } from '../../adapters/charts/versions.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { installedIn, statesOf } from '../../core/hubs/featuresets/catalogue.ts'
import { makeFeatureClaims, parseClaim } from '../../core/hubs/featuresets/claims.ts'
import { featuresByClaim, missingFeatures } from '../../core/hubs/featuresets/profiles.ts'
import { autoUpdateRefusal, isSameVersion } from '../../core/hubs/featuresets/suite.ts'
import { compareFeature, makeSyncComparison, rememberedRanges } from '../../core/hubs/featuresets/sync-status.ts'
import { isSameJson } from '../../core/kernel/json.ts'
import { unwrap } from '../support/outcome.ts'
import { catalogue, groupsIn, installedOf, name, pool, someNames } from './rules.fixture.ts'

const claimOf = (value: string) => ({ status: { clusterClaims: [{ name: 'features.ace.info', value }] } })

test('a claim is read in both printed forms, and other texts are unknown', (t) => {
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

test('a claim of many spokes is parsed once, and long ones are not cached', (t) => {
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

test('the comparison of all features agrees with that of each one', (t) => {
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
      hasClaim: fc.boolean(),
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
  hasClaim: true,
  unready: new Set<string>(),
  silence: undefined,
  isIdentified: true,
  unapplied: new Map<string, string>(),
}

test('a spoke matches a range that contains its version, or an unknown one', (t) => {
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

test('a set is installed with all required features, or with any', (t) => {
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

test('a required feature is present itself, by its group or as disabled', (t) => {
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

test('an update is possible if at least one spoke has the latest versions', (t) => {
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
