import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { FetchedChart } from '../charts/ports.ts'
import { completedSource } from '../types.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { ChartRef, SourceRef } from '../types.ts'
import { descriptorOf, givenDescriptor, humanised } from './descriptors.ts'
import type {
  BundleOptionView,
  ChartCard,
  Feature,
  PackageCard,
  PackageDescriptor,
  VersionedRef,
  VersionOption,
} from './types.ts'
import { definedFields } from '../../kernel/json.ts'

/** API groups of bundles: the current one and a former one. */
const bundleGroups: ReadonlySet<string> = new Set(['releases.x-helm.dev', 'kubepack.com'])
const maxPackages = 100
const maxVersions = 50
const maxChoices = 20
const maxText = 4096

/** One version of a chart in a bundle, with what its installation needs. */
export interface BundleVersion extends VersionOption {
  readonly resources?: FreeObject
  readonly waitFors?: readonly FreeObject[]
  /** A JSON pointer into the values, to the place of a licence key. */
  readonly licenseKeyPath?: string
}

export interface BundleChart {
  readonly name: string
  readonly source: SourceRef
  readonly features: readonly string[]
  readonly namespace: string
  /** At least one. */
  readonly versions: readonly BundleVersion[]
  readonly multiSelect: boolean
  readonly required: boolean
}

export type BundlePackage =
  | { readonly kind: 'chart'; readonly chart: BundleChart }
  | { readonly kind: 'bundle'; readonly bundle: ChartRef }
  | { readonly kind: 'oneOf'; readonly description: string; readonly bundles: readonly ChartRef[] }

/** The object of kind `Bundle` in the rendering of a bundle's chart. */
export interface Bundle {
  readonly name: string
  readonly descriptor: PackageDescriptor
  readonly displayName: string
  readonly namespace: string
  readonly features: readonly Feature[]
  readonly packages: readonly BundlePackage[]
}

/**
 * The position of a value, with the list of problems. An invalid value is recorded as a problem and replaced by an
 * empty one.
 */
interface Place {
  readonly at: string
  readonly problems: string[]
}
type Read<A> = (value: Json | undefined, place: Place) => A

const note = <A>({ at, problems }: Place, what: string, fallback: A): A => {
  problems.push(`${at}: ${what}`)
  return fallback
}
const below = ({ at, problems }: Place, key: string | number): Place => ({ at: `${at}.${key}`, problems })
const isAbsent = (value: Json | undefined): value is undefined | null => value === undefined || value === null

const table: Read<FreeObject> = (value, place) => asTable(value) ?? note(place, 'a map is expected', {})

const text: Read<string> = (value, place) =>
  typeof value === 'string' && value.length <= maxText && value.isWellFormed() && !value.includes('\0')
    ? value
    : note(place, 'a text is expected', '')
const name: Read<string> = (value, place) => (value === '' ? note(place, 'a text is expected', '') : text(value, place))
const looseText: Read<string> = (value, place) => (isAbsent(value) ? '' : text(value, place))
/** A version is often written without quotes. */
const version: Read<string> = (value, place) =>
  typeof value === 'number' || typeof value === 'bigint' ? String(value) : name(value, place)
const flag: Read<boolean> = (value, place) =>
  isAbsent(value) ? false : typeof value === 'boolean' ? value : note(place, 'true or false is expected', false)

const list =
  <A>(item: Read<A>, max: number, min = 0): Read<readonly A[]> =>
  (value, place) => {
    if (!isAbsent(value) && !Array.isArray(value)) return note(place, 'a list is expected', [])
    const items = isAbsent(value) ? [] : (value as readonly Json[])
    if (items.length > max || items.length < min) return note(place, `${min} to ${max} items are expected`, [])
    return items.map((each, index) => item(each, below(place, index)))
  }

/** Reads one key of a map. */
const at = <A>(read: Read<A>, given: FreeObject, key: string, place: Place): A => read(given[key], below(place, key))

const maps = list(table, maxVersions)
const operations = list(table, 1000)

const features = list<Feature>((value, place) => {
  const feature = table(value, place)
  return { trait: at(looseText, feature, 'trait', place), value: at(looseText, feature, 'value', place) }
}, maxPackages)

/** Reads a source: `sourceRef`, or the address that older bundles have. */
const sourceOf = (given: FreeObject, place: Place): SourceRef => {
  if (isAbsent(given['sourceRef']) && !isAbsent(given['url']))
    return completedSource({ kind: 'Legacy', name: at(name, given, 'url', place) })
  const ref = at(table, given, 'sourceRef', place)
  const inside = below(place, 'sourceRef')
  const part = (key: string): string => at(looseText, ref, key, inside)
  return completedSource({
    apiGroup: part('apiGroup'),
    kind: part('kind'),
    namespace: part('namespace'),
    name: at(name, ref, 'name', inside),
  })
}

const versionOf: Read<BundleVersion> = (value, place) => {
  const given = table(value, place)
  const [valuesFile, licenseKeyPath] = [
    at(looseText, given, 'valuesFile', place),
    at(looseText, given, 'licenseKeyPath', place),
  ]
  return {
    version: at(version, given, 'version', place),
    ...(at(flag, given, 'selected', place) ? { selected: true } : {}),
    ...(valuesFile === '' ? {} : { valuesFile }),
    ...(isAbsent(given['valuesPatch']) ? {} : { valuesPatch: at(operations, given, 'valuesPatch', place) }),
    ...(isAbsent(given['resources']) ? {} : { resources: at(table, given, 'resources', place) }),
    ...(isAbsent(given['waitFors']) ? {} : { waitFors: at(maps, given, 'waitFors', place) }),
    ...(licenseKeyPath === '' ? {} : { licenseKeyPath }),
  }
}

