import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { defineFailure, type Failure } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { at, definedFields, isObject, textAt } from '../kernel/json.ts'

/** The requested features cannot be installed, disabled or updated. `errors` has one entry for each reason. */
export const FeaturesRefused = defineFailure('FeaturesRefused', 'Unprocessable')

const shownReasons = 20

/** Returns the refusal for these reasons. */
export const refused = (reasons: readonly string[]): Failure<'FeaturesRefused'> => {
  const shown = [...reasons.slice(0, shownReasons), ...(reasons.length > shownReasons ? ['And more.'] : [])]
  return FeaturesRefused(shown.join(' '), { errors: shown })
}

/** The values of the editor of a feature set: its name, and each requested feature as a set profile holds it. */
export interface FeatureModel {
  readonly featureSet: string
  readonly contents: ReadonlyMap<string, FreeObject>
}

/** The prefix of a resource that is a HelmRelease; the rest is the name of its feature, with `_` for `-`. */
export const releasePrefix = 'helmToolkitFluxcdIoHelmRelease_'

const textOrNothing = (value: unknown, ...path: readonly string[]): string | undefined => textAt(value, ...path) || undefined

/** A HelmRelease names a version of an API, a set profile its group. */
const sourceOf = (ref: unknown): FreeObject => ({
  ...definedFields({
    apiGroup: textOrNothing(ref, 'apiGroup') ?? (textAt(ref, 'apiVersion').split('/').slice(0, -1).join('') || undefined),
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
    ...(textAt(spec, 'chart', 'spec', 'sourceRef', 'name') === '' ? [`${path}.spec.chart.spec.sourceRef.name is missing.`] : []),
    ...(values === undefined || values === null || isObject(values) ? [] : [`${path}.spec.values must be an object.`]),
    ...(valuesFrom === undefined || valuesFrom === null || Array.isArray(valuesFrom) ? [] : [`${path}.spec.valuesFrom must be a list.`]),
  ]
}

const longestKey = releasePrefix.length + 253

/** Parses the values of the editor of a feature set. Refused are all faults together. */
export const parseModel = (model: FreeObject): Either<Failure<'FeaturesRefused'>, FeatureModel> => {
  const featureSet = textAt(model, 'metadata', 'release', 'name')
  const resources = isObject(model['resources']) ? Object.entries(model['resources']) : []
  const releases = resources.filter(([key]) => key.startsWith(releasePrefix) && key.length > releasePrefix.length && key.length <= longestKey)
  const faults = [
    ...(featureSet === '' ? ['metadata.release.name is missing: it is the name of the feature set.'] : []),
    ...(resources.length === 0 ? ['resources is missing or empty: it contains a release for each feature.'] : []),
    ...resources.filter((each) => !releases.includes(each)).map(([key]) => `resources.${key.slice(0, 100)} is not a release of a feature.`),
    ...releases.flatMap(([key, release]) => faultsOf(`resources.${key}`, at(release, 'spec'))),
  ]
  if (faults.length > 0) return left(refused(faults))
  const contents = releases.map(([key, release]) => {
    const spec = at(release, 'spec')
    return [key.slice(releasePrefix.length).replaceAll('_', '-'), contentOf(featureSet, isObject(spec) ? spec : {})] as const
  })
  return right({ featureSet, contents: new Map(contents) })
}
