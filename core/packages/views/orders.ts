import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/secret.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type {
  ChartReader,
  OpenChart,
  OpenReaderFailure,
  ReadChartDeps,
  ReadChartFailure,
  ReadChartInput,
} from '../charts/chart-cache.ts'
import { openReader, readChart } from '../charts/chart-cache.ts'
import { atATime } from '../../kernel/concurrency.ts'
import type { Chart, ChartFailure, ChartTexts, ChartTools, FetchedChart } from '../charts/ports.ts'
import { ChartRefused, ChartSourceUnreachable } from '../charts/ports.ts'
import type { HelmFailure, HelmRunner } from '../releases/ports.ts'
import type { ChartRef } from '../types.ts'
import type { Bundle, BundlePackage } from './bundles.ts'
import { bundleOptionView, chartCard, firstBundle, looksLikeBundle, shownVersion, singleChartView } from './bundles.ts'
import type { GivenBundle } from './selections.ts'
import {
  bundleSelections,
  choicesOf,
  maxBundleLevels,
  maxBundles,
  packageSelection,
  parseGivenBundle,
} from './selections.ts'
import type { BundleOptionView, ChartSelection, Order, PackageCard } from './types.ts'
import { toWireJson } from '../../kernel/json.ts'

export type BundleFailure = HelmFailure | Failure<'ChartRefused'>

/** Returns the bundle of a chart; undefined if the chart is not a bundle. */
export type FindBundle = (
  fetched: FetchedChart,
  reader: ChartReader,
  signal: AbortSignal,
) => Outcome<BundleFailure, Bundle | undefined>

/** In bytes; a bundle is a list of names, and longer templates are not parsed. */
const maxTemplate = 256 * 1024

const bundleTemplates = (chart: Chart): readonly string[] =>
  [...chart.files]
    .filter(
      ([path, bytes]) => path.startsWith('templates/') && !path.endsWith('/NOTES.txt') && bytes.length <= maxTemplate,
    )
    .map(([, bytes]) => new TextDecoder().decode(bytes))
    .filter(looksLikeBundle)

/** Returns the documents of a rendering that may be bundles; the others are not parsed. */
const bundleTexts = (manifest: string): readonly string[] => manifest.split(/^---[ \t\r]*$/m).filter(looksLikeBundle)

/**
 * Searches a chart's own templates for a bundle. A chart is rendered only if its templates look like a bundle and are
 * not plain YAML; the values are the chart's defaults, the capabilities those of the cluster.
 */
export const makeFindBundle = (deps: {
  readonly texts: Pick<ChartTexts, 'parseAll'>
  readonly tools: Pick<ChartTools, 'pack'>
  readonly helm: Pick<HelmRunner, 'template'>
}): FindBundle => {
  const read = async ({ ref }: FetchedChart, sources: readonly string[]): ReturnType<FindBundle> => {
    const unreadable = (why: string) =>
      left(ChartRefused(`The bundle of the chart ${ref.name} ${ref.version} cannot be read: ${why}`))
    const objects: Json[] = []
    for (const source of sources) {
      const parsed = await deps.texts.parseAll(new TextEncoder().encode(source))
      if (isLeft(parsed)) return unreadable(parsed.left.message)
      objects.push(...parsed.right)
    }
    const bundle = firstBundle(objects)
    return isLeft(bundle) ? unreadable(`${bundle.left}.`) : bundle
  }

  return async (fetched, { cluster }, signal) => {
    const templates = bundleTemplates(fetched.chart)
    if (templates.length === 0) return right(undefined)
    if (!templates.some((text) => text.includes('{{'))) return read(fetched, templates)
    const work = {
      target: { cluster, driver: 'Secret' as const, tenantId: cluster.ownerId },
      release: { namespace: 'default', name: 'bundle' },
      flags: { disableHooks: true },
    }
    const rendered = await deps.helm.template(
      work,
      { archive: await deps.tools.pack(fetched.chart), values: undefined },
      signal,
    )
    return isLeft(rendered) ? rendered : read(fetched, bundleTexts(rendered.right.manifest))
  }
}

export type ViewFailure = ChartFailure | BundleFailure
type Viewed<A> = Promise<Either<ViewFailure, A>>

interface ViewDeps {
  readonly open: OpenChart
  readonly find: FindBundle
}

/** Maximum number of charts in one view. */
const maxCharts = 60
const fetchedAtATime = 4
/** Timeout in milliseconds for a view with everything that its bundles name. */
const viewMs = 60_000