const chartOf: Read<BundleChart> = (value, place) => {
  const given = table(value, place)
  return {
    name: at(name, given, 'name', place),
    source: sourceOf(given, place),
    features: at(list(text, maxPackages), given, 'features', place),
    namespace: at(looseText, given, 'namespace', place),
    versions: at(list(versionOf, maxVersions, 1), given, 'versions', place),
    multiSelect: at(flag, given, 'multiSelect', place),
    required: at(flag, given, 'required', place),
  }
}

const bundleRef: Read<ChartRef> = (value, place) => {
  const given = table(value, place)
  return {
    name: at(name, given, 'name', place),
    version: isAbsent(given['version']) ? '' : at(version, given, 'version', place),
    source: sourceOf(given, place),
  }
}

const packageOf = (value: Json | undefined, place: Place): BundlePackage | undefined => {
  const given = table(value, place)
  const kinds = ['chart', 'bundle', 'oneOf'].filter((key) => !isAbsent(given[key]))
  if (kinds.length !== 1) return note(place, 'one of chart, bundle and oneOf is expected', undefined)
  if (kinds[0] === 'chart') return { kind: 'chart', chart: at(chartOf, given, 'chart', place) }
  if (kinds[0] === 'bundle') return { kind: 'bundle', bundle: at(bundleRef, given, 'bundle', place) }
  const choice = at(table, given, 'oneOf', place)
  const inside = below(place, 'oneOf')
  return {
    kind: 'oneOf',
    description: at(looseText, choice, 'description', inside),
    bundles: at(list(bundleRef, maxChoices, 1), choice, 'bundles', inside),
  }
}

/** Reports whether an object is a bundle. */
const isBundle = (object: Json): boolean => {
  const { apiVersion, kind } = asTable(object) ?? {}
  return kind === 'Bundle' && typeof apiVersion === 'string' && bundleGroups.has(apiVersion.split('/')[0] ?? '')
}

/** Reads the object of kind `Bundle`. Left gives the positions of invalid values. @internal */
export const readBundle = (object: FreeObject): Either<string, Bundle> => {
  const problems: string[] = []
  const root: Place = { at: 'spec', problems }
  const spec = table(object['spec'], root)
  const bundle: Bundle = {
    name: looseText(asTable(object['metadata'])?.['name'], { at: 'metadata.name', problems }),
    descriptor: givenDescriptor(spec),
    displayName: at(looseText, spec, 'displayName', root),
    namespace: at(looseText, spec, 'namespace', root),
    features: at(features, spec, 'features', root),
    packages: at(list(packageOf, maxPackages), spec, 'packages', root).filter((each) => each !== undefined),
  }
  return problems.length === 0 ? right(bundle) : left(problems.slice(0, 5).join('; '))
}

const kindLine = /^[ \t]*["']?kind["']?[ \t]*:[ \t]*["']?Bundle["']?[ \t\r]*(?:#.*)?$/m
const groupLine = /^[ \t]*["']?apiVersion["']?[ \t]*:[ \t]*["']?(?:releases\.x-helm\.dev|kubepack\.com)\//m

/** Reports whether a text may contain a bundle, without parsing it as YAML. */
export const looksLikeBundle = (source: string): boolean => kindLine.test(source) && groupLine.test(source)

/** Reads the first bundle among objects; undefined if there is none. */
export const firstBundle = (objects: readonly Json[]): Either<string, Bundle | undefined> => {
  const found = objects.find(isBundle)
  return found === undefined ? right(undefined) : readBundle(found as FreeObject)
}

/** Returns the reference to a resolved chart, as used on the wire. */
export const versionedRef = ({ ref }: Pick<FetchedChart, 'ref'>): VersionedRef => ({
  name: ref.name,
  version: ref.version,
  sourceRef: ref.source,
})

/** Returns the version that describes a card: the selected one, else the first. */
export const shownVersion = (chart: BundleChart): string =>
  (chart.versions.find(({ selected }) => selected === true) ?? chart.versions[0])?.version ?? ''

const optionOf = ({ version, selected, valuesFile, valuesPatch }: BundleVersion): VersionOption => ({
  version,
  ...definedFields({ selected, valuesFile, valuesPatch }),
})

/** A single version offers no choice. */
const optionsOf = (versions: readonly BundleVersion[]): readonly VersionOption[] =>
  versions.length === 1 ? versions.map((each) => ({ ...optionOf(each), selected: true })) : versions.map(optionOf)

/**
 * Returns the card of a chart in a bundle. Only packages that the requested bundle names itself can be required; those
 * of a nested bundle depend on the choice of that bundle.
 * @param level 0 in the requested bundle, 1 in those that it names, and so on.
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

/**
 * Returns the view of a bundle, with the cards of its packages in order. Its chart describes it; the bundle may fill in
 * what the chart omits.
 */
export const bundleOptionView = (
  fetched: FetchedChart,
  bundle: Bundle,
  packages: readonly PackageCard[],
): BundleOptionView => ({
  ...bundle.descriptor,
  ...descriptorOf(fetched.chart.metadata),
  ...versionedRef(fetched),
  displayName:
    bundle.displayName === '' ? humanised(bundle.name === '' ? fetched.ref.name : bundle.name) : bundle.displayName,
  ...(bundle.features.length === 0 ? {} : { features: bundle.features }),
  packages,
})

/** Returns the view of a chart that is not a bundle, as a bundle of that chart only. */
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
  return {
    ...descriptor,
    ...versionedRef(fetched),
    displayName: humanised(fetched.ref.name),
    packages: [{ chart: card }],
  }
}
