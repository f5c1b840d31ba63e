import * as t from 'io-ts'
import { completedSource } from '../../core/packages/source-ref.ts'
import type { BundleOptionView, PackageCard } from '../../core/packages/view-types.ts'
import { AnyJson, FreeObjectCodec, freeText, listOf, optional, patternText, PathName, PathTail, request } from '../kit/codecs.ts'
import { chartSourceProps, Format, Namespace, ReleaseName } from './codecs.ts'

/** A chart's file, by its path in the chart. */
export const ChartFilePath = request({ owner: PathName, cluster: PathName, path: PathTail }, 'ChartFilePath')
export const FormatQuery = request({ format: optional(Format) }, 'FormatQuery')

const groupName = patternText(/^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?$/, 253, 'an API group')
/** A chart, and the variant of a resource whose presets are laid over its values. */
export const ChartPresetFlatRef = request(
  {
    ...chartSourceProps,
    group: optional(groupName),
    resource: optional(patternText(/^[a-z0-9-]*$/, 63, 'the plural of a resource, in small letters')),
    kind: optional(patternText(/^(?:[A-Z][A-Za-z0-9]*)?$/, 63, 'a kind')),
    variant: optional(freeText(253)),
    namespace: optional(Namespace),
  },
  'ChartPresetFlatRef',
)
export type ChartPresetFlatRef = t.TypeOf<typeof ChartPresetFlatRef>

/** A chart with what is to differ from its defaults. */
export const ChartOrder = request(
  { ...chartSourceProps, releaseName: optional(ReleaseName), namespace: optional(Namespace), values: optional(FreeObjectCodec) },
  'ChartOrder',
)

/** Where something comes from. What is left out has the defaults of the interface. */
const SourceRefIn = request(
  { apiGroup: optional(freeText(253)), kind: optional(freeText(63)), namespace: optional(Namespace), name: freeText(2048, 1) },
  'TypedObjectReference',
)
const VersionOptionIn = request(
  { version: freeText(128), selected: optional(t.boolean), valuesFile: optional(freeText(512)), valuesPatch: optional(AnyJson) },
  'VersionOptionIn',
)
const ChartCardIn = request(
  {
    name: freeText(250, 1),
    sourceRef: SourceRefIn,
    namespace: optional(Namespace),
    versions: listOf(VersionOptionIn, 50, 1),
    multiSelect: optional(t.boolean),
    required: optional(t.boolean),
    selected: optional(t.boolean),
  },
  'ChartCardIn',
)

/** A bundle as a client sends it back. */
export interface BundleIn {
  readonly name: string
  readonly version: string
  readonly sourceRef: t.TypeOf<typeof SourceRefIn>
  readonly packages: readonly PackageIn[]
}
interface PackageIn {
  readonly chart: t.TypeOf<typeof ChartCardIn> | undefined
  readonly bundle: BundleIn | undefined
  readonly oneOf: { readonly description: string | undefined; readonly bundles: readonly BundleIn[] } | undefined
}

const bundleProps = (packages: t.Type<readonly PackageIn[], unknown, unknown>) => ({ name: freeText(250, 1), version: freeText(128), sourceRef: SourceRefIn, packages })
const BundleOptionIn: t.Type<BundleIn, unknown> = t.recursion('BundleOptionIn', () => request(bundleProps(listOf(PackageIn, 100)), 'BundleOptionIn'))
/** One of the three; what a view shows beside them is not read. */
const PackageIn: t.Type<PackageIn, unknown> = t.recursion('PackageIn', () =>
  request(
    {
      chart: optional(ChartCardIn),
      bundle: optional(BundleOptionIn),
      oneOf: optional(request({ description: optional(freeText(4096)), bundles: listOf(BundleOptionIn, 20) }, 'OneOfIn')),
    },
    'PackageIn',
  ),
)
/** A bundle view with its choices made: `selected` says which charts and versions. */
export const BundleViewIn = request({ ...bundleProps(listOf(PackageIn, 100)), licenseKey: optional(freeText(64 * 1024)) }, 'BundleViewIn')

const toCards = (card: PackageIn): readonly PackageCard[] => {
  if (card.chart !== undefined) {
    const { sourceRef, namespace, versions, multiSelect, required, selected, name } = card.chart
    const options = versions.map(({ version, selected: isSelected, valuesFile, valuesPatch }) => ({
      version,
      ...(isSelected === undefined ? {} : { selected: isSelected }),
      ...(valuesFile === undefined ? {} : { valuesFile }),
      ...(valuesPatch === undefined ? {} : { valuesPatch }),
    }))
    const flags = { multiSelect: multiSelect === true, required: required === true, selected: selected === true }
    return [{ chart: { name, sourceRef: completedSource(sourceRef), ...(namespace === undefined ? {} : { namespace }), versions: options, ...flags } }]
  }
  if (card.bundle !== undefined) return [{ bundle: toBundle(card.bundle) }]
  return card.oneOf === undefined ? [] : [{ oneOf: { description: card.oneOf.description ?? '', bundles: card.oneOf.bundles.map(toBundle) } }]
}

/** A client's bundle view, as far as an order depends on it. */
export const toBundle = (view: BundleIn): BundleOptionView => ({
  name: view.name,
  version: view.version,
  sourceRef: completedSource(view.sourceRef),
  displayName: '',
  packages: view.packages.flatMap(toCards),
})

/** Whether each package is one thing, in bundles within bundles likewise. */
export const isUnambiguous = (view: BundleIn): boolean =>
  view.packages.every(({ chart, bundle, oneOf }) => {
    const isOne = [chart, bundle, oneOf].filter((each) => each !== undefined).length === 1
    return isOne && [...(bundle === undefined ? [] : [bundle]), ...(oneOf?.bundles ?? [])].every(isUnambiguous)
  })