/** The expansion of one request, with its remaining budget. */
interface Expansion {
  readonly reader: ChartReader
  readonly signal: AbortSignal
  charts: number
  bundles: number
}

const keyOf = ({ name, version, source }: ChartRef): string =>
  toWireJson([source.apiGroup, source.kind, source.namespace, source.name, name, version])
const called = ({ ref }: FetchedChart): string => `${ref.name} ${ref.version}`

/** Attributes a failure to the bundle's author: a missing chart there is not the caller's error. */
const named = (owner: FetchedChart, ref: ChartRef, failure: ViewFailure): ViewFailure => {
  const message = `The bundle ${called(owner)} names ${ref.name}: ${failure.message}`
  return failure.tag === 'ChartMissing' ? ChartRefused(message) : { ...failure, message }
}

/**
 * Expands bundles, including nested ones, with limits on depth, number and time; a bundle that contains itself is
 * rejected.
 */
const makeExpand = ({ open, find }: ViewDeps) => {
  const openNamed = async (owner: FetchedChart, ref: ChartRef, expansion: Expansion): Viewed<FetchedChart> => {
    expansion.charts += 1
    if (expansion.charts > maxCharts)
      return left(ChartRefused(`A view may show ${maxCharts} charts; the bundle names more.`))
    const opened = await open(ref, expansion.reader, expansion.signal)
    return isLeft(opened) ? left(named(owner, ref, opened.left)) : opened
  }

  const openBundle = async (
    owner: FetchedChart,
    ref: ChartRef,
    trail: readonly string[],
    expansion: Expansion,
  ): Viewed<BundleOptionView> => {
    expansion.bundles += 1
    if (trail.length > maxBundleLevels)
      return left(
        ChartRefused(
          `Bundles may stand ${maxBundleLevels} levels deep in one another; those of ${called(owner)} stand deeper.`,
        ),
      )
    if (expansion.bundles > maxBundles)
      return left(ChartRefused(`A view may be made of ${maxBundles} bundles; there are more.`))
    const opened = await openNamed(owner, ref, expansion)
    if (isLeft(opened)) return opened
    const key = keyOf(opened.right.ref)
    if (trail.includes(key)) return left(ChartRefused(`The bundle ${called(opened.right)} contains itself.`))
    const bundle = await find(opened.right, expansion.reader, expansion.signal)
    if (isLeft(bundle)) return bundle
    if (bundle.right === undefined)
      return left(
        ChartRefused(`The bundle ${called(owner)} names ${called(opened.right)} as a bundle, which it is not.`),
      )
    return expand(opened.right, bundle.right, [...trail, key], expansion)
  }

  const openChoice = async (
    owner: FetchedChart,
    refs: readonly ChartRef[],
    trail: readonly string[],
    expansion: Expansion,
  ): Viewed<readonly BundleOptionView[]> => {
    const views: BundleOptionView[] = []
    for (const ref of refs) {
      const view = await openBundle(owner, ref, trail, expansion)
      if (isLeft(view)) return view
      views.push(view.right)
    }
    return right(views)
  }

  const cardOf = async (
    owner: FetchedChart,
    bundle: Bundle,
    each: BundlePackage,
    trail: readonly string[],
    expansion: Expansion,
  ): Viewed<PackageCard> => {
    if (each.kind === 'chart') {
      const { chart } = each
      const shown = await openNamed(
        owner,
        { name: chart.name, version: shownVersion(chart), source: chart.source },
        expansion,
      )
      return isLeft(shown) ? shown : right({ chart: chartCard(bundle, chart, shown.right, trail.length - 1) })
    }
    if (each.kind === 'bundle') {
      return pipe(
        await openBundle(owner, each.bundle, trail, expansion),
        map((bundle) => ({ bundle })),
      )
    }
    const { description } = each
    return pipe(
      await openChoice(owner, each.bundles, trail, expansion),
      map((bundles) => ({ oneOf: { description, bundles } })),
    )
  }

  /** @param trail the enclosing bundles, ending with this one. */
  const expand = async (
    fetched: FetchedChart,
    bundle: Bundle,
    trail: readonly string[],
    expansion: Expansion,
  ): Viewed<BundleOptionView> => {
    const cards = await atATime(bundle.packages, trail.length === 1 ? fetchedAtATime : 1, (each) =>
      cardOf(fetched, bundle, each, trail, expansion),
    )
    return pipe(
      cards,
      map((made) => bundleOptionView(fetched, bundle, made)),
    )
  }
  return expand
}

