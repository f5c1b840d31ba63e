import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { HubObject, PatchOperation } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { at, definedFields, isObject, isSameJson, textAt, toWireJson } from '../../kernel/json.ts'
import type { Catalogue, Feature, InstalledFeatures } from './catalogue.ts'

/** The requested features cannot be installed, disabled or updated. `errors` has one entry for each reason. */
export const FeaturesRefused = defineFailure(
  'FeaturesRefused',
  'Unprocessable',
  'The features do not exist, exclude each other, or are needed by others.',
)

const shownReasons = 20

/** Returns the refusal for these reasons. */
export const refused = (reasons: readonly string[]): Failure<'FeaturesRefused'> => {
  const shown = [...reasons.slice(0, shownReasons), ...(reasons.length > shownReasons ? ['And more.'] : [])]
  return FeaturesRefused(shown.join(' '), { errors: shown })
}

/** The values of the editor of a feature set: its name, and each requested feature as a set profile holds it. */
interface FeatureModel {
  readonly featureSet: string
  readonly contents: ReadonlyMap<string, FreeObject>
}

/** The prefix of a resource that is a HelmRelease; the rest is the name of its feature, with `_` for `-`. */
const releasePrefix = 'helmToolkitFluxcdIoHelmRelease_'

const textOrNothing = (value: unknown, ...path: readonly string[]): string | undefined =>
  textAt(value, ...path) || undefined

/** A HelmRelease names a version of an API, a set profile its group. */
const sourceOf = (ref: unknown): FreeObject => ({
  ...definedFields({
    apiGroup:
      textOrNothing(ref, 'apiGroup') ?? (textAt(ref, 'apiVersion').split('/').slice(0, -1).join('') || undefined),
    kind: textOrNothing(ref, 'kind'),
    namespace: textOrNothing(ref, 'namespace'),
  }),
  name: textAt(ref, 'name'),
})

const contentOf = (featureSet: string, spec: FreeObject): FreeObject => {
  const chart = at(spec, 'chart', 'spec')
  const createNamespace = at(spec, 'install', 'createNamespace')
  const valuesFiles = at(chart, 'valuesFiles')
  return {
    featureSet,
    chart: {
      ...definedFields({
        version: textOrNothing(chart, 'version'),
        namespace: textOrNothing(spec, 'targetNamespace'),
        createNamespace: typeof createNamespace === 'boolean' ? createNamespace : undefined,
        valuesFiles: Array.isArray(valuesFiles) ? valuesFiles : undefined,
      }),
      name: textAt(chart, 'chart'),
      sourceRef: sourceOf(at(chart, 'sourceRef')),
    },
    ...definedFields({ values: spec['values'] ?? undefined, valuesFrom: spec['valuesFrom'] ?? undefined }),
  }
}

/** Returns what a release lacks or has in the wrong form, by its path. */
const faultsOf = (path: string, spec: unknown): readonly string[] => {
  if (!isObject(spec)) return [`${path}.spec must be an object.`]
  const { values, valuesFrom } = spec
  return [
    ...(textAt(spec, 'chart', 'spec', 'chart') === '' ? [`${path}.spec.chart.spec.chart is missing.`] : []),
    ...(textAt(spec, 'chart', 'spec', 'sourceRef', 'name') === ''
      ? [`${path}.spec.chart.spec.sourceRef.name is missing.`]
      : []),
    ...(values === undefined || values === null || isObject(values) ? [] : [`${path}.spec.values must be an object.`]),
    ...(valuesFrom === undefined || valuesFrom === null || Array.isArray(valuesFrom)
      ? []
      : [`${path}.spec.valuesFrom must be a list.`]),
  ]
}

const longestKey = releasePrefix.length + 253

/** Parses the values of the editor of a feature set. Refused are all faults together. */
export const parseModel = (model: FreeObject): Either<Failure<'FeaturesRefused'>, FeatureModel> => {
  const featureSet = textAt(model, 'metadata', 'release', 'name')
  const resources = isObject(model['resources']) ? Object.entries(model['resources']) : []
  const releases = resources.filter(
    ([key]) => key.startsWith(releasePrefix) && key.length > releasePrefix.length && key.length <= longestKey,
  )
  const faults = [
    ...(featureSet === '' ? ['metadata.release.name is missing: it is the name of the feature set.'] : []),
    ...(resources.length === 0 ? ['resources is missing or empty: it contains a release for each feature.'] : []),
    ...resources
      .filter((each) => !releases.includes(each))
      .map(([key]) => `resources.${key.slice(0, 100)} is not a release of a feature.`),
    ...releases.flatMap(([key, release]) => faultsOf(`resources.${key}`, at(release, 'spec'))),
  ]
  if (faults.length > 0) return left(refused(faults))
  const contents = releases.map(([key, release]) => {
    const spec = at(release, 'spec')
    return [
      key.slice(releasePrefix.length).replaceAll('_', '-'),
      contentOf(featureSet, isObject(spec) ? spec : {}),
    ] as const
  })
  return right({ featureSet, contents: new Map(contents) })
}

