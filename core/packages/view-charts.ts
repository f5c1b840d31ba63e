import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { atATime } from './at-a-time.ts'
import { ChartRefused, ChartSourceUnreachable, type ChartFailure, type FetchedChart } from './chart-ports.ts'
import type { BundleFailure, FindBundle } from './find-bundle.ts'
import type { ChartReader, OpenChart } from './open-chart.ts'
import type { ChartRef } from './types.ts'
import { bundleOptionView, chartCard, shownVersion, singleChartView } from './view-bundle.ts'
import type { Bundle, BundlePackage } from './view-bundle-spec.ts'
import { maxBundleLevels, maxBundles } from './view-orders.ts'
import type { BundleOptionView, PackageCard } from './view-types.ts'

export type ViewFailure = ChartFailure | BundleFailure
type Viewed<A> = Promise<Either<ViewFailure, A>>

interface ViewDeps {
  readonly open: OpenChart
  readonly find: FindBundle
}

/** Charts that one view may show. */
const maxCharts = 60
const fetchedAtATime = 4
/** Milliseconds for a view with all that its bundles name. */
const viewMs = 60_000

/** One request's expansion, and what is left of what it may cost. */
interface Expansion {
  readonly reader: ChartReader
  readonly signal: AbortSignal
  charts: number
  bundles: number
}

const keyOf = ({ name, version, source }: ChartRef): string => JSON.stringify([source.apiGroup, source.kind, source.namespace, source.name, name, version])
const called = ({ ref }: FetchedChart): string => `${ref.name} ${ref.version}`

/** Told as what the author of the bundle named: that it is missing there is no fault of the caller's. */
const named = (owner: FetchedChart, ref: ChartRef, failure: ViewFailure): ViewFailure => {
  const message = `The bundle ${called(owner)} names ${ref.name}: ${failure.message}`
  return failure.tag === 'ChartMissing' ? ChartRefused(message) : { ...failure, message }
}

/** Expands bundles, those within them included, within bounds on depth, number and time; a bundle within itself is refused. */
const makeExpand = ({ open, find }: ViewDeps) => {
  const openNamed = async (owner: FetchedChart, ref: ChartRef, expansion: Expansion): Viewed<FetchedChart> => {
    expansion.charts += 1
    if (expansion.charts > maxCharts) return left(ChartRefused(`A view may show ${maxCharts} charts; the bundle names more.`))
    const opened = await open(ref, expansion.reader, expansion.signal)
    return isLeft(opened) ? left(named(owner, ref, opened.left)) : opened
  }

  const openBundle = async (owner: FetchedChart, ref: ChartRef, trail: readonly string[], expansion: Expansion): Viewed<BundleOptionView> => {
    expansion.bundles += 1
    if (trail.length > maxBundleLevels) return left(ChartRefused(`Bundles may stand ${maxBundleLevels} levels deep in one another; those of ${called(owner)} stand deeper.`))
    if (expansion.bundles > maxBundles) return left(ChartRefused(`A view may be made of ${maxBundles} bundles; there are more.`))
    const opened = await openNamed(owner, ref, expansion)
    if (isLeft(opened)) return opened
    const key = keyOf(opened.right.ref)
    if (trail.includes(key)) return left(ChartRefused(`The bundle ${called(opened.right)} contains itself.`))
    const bundle = await find(opened.right, expansion.reader, expansion.signal)
    if (isLeft(bundle)) return bundle
    if (bundle.right === undefined) return left(ChartRefused(`The bundle ${called(owner)} names ${called(opened.right)} as a bundle, which it is not.`))
    return expand(opened.right, bundle.right, [...trail, key], expansion)
  }

  const openChoice = async (owner: FetchedChart, refs: readonly ChartRef[], trail: readonly string[], expansion: Expansion): Viewed<readonly BundleOptionView[]> => {
    const views: BundleOptionView[] = []
    for (const ref of refs) {
      const view = await openBundle(owner, ref, trail, expansion)
      if (isLeft(view)) return view
      views.push(view.right)
    }
    return right(views)
  }

  const cardOf = async (owner: FetchedChart, bundle: Bundle, each: BundlePackage, trail: readonly string[], expansion: Expansion): Viewed<PackageCard> => {
    if (each.kind === 'chart') {
      const { chart } = each
      const shown = await openNamed(owner, { name: chart.name, version: shownVersion(chart), source: chart.source }, expansion)
      return isLeft(shown) ? shown : right({ chart: chartCard(bundle, chart, shown.right, trail.length - 1) })
    }
    if (each.kind === 'bundle') {
      const view = await openBundle(owner, each.bundle, trail, expansion)
      return isLeft(view) ? view : right({ bundle: view.right })
    }
    const views = await openChoice(owner, each.bundles, trail, expansion)
    return isLeft(views) ? views : right({ oneOf: { description: each.description, bundles: views.right } })
  }

  /** @param trail the bundles that it stands in, itself last. */
  const expand = async (fetched: FetchedChart, bundle: Bundle, trail: readonly string[], expansion: Expansion): Viewed<BundleOptionView> => {
    const cards = await atATime(bundle.packages, trail.length === 1 ? fetchedAtATime : 1, (each) => cardOf(fetched, bundle, each, trail, expansion))
    return isLeft(cards) ? cards : right(bundleOptionView(fetched, bundle, cards.right))
  }
  return expand
}

/** The view of a chart: of its bundle with everything in it, or of the chart alone. */
export const makeViewBundle = (deps: ViewDeps, mostMs = viewMs) => {
  const expand = makeExpand(deps)
  const view = async (ref: ChartRef, reader: ChartReader, signal: AbortSignal): Viewed<BundleOptionView> => {
    const opened = await deps.open(ref, reader, signal)
    if (isLeft(opened)) return opened
    const bundle = await deps.find(opened.right, reader, signal)
    if (isLeft(bundle)) return bundle
    if (bundle.right === undefined) return right(singleChartView(opened.right))
    return expand(opened.right, bundle.right, [keyOf(opened.right.ref)], { reader, signal, charts: 0, bundles: 0 })
  }

  return async (ref: ChartRef, reader: ChartReader, signal: AbortSignal): Viewed<BundleOptionView> => {
    const deadline = AbortSignal.timeout(mostMs)
    const late = left(ChartSourceUnreachable(`Not everything that the chart names came within ${mostMs / 1000} seconds.`))
    try {
      const viewed = await view(ref, reader, AbortSignal.any([signal, deadline]))
      return isLeft(viewed) && deadline.aborted ? late : viewed
    } catch (error) {
      // What is stopped on the way may throw: nobody is usually there any more to be told.
      if (deadline.aborted && !signal.aborted) return late
      throw error
    }
  }
}