/**
 * Returns the view of a chart: of its bundle with all its packages, or of the chart alone. `mostMs` limits the time
 * that it takes.
 */
export const makeViewBundle = (deps: ViewDeps & Pick<ReadChartDeps, 'memberClusters'>, mostMs = viewMs) => {
  const expand = makeExpand(deps)
  const view = async (ref: ChartRef, reader: ChartReader, signal: AbortSignal): Viewed<BundleOptionView> => {
    const opened = await deps.open(ref, reader, signal)
    if (isLeft(opened)) return opened
    const bundle = await deps.find(opened.right, reader, signal)
    if (isLeft(bundle)) return bundle
    if (bundle.right === undefined) return right(singleChartView(opened.right))
    return expand(opened.right, bundle.right, [keyOf(opened.right.ref)], { reader, signal, charts: 0, bundles: 0 })
  }

  return async (
    call: SignedInCall<never>,
    { grant, ref }: ReadChartInput,
  ): Outcome<OpenReaderFailure | ViewFailure, BundleOptionView> => {
    const reader = await openReader(deps, call, grant)
    if (isLeft(reader)) return reader
    const { signal } = call
    const deadline = AbortSignal.timeout(mostMs)
    const late = left(
      ChartSourceUnreachable(`Not everything that the chart names came within ${mostMs / 1000} seconds.`),
    )
    try {
      const viewed = await view(ref, reader.right, AbortSignal.any([signal, deadline]))
      return isLeft(viewed) && deadline.aborted ? late : viewed
    } catch (error) {
      // Aborted work may throw; after a disconnect there is usually no client left to respond to.
      if (deadline.aborted && !signal.aborted) return late
      throw error
    }
  }
}

interface OrderDeps extends ReadChartDeps {
  readonly clock: Clock
  readonly entropy: Entropy
}

const orderOf = ({ clock, entropy }: OrderDeps, name: string, items: readonly ChartSelection[]): Order => ({
  name,
  uid: entropy.uuid(),
  createdAt: clock.now(),
  items,
})

export interface OrderPackageInput extends ReadChartInput {
  /** Defaults to the chart's name. */
  readonly releaseName: string | undefined
  /** Defaults to `default`. */
  readonly namespace: string | undefined
  /** Values that differ from the chart's defaults. */
  readonly values: FreeObject | undefined
}

/** Returns an order for one chart. Nothing is stored. */
export const makeOrderPackage =
  (deps: OrderDeps) =>
  async (
    call: SignedInCall<never>,
    input: OrderPackageInput,
  ): Outcome<ReadChartFailure | Failure<'OrderRefused'>, Order> => {
    const opened = await readChart(deps, call, input)
    if (isLeft(opened)) return opened
    return pipe(
      packageSelection(opened.right, input),
      map((selection) => orderOf(deps, selection.releaseName, [selection])),
    )
  }

export interface OrderBundleInput {
  readonly grant: AccessGrant
  /** A bundle view with the caller's choices. */
  readonly view: GivenBundle
  readonly licenseKey: string | undefined
}

/**
 * Returns an order for the choices in a bundle view. Resources, waits and licence keys are the author's, from the
 * chart.
 */
export const makeOrderBundle = (deps: OrderDeps & { readonly find: FindBundle }) => {
  const authorOf = async (
    view: BundleOptionView,
    reader: ChartReader,
    signal: AbortSignal,
  ): Outcome<ViewFailure, Bundle | undefined> => {
    const opened = await deps.open({ name: view.name, version: view.version, source: view.sourceRef }, reader, signal)
    return isLeft(opened) ? opened : deps.find(opened.right, reader, signal)
  }

  return async (
    call: SignedInCall<never>,
    { grant, view: given, licenseKey }: OrderBundleInput,
  ): Outcome<OpenReaderFailure | ViewFailure | Failure<'OrderRefused'>, Order> => {
    const view = parseGivenBundle(given)
    if (isLeft(view)) return view
    const reader = await openReader(deps, call, grant)
    if (isLeft(reader)) return reader
    const choices = choicesOf(view.right)
    if (isLeft(choices)) return choices
    const authors = new Map<BundleOptionView, Bundle>()
    for (const bundle of new Set(choices.right.map(({ within }) => within))) {
      const author = await authorOf(bundle, reader.right, call.signal)
      if (isLeft(author)) return author
      if (author.right !== undefined) authors.set(bundle, author.right)
    }
    return pipe(
      bundleSelections(choices.right, authors, licenseKey),
      map((items) => orderOf(deps, view.right.name, items)),
    )
  }
}