/** What is written for each feature, by its name. */
export type FeatureContents = ReadonlyMap<string, FreeObject>

const listed = (names: Iterable<string>): string => [...names].sort().join(', ')

/** A feature that can be installed without values of the caller: it is in the catalogue with a chart. */
const installable = ({ features }: Catalogue, name: string): Feature | undefined => {
  const feature = features.get(name)
  return feature === undefined || feature.isDisabled || textAt(feature.content, 'chart', 'name') === ''
    ? undefined
    : feature
}

/** Reports whether a feature is the needed one, or another one of its exclusion group that takes its place. */
const serves = ({ features }: Catalogue, name: string, needed: string): boolean => {
  if (name === needed) return true
  const group = features.get(needed)?.exclusionGroup ?? ''
  return group !== '' && features.get(name)?.exclusionGroup === group
}

const isServed = (catalogue: Catalogue, present: ReadonlySet<string>, needed: string): boolean =>
  present.has(needed) || [...present].some((name) => serves(catalogue, name, needed))

const faultsOfNames = (
  { featureSets, features }: Catalogue,
  { featureSet, contents }: FeatureModel,
): readonly string[] => {
  const set = featureSets.get(featureSet)
  if (set === undefined) return [`The hub has no feature set ${featureSet.slice(0, 253)}.`]
  if (set.isDisabled) return [`The feature set ${featureSet} is disabled.`]
  return [...contents.keys()].sort().flatMap((name) => {
    const feature = features.get(name)
    if (feature === undefined) return [`The hub has no feature ${name}.`]
    if (feature.featureSet !== featureSet)
      return [`The feature ${name} belongs to the feature set ${feature.featureSet}.`]
    return feature.isDisabled ? [`The feature ${name} is disabled.`] : []
  })
}

/** Returns the features that the present ones need in addition, from the catalogue, and what cannot be added. */
const prerequisites = (
  catalogue: Catalogue,
  installed: InstalledFeatures,
  wanted: readonly string[],
): { readonly added: FeatureContents; readonly faults: readonly string[] } => {
  const present = new Set([...installed.keys(), ...wanted])
  const added = new Map<string, FreeObject>()
  const faults: string[] = []
  const queue = [...wanted].sort()
  const add = (feature: Feature): void => {
    added.set(feature.name, feature.content)
    present.add(feature.name)
    queue.push(feature.name)
  }
  // A catalogue without these features belongs to controllers that do not need them.
  for (const name of distribution.coreFeatures) {
    const core = present.has(name) ? undefined : installable(catalogue, name)
    if (core !== undefined) add(core)
  }
  for (const name of queue) {
    for (const needed of catalogue.features.get(name)?.requires ?? []) {
      if (isServed(catalogue, present, needed)) continue
      const feature = installable(catalogue, needed)
      if (feature === undefined) faults.push(`The feature ${name} needs ${needed}, which the hub cannot install.`)
      else add(feature)
    }
  }
  return { added, faults }
}

/** Returns the clashes in which one of the new features takes part. */
const clashes = (
  { features }: Catalogue,
  installed: InstalledFeatures,
  fresh: ReadonlySet<string>,
): readonly string[] => {
  const groups = Map.groupBy(
    new Set([...installed.keys(), ...fresh]),
    (name) => features.get(name)?.exclusionGroup ?? '',
  )
  return [...groups]
    .filter(([group, names]) => group !== '' && names.length > 1 && names.some((name) => fresh.has(name)))
    .map(([, names]) => `Only one of these features can be installed: ${listed(names)}.`)
}

/**
 * Returns what must be written to install the features of a model: those of the model, and those that they need and
 * that are not installed, from the catalogue. Refused: an unknown or disabled feature set or feature, a feature of
 * another set, a required feature of the set that is neither installed nor included, a need that cannot be met, two
 * features that exclude each other.
 */
export const planInstall = (
  catalogue: Catalogue,
  installed: InstalledFeatures,
  model: FeatureModel,
): Either<Failure<'FeaturesRefused'>, FeatureContents> => {
  const faults = faultsOfNames(catalogue, model)
  if (faults.length > 0) return left(refused(faults))
  const wanted = [...model.contents.keys()]
  const present = new Set([...installed.keys(), ...wanted])
  const lacking = (catalogue.featureSets.get(model.featureSet)?.requiredFeatures ?? []).filter(
    (name) => !isServed(catalogue, present, name),
  )
  const { added, faults: unmet } = prerequisites(catalogue, installed, wanted)
  const contents = new Map([...added, ...model.contents])
  const reasons = [
    ...(lacking.length === 0 ? [] : [`The feature set ${model.featureSet} needs these features: ${listed(lacking)}.`]),
    ...unmet,
    ...clashes(catalogue, installed, new Set(contents.keys())),
  ]
  return reasons.length > 0 ? left(refused(reasons)) : right(contents)
}

