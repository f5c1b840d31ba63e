import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Failure } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { definedFields, toWireJson } from '../../kernel/json.ts'
import type { FetchedChart } from '../charts/ports.ts'
import { overridePatch, plainJson } from '../../formats/helm/value-tables.ts'
import { completedSource, isSameSource } from '../types.ts'
import type { Bundle, BundleVersion } from './bundles.ts'
import { versionedRef } from './bundles.ts'
import type { BundleOptionView, ChartCard, ChartSelection, PackageCard, VersionOption } from './types.ts'
import { OrderRefused } from './types.ts'

type Judged<A> = Either<Failure<'OrderRefused'>, A>

/** Helm's limit, which leaves room for suffixes that charts append. */
const maxReleaseName = 53
const releaseName = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
/** Maximum nesting of bundles. */
export const maxBundleLevels = 5
/** Maximum number of bundles in one view or order. */
export const maxBundles = 20
const maxItems = 200

const checkedName = (name: string): Judged<string> => {
  if (name.length > maxReleaseName)
    return left(OrderRefused(`The release name ${name.slice(0, 100)} is longer than ${maxReleaseName} characters.`))
  return releaseName.test(name)
    ? right(name)
    : left(
        OrderRefused(
          `${toWireJson(name)} cannot be the name of a release: lower-case letters, digits, '-' and '.' only.`,
        ),
      )
}

/** Returns the selection for one chart outside a bundle. */
export const packageSelection = (
  fetched: FetchedChart,
  requested: {
    readonly releaseName: string | undefined
    readonly namespace: string | undefined
    readonly values: FreeObject | undefined
  },
): Judged<ChartSelection> => {
  const name = checkedName(requested.releaseName ?? fetched.ref.name)
  if (isLeft(name)) return name
  return right({
    ...versionedRef(fetched),
    releaseName: name.right,
    namespace: requested.namespace === undefined || requested.namespace === '' ? 'default' : requested.namespace,
    bundle: null,
    valuesFile: 'values.yaml',
    valuesPatch: overridePatch(fetched.chart.values, requested.values ?? {}),
    resources: null,
    waitFors: null,
  })
}

/** A chart chosen in a view. */
export interface ChosenChart {
  readonly card: ChartCard
  readonly versions: readonly VersionOption[]
  /** The bundle that contains it. */
  readonly within: BundleOptionView
}

const chosenVersions = (card: ChartCard): Judged<readonly VersionOption[]> => {
  const selected =
    card.versions.length === 1 ? card.versions : card.versions.filter((version) => version.selected === true)
  if (selected.length === 0) return left(OrderRefused(`Select a version of ${card.name}.`))
  if (selected.length > 1 && card.multiSelect !== true)
    return left(OrderRefused(`Select one version of ${card.name}, not ${selected.length}.`))
  return right(selected)
}

const isChosen = (card: ChartCard): boolean => card.required === true || card.selected === true

/**
 * Returns the choices in a bundle and its nested bundles in install order: the order of the view, with a nested bundle
 * at its position. Rejects missing and excess choices.
 */
export const choicesOf = (view: BundleOptionView): Judged<readonly ChosenChart[]> => {
  let bundles = 0
  const charts: ChosenChart[] = []
  const walk = (within: BundleOptionView, level: number): Judged<void> => {
    if (level > maxBundleLevels)
      return left(OrderRefused(`Bundles may stand ${maxBundleLevels} levels deep in one another.`))
    bundles += 1
    if (bundles > maxBundles) return left(OrderRefused(`An order may be made of ${maxBundles} bundles.`))
    for (const card of within.packages) {
      if ('oneOf' in card)
        return left(
          OrderRefused(
            `Choose one of the bundles ${card.oneOf.bundles
              .map(({ name }) => name)
              .join(', ')
              .slice(0, 500)} in ${within.name}.`,
          ),
        )
      const walked = 'bundle' in card ? walk(card.bundle, level + 1) : choose(card.chart, within)
      if (isLeft(walked)) return walked
    }
    return right(undefined)
  }
  const choose = (card: ChartCard, within: BundleOptionView): Judged<void> => {
    if (!isChosen(card)) return right(undefined)
    const versions = chosenVersions(card)
    if (isLeft(versions)) return versions
    charts.push({ card, versions: versions.right, within })
    return right(undefined)
  }
  return pipe(
    walk(view, 0),
    map(() => charts),
  )
}

/** Returns what the author's bundle says about one version of a chart; undefined if it does not name it. */
const authorsVersion = (bundle: Bundle | undefined, card: ChartCard, version: string): BundleVersion | undefined =>
  bundle?.packages
    .flatMap((each) =>
      each.kind === 'chart' && each.chart.name === card.name && isSameSource(each.chart.source, card.sourceRef)
        ? each.chart.versions
        : [],
    )
    .find((each) => each.version === version)

const patchWith = (
  option: VersionOption,
  licenseKeyPath: string | undefined,
  licenseKey: string | undefined,
): Judged<Json | undefined> => {
  const patch = option.valuesPatch ?? undefined
  if (patch !== undefined && !Array.isArray(patch))
    return left(OrderRefused('A valuesPatch must be a list of operations.'))
  if (licenseKeyPath === undefined || licenseKey === undefined || licenseKey === '')
    return right(patch === undefined ? undefined : plainJson(patch))
  return right([
    ...((patch ?? []) as readonly Json[]).map(plainJson),
    { op: 'replace', path: licenseKeyPath, value: licenseKey },
  ])
}

/** Characters of a version that are invalid in a release name become `-`. */
const nameOf = (card: ChartCard, version: string): string =>
  card.multiSelect === true ? `${card.name}-${version.toLowerCase().replace(/[^a-z0-9.-]/g, '-')}` : card.name

