import fc from 'fast-check'
import type { Catalogue, Feature, InstalledFeatures } from '../../core/hubs/featuresets/catalogue.ts'
import { catalogueOf } from '../../core/hubs/featuresets/catalogue.ts'

export const pool = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const
export const name: fc.Arbitrary<string> = fc.constantFrom(...pool)
export const someNames = fc.uniqueArray(name)

export const featureOf = (own: Partial<Feature> & { readonly name: string }): Feature => ({
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
export const setOf = (own: string, requiredFeatures: readonly string[] = []) => ({
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
export const catalogue: fc.Arbitrary<Catalogue> = fc
  .tuple(fc.tuple(...pool.map(feature)), fc.oneof(fc.constant([]), fc.subarray([...pool], { maxLength: 1 })))
  .map(([features, required]) => catalogueOf([setOf('one', required), setOf('two')], features))

export const installedOf = (names: readonly string[], { features }: Catalogue): InstalledFeatures =>
  new Map(names.map((each) => [each, { name: each, featureSet: features.get(each)?.featureSet ?? 'one', version: '' }]))

export const groupsIn = ({ features }: Catalogue, names: Iterable<string>): readonly string[] =>
  [...names].map((each) => features.get(each)?.exclusionGroup ?? '').filter((group) => group !== '')