/** Features of a feature set to disable; all that are installed if none is named. */
export interface FeatureRemoval {
  readonly featureSet: string
  readonly features: readonly string[]
}

/**
 * Returns which installed features are to be removed, sorted. Refused: an unknown feature set or feature, a feature of
 * another set, a required feature of the core set while other features remain, and a feature that another installed one
 * needs. A feature that is not installed is skipped.
 */
export const planRemoval = (
  catalogue: Catalogue,
  installed: InstalledFeatures,
  { featureSet, features }: FeatureRemoval,
): Either<Failure<'FeaturesRefused'>, readonly string[]> => {
  const setOf = (name: string): string | undefined =>
    catalogue.features.get(name)?.featureSet ?? installed.get(name)?.featureSet
  const ofSet = [...installed.keys()].filter((name) => (installed.get(name)?.featureSet || setOf(name)) === featureSet)
  if (!catalogue.featureSets.has(featureSet) && ofSet.length === 0)
    return left(refused([`The hub has no feature set ${featureSet}.`]))
  const foreign = features.filter((name) => !ofSet.includes(name) && setOf(name) !== featureSet)
  const removed = (features.length === 0 ? ofSet : ofSet.filter((name) => features.includes(name))).sort()
  const isCore = featureSet === distribution.coreFeatureSet
  const kept = isCore
    ? new Set([...distribution.coreFeatures, ...(catalogue.featureSets.get(featureSet)?.requiredFeatures ?? [])])
    : new Set<string>()
  const remaining = new Set([...installed.keys()].filter((name) => !removed.includes(name)))
  const needing = removed.flatMap((name) => {
    const users = [...remaining].filter((other) =>
      catalogue.features
        .get(other)
        ?.requires.some((needed) => serves(catalogue, name, needed) && !isServed(catalogue, remaining, needed)),
    )
    return users.length === 0 ? [] : [`The feature ${name} is needed by ${listed(users)}.`]
  })
  const reasons = [
    ...foreign.map((name) => `The feature ${name} does not belong to the feature set ${featureSet}.`),
    ...removed
      .filter((name) => kept.has(name) && remaining.size > 0)
      .map(
        (name) =>
          `The feature ${name} is required and cannot be disabled while others are installed: ${listed(remaining)}.`,
      ),
    ...needing,
  ]
  return reasons.length > 0 ? left(refused(reasons)) : right(removed)
}

/** Returns a name as one segment of a JSON pointer (RFC 6901). */
const segment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** In bytes. A hub stores no object of 1.5 MiB; metadata takes the rest. */
const maxFeatureBytes = 1_250_000

/**
 * Returns the operations that write features into a set profile or a binding, each as a whole, so that no former value
 * remains; and the names of those that differ. Refused if the object would become larger than a hub stores.
 */
export const writeOperations = (
  { body }: Pick<HubObject, 'body'>,
  contents: FeatureContents,
): Either<
  Failure<'FeaturesRefused'>,
  { readonly operations: readonly PatchOperation[]; readonly changed: readonly string[] }
> => {
  const current = at(body, 'spec', 'features')
  const features = isObject(current) ? current : {}
  const changed = [...contents].filter(([name, content]) => !isSameJson(features[name], content))
  if (new TextEncoder().encode(toWireJson({ ...features, ...Object.fromEntries(changed) })).length > maxFeatureBytes)
    return left(
      refused([
        `The features with their values would be larger than the ${maxFeatureBytes} bytes that a hub ` +
          'stores for one cluster set or spoke.',
      ]),
    )
  const places: readonly PatchOperation[] = [
    ...(isObject(body['spec']) ? [] : [{ op: 'add', path: '/spec', value: {} } as const]),
    ...(isObject(current) ? [] : [{ op: 'add', path: '/spec/features', value: {} } as const]),
  ]
  const writes = changed.map(([name, value]): PatchOperation => ({
    op: 'add',
    path: `/spec/features/${segment(name)}`,
    value,
  }))
  return right({
    operations: changed.length === 0 ? [] : [...places, ...writes],
    changed: changed.map(([name]) => name).sort(),
  })
}

/** Returns the operations that remove installed features. */
export const removeOperations = (names: readonly string[]): readonly PatchOperation[] =>
  names.map((name) => ({ op: 'remove', path: `/spec/features/${segment(name)}` }))