const selectionOf = (
  { card, within }: ChosenChart,
  option: VersionOption,
  bundle: Bundle | undefined,
  licenseKey: string | undefined,
): Judged<ChartSelection> => {
  const said = authorsVersion(bundle, card, option.version)
  const name = checkedName(nameOf(card, option.version))
  if (isLeft(name)) return name
  const valuesPatch = patchWith(option, said?.licenseKeyPath, licenseKey)
  if (isLeft(valuesPatch)) return valuesPatch
  return right({
    name: card.name,
    version: option.version,
    sourceRef: card.sourceRef,
    releaseName: name.right,
    namespace: [card.namespace, bundle?.namespace].find((each) => each !== undefined && each !== '') ?? 'default',
    bundle: { name: within.name, version: within.version, sourceRef: within.sourceRef },
    ...(option.valuesFile === undefined || option.valuesFile === '' ? {} : { valuesFile: option.valuesFile }),
    ...definedFields({ valuesPatch: valuesPatch.right }),
    resources: said?.resources ?? null,
    waitFors: said?.waitFors ?? null,
  })
}

/**
 * Returns one release for each chosen version.
 * @param authors the original bundles, for those parts of the view that are bundles.
 */
export const bundleSelections = (
  charts: readonly ChosenChart[],
  authors: ReadonlyMap<BundleOptionView, Bundle>,
  licenseKey: string | undefined,
): Judged<readonly ChartSelection[]> => {
  const items: ChartSelection[] = []
  for (const chosen of charts) {
    for (const option of chosen.versions) {
      const selection = selectionOf(chosen, option, authors.get(chosen.within), licenseKey)
      if (isLeft(selection)) return selection
      items.push(selection.right)
    }
  }
  return unmistakable(items)
}

/** Rejects two releases of one name in a namespace. */
const unmistakable = (items: readonly ChartSelection[]): Judged<readonly ChartSelection[]> => {
  if (items.length === 0) return left(OrderRefused('Nothing is selected.'))
  if (items.length > maxItems) return left(OrderRefused(`An order may have ${maxItems} items.`))
  const seen = new Set<string>()
  for (const { namespace, releaseName: name } of items) {
    const key = `${namespace}/${name}`
    if (seen.has(key))
      return left(
        OrderRefused(`Two charts of the order would both be the release ${name} in the namespace ${namespace}.`),
      )
    seen.add(key)
  }
  return right(items)
}

/** A source as a client returns it. What is undefined has the defaults of the interface. */
export interface GivenSource {
  readonly apiGroup: string | undefined
  readonly kind: string | undefined
  readonly namespace: string | undefined
  readonly name: string
}

/** A chart as a client returns it: `selected` marks the choices. */
export interface GivenChart {
  readonly name: string
  readonly sourceRef: GivenSource
  readonly namespace: string | undefined
  readonly versions: readonly {
    readonly version: string
    readonly selected: boolean | undefined
    readonly valuesFile: string | undefined
    readonly valuesPatch: Json | undefined
  }[]
  readonly multiSelect: boolean | undefined
  readonly required: boolean | undefined
  readonly selected: boolean | undefined
}

/** A package as a client returns it. It must have exactly one of the three. */
export interface GivenPackage {
  readonly chart: GivenChart | undefined
  readonly bundle: GivenBundle | undefined
  readonly oneOf: { readonly description: string | undefined; readonly bundles: readonly GivenBundle[] } | undefined
}

/** A bundle as a client returns it. */
export interface GivenBundle {
  readonly name: string
  readonly version: string
  readonly sourceRef: GivenSource
  readonly packages: readonly GivenPackage[]
}

const cardsOf = ({ chart, bundle, oneOf }: GivenPackage): readonly PackageCard[] => {
  if (chart !== undefined) {
    const { sourceRef, namespace, versions, multiSelect, required, selected, name } = chart
    const options = versions.map(({ version, selected: isSelected, valuesFile, valuesPatch }) => ({
      version,
      ...definedFields({ selected: isSelected, valuesFile, valuesPatch }),
    }))
    const flags = { multiSelect: multiSelect === true, required: required === true, selected: selected === true }
    return [
      {
        chart: {
          name,
          sourceRef: completedSource(sourceRef),
          ...definedFields({ namespace }),
          versions: options,
          ...flags,
        },
      },
    ]
  }
  if (bundle !== undefined) return [{ bundle: viewOf(bundle) }]
  return oneOf === undefined
    ? []
    : [{ oneOf: { description: oneOf.description ?? '', bundles: oneOf.bundles.map(viewOf) } }]
}

const viewOf = ({ name, version, sourceRef, packages }: GivenBundle): BundleOptionView => ({
  name,
  version,
  sourceRef: completedSource(sourceRef),
  displayName: '',
  packages: packages.flatMap(cardsOf),
})

/** Reports whether each package is exactly one of the three, recursively through nested bundles. */
const isUnambiguous = ({ packages }: GivenBundle): boolean =>
  packages.every(({ chart, bundle, oneOf }) => {
    const isOne = [chart, bundle, oneOf].filter((each) => each !== undefined).length === 1
    return isOne && [...(bundle === undefined ? [] : [bundle]), ...(oneOf?.bundles ?? [])].every(isUnambiguous)
  })

/**
 * Returns the parts of a client's bundle that an order depends on. Failure: OrderRefused if a package is not exactly
 * one of the three.
 */
export const parseGivenBundle = (given: GivenBundle): Either<Failure<'OrderRefused'>, BundleOptionView> =>
  isUnambiguous(given)
    ? right(viewOf(given))
    : left(OrderRefused('packages: each must have exactly one of chart, bundle and oneOf.'))
