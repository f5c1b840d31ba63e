import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { VariantWish } from '../../../core/packages/views/presets.ts'
import { withPresets, findPresets } from '../../../core/packages/views/presets.ts'
import type { FetchedChart } from '../../../core/packages/charts/ports.ts'
import { makeFindBundle, makeOrderBundle, makeOrderPackage, makeViewBundle } from '../../../core/packages/views/orders.ts'
import { makeOpenChart, type ChartReader } from '../../../core/packages/charts/chart-cache.ts'
import type { ServedFile } from '../../../core/packages/views/packages.ts'
import { fileNames, formatOf, servedFile, packageView } from '../../../core/packages/views/packages.ts'
import { OrderRefused } from '../../../core/packages/views/ports.ts'
import { viewsApiVersion, type Order } from '../../../core/packages/views/types.ts'
import { YamlAnswer, type Binary } from '../../kit/reply.ts'
import { handle, type BoundRoute } from '../../kit/route.ts'
import { chartRefOf, type ChartSourceFlatRef } from '../codecs.ts'
import type { PackagesGiven } from '../needs.ts'
import type { Order as OrderOut } from './codecs.ts'
import { isUnambiguous, toBundle, type ChartPresetFlatRef } from './codecs.ts'
import { getBundleView, getPackageFile, getPackageValues, getPackageView, listPackageFiles, orderBundle, orderPackage } from './views.routes.ts'

const toOrder = ({ name, uid, createdAt, items }: Order): OrderOut => ({
  apiVersion: viewsApiVersion,
  kind: 'Order',
  // The format of Kubernetes: instants without fractions of a second.
  metadata: { name, uid, creationTimestamp: createdAt.toISOString().replace(/\.\d+Z$/, 'Z') },
  spec: { items: items.map((chart) => ({ chart })) },
  status: {},
})

/** Returns an untrusted file as a download: a browser stores it, and runs nothing of it if it displays it. */
const toDownload = ({ name, contentType, bytes }: ServedFile): Binary => ({
  contentType,
  bytes,
  headers: {
    'Content-Disposition': `attachment; filename="${name.replace(/[^A-Za-z0-9._-]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-cache',
  },
})

const toWish = ({ group = '', resource = '', kind = '', variant = '', namespace = '' }: ChartPresetFlatRef): VariantWish => ({ group, name: resource, kind, variant, namespace })

/** The routes that show charts and bundles, and make orders from them. */
export const viewHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const open = makeOpenChart({ source: given.chartSource, clock: given.clock, caches: given.caches })
  const find = makeFindBundle({ texts: given.chartTexts, tools: given.chartTools, helm: given.helm })
  const deps = { open, find, clock: given.clock, entropy: given.entropy }
  const viewBundle = makeViewBundle(deps)
  const makeBundleOrder = makeOrderBundle(deps)
  const makePackageOrder = makeOrderPackage(deps)

  const readerOf = async (call: SignedInCall, grant: AccessGrant): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, ChartReader> => {
    const cluster = await given.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : right({ cluster: cluster.right, userId: call.principal.userId })
  }

  /** Applies `make` to the chart that a request names. */
  const withChart = async <F extends Failure, A>(
    { call, grant, body }: { readonly call: SignedInCall; readonly grant: AccessGrant; readonly body: ChartSourceFlatRef },
    make: (fetched: FetchedChart, reader: ChartReader) => Promise<Either<F, A>> | Either<F, A>,
  ) => {
    const reader = await readerOf(call, grant)
    if (isLeft(reader)) return reader
    const fetched = await open(chartRefOf(body), reader.right, call.signal)
    return isLeft(fetched) ? fetched : make(fetched.right, reader.right)
  }

  const answered = async <A extends object>(value: A, format: string | undefined) =>
    right(formatOf(format) === 'yaml' ? new YamlAnswer(await given.chartTexts.print(value as unknown as FreeObject)) : value)

  return [
    handle(getBundleView, async ({ call, grant, body }) => {
      const reader = await readerOf(call, grant)
      if (isLeft(reader)) return reader
      const view = await viewBundle(chartRefOf(body), reader.right, call.signal)
      return isLeft(view) ? view : right({ apiVersion: viewsApiVersion, kind: 'BundleView' as const, ...view.right })
    }),
    handle(orderBundle, async ({ call, grant, body }) => {
      if (!isUnambiguous(body)) return left(OrderRefused('packages: each must have exactly one of chart, bundle and oneOf.'))
      const reader = await readerOf(call, grant)
      if (isLeft(reader)) return reader
      const order = await makeBundleOrder({ view: toBundle(body), licenseKey: body.licenseKey }, reader.right, call.signal)
      return isLeft(order) ? order : right(toOrder(order.right))
    }),
    handle(getPackageView, (input) =>
      withChart(input, async (fetched) => {
        const view = await packageView(given.chartTexts, fetched)
        return isLeft(view) ? view : answered({ apiVersion: viewsApiVersion, kind: 'PackageView' as const, ...view.right }, input.query.format)
      }),
    ),
    handle(listPackageFiles, (input) => withChart(input, ({ chart }) => right(fileNames(chart)))),
    handle(getPackageFile, (input) =>
      withChart(input, async ({ chart }) => {
        const file = await servedFile(given.chartTexts, chart, input.params.path, formatOf(input.query.format))
        return isLeft(file) ? file : right(toDownload(file.right))
      }),
    ),
    handle(orderPackage, async ({ call, grant, body }) => {
      const reader = await readerOf(call, grant)
      if (isLeft(reader)) return reader
      const wish = { ref: chartRefOf(body), releaseName: body.releaseName, namespace: body.namespace, values: body.values }
      const order = await makePackageOrder(wish, reader.right, call.signal)
      return isLeft(order) ? order : right(toOrder(order.right))
    }),
    handle(getPackageValues, (input) =>
      withChart(input, async ({ chart }, { cluster }) => {
        if ((input.body.variant ?? '') === '') return answered(chart.values, input.query.format)
        const presets = await findPresets(cluster, toWish(input.body), input.call.signal)
        return isLeft(presets) ? presets : answered(withPresets(chart.values, presets.right), input.query.format)
      }),
    ),
  ]
}
