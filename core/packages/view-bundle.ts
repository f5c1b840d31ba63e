import type { FetchedChart } from './chart-ports.ts'
import type { Bundle, BundleChart, BundleVersion } from './view-bundle-spec.ts'
import { descriptorOf, humanised } from './view-descriptor.ts'
import type { BundleOptionView, ChartCard, PackageCard, VersionedRef, VersionOption } from './view-types.ts'

/** A resolved chart as references on the wire name it. */
export const versionedRef = ({ ref }: Pick<FetchedChart, 'ref'>): VersionedRef => ({ name: ref.name, version: ref.version, sourceRef: ref.source })

/** The version that a card is described by: the selected one, else the first. */
export const shownVersion = (chart: BundleChart): string => (chart.versions.find(({ selected }) => selected === true) ?? chart.versions[0])?.version ?? ''

const optionOf = ({ version, selected, valuesFile, valuesPatch }: BundleVersion): VersionOption => ({
  version,
  ...(selected === undefined ? {} : { selected }),
  ...(valuesFile === undefined ? {} : { valuesFile }),
  ...(valuesPatch === undefined ? {} : { valuesPatch }),
})

/** There is no choice where there is one version. */
const optionsOf = (versions: readonly BundleVersion[]): readonly VersionOption[] =>
  versions.length === 1 ? versions.map((each) => ({ ...optionOf(each), selected: true })) : versions.map(optionOf)

/**
 * A chart of a bundle. Only what the asked bundle names itself can be required: what stands in a bundle within it came
 * by the choice of that one.
 * @param level 0 in the asked bundle, 1 in those that it names, and so on.
 */
export const chartCard = (bundle: Bundle, chart: BundleChart, shown: FetchedChart, level: number): ChartCard => {
  const namespace = chart.namespace === '' ? bundle.namespace : chart.namespace
  return {
    name: chart.name,
    sourceRef: chart.source,
    ...descriptorOf(shown.chart.metadata),
    ...(chart.features.length === 0 ? {} : { features: chart.features }),
    ...(namespace === '' ? {} : { namespace }),
    versions: optionsOf(chart.versions),
    multiSelect: chart.multiSelect,
    required: chart.required && level === 0,
    selected: chart.required,
  }
}

/** A bundle, with the cards of its packages in their order. Its chart describes it; what that leaves open the bundle may fill. */
export const bundleOptionView = (fetched: FetchedChart, bundle: Bundle, packages: readonly PackageCard[]): BundleOptionView => ({
  ...bundle.descriptor,
  ...descriptorOf(fetched.chart.metadata),
  ...versionedRef(fetched),
  displayName: bundle.displayName === '' ? humanised(bundle.name === '' ? fetched.ref.name : bundle.name) : bundle.displayName,
  ...(bundle.features.length === 0 ? {} : { features: bundle.features }),
  packages,
})

/** A chart that is no bundle, as a bundle of itself alone. */
export const singleChartView = (fetched: FetchedChart): BundleOptionView => {
  const descriptor = descriptorOf(fetched.chart.metadata)
  const card: ChartCard = {
    name: fetched.ref.name,
    sourceRef: fetched.ref.source,
    ...descriptor,
    features: descriptor.description === undefined ? [] : [descriptor.description],
    namespace: 'default',
    versions: [{ version: fetched.ref.version, selected: true }],
    multiSelect: false,
    required: true,
    selected: true,
  }
  return { ...descriptor, ...versionedRef(fetched), displayName: humanised(fetched.ref.name), packages: [{ chart: card }] }
}
