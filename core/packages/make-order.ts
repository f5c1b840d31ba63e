import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { uuidFrom } from '../kernel/entropy.ts'
import type { ChartFailure } from './chart-ports.ts'
import type { FindBundle } from './find-bundle.ts'
import type { ChartReader, OpenChart } from './open-chart.ts'
import type { ChartRef } from './types.ts'
import type { Bundle } from './view-bundle-spec.ts'
import type { ViewFailure } from './view-charts.ts'
import { bundleSelections, choicesOf, packageSelection } from './view-orders.ts'
import type { BundleOptionView, ChartSelection, Order } from './view-types.ts'

interface OrderDeps {
  readonly open: OpenChart
  readonly clock: Clock
  readonly entropy: Entropy
}

const orderOf = ({ clock, entropy }: OrderDeps, name: string, items: readonly ChartSelection[]): Order => ({
  name,
  uid: uuidFrom(entropy.bytes(16)),
  createdAt: clock.now(),
  items,
})

/** What the caller wishes of one chart. */
export interface PackageWish {
  readonly ref: ChartRef
  /** The chart's name unless told. */
  readonly releaseName: string | undefined
  /** `default` unless told. */
  readonly namespace: string | undefined
  /** What is to differ from the chart's defaults. */
  readonly values: FreeObject | undefined
}

/** An order for one chart. Nothing is stored. */
export const makeOrderPackage =
  (deps: OrderDeps) =>
  async (wish: PackageWish, reader: ChartReader, signal: AbortSignal): Outcome<ChartFailure | Failure<'OrderRefused'>, Order> => {
    const opened = await deps.open(wish.ref, reader, signal)
    if (isLeft(opened)) return opened
    const selection = packageSelection(opened.right, wish)
    return isLeft(selection) ? selection : right(orderOf(deps, selection.right.releaseName, [selection.right]))
  }

/** A bundle view with its choices made. */
export interface ChosenView {
  readonly view: BundleOptionView
  readonly licenseKey: string | undefined
}

/** An order for what was chosen in a bundle view: resources, waits and licence keys are the author's, from the chart. */
export const makeOrderBundle = (deps: OrderDeps & { readonly find: FindBundle }) => {
  const authorOf = async (view: BundleOptionView, reader: ChartReader, signal: AbortSignal): Outcome<ViewFailure, Bundle | undefined> => {
    const opened = await deps.open({ name: view.name, version: view.version, source: view.sourceRef }, reader, signal)
    return isLeft(opened) ? opened : deps.find(opened.right, reader, signal)
  }

  return async ({ view, licenseKey }: ChosenView, reader: ChartReader, signal: AbortSignal): Outcome<ViewFailure | Failure<'OrderRefused'>, Order> => {
    const choices = choicesOf(view)
    if (isLeft(choices)) return choices
    const authors = new Map<BundleOptionView, Bundle>()
    for (const bundle of new Set(choices.right.map(({ within }) => within))) {
      const author = await authorOf(bundle, reader, signal)
      if (isLeft(author)) return author
      if (author.right !== undefined) authors.set(bundle, author.right)
    }
    const items = bundleSelections(choices.right, authors, licenseKey)
    return isLeft(items) ? items : right(orderOf(deps, view.name, items.right))
  }
}
