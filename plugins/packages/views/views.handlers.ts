import { MemberClustersPort } from '../../../core/clusters/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { makeOpenChart } from '../../../core/packages/charts/chart-cache.ts'
import { ChartSourcePort, ChartTextsPort, ChartToolsPort } from '../../../core/packages/charts/ports.ts'
import { HelmRunnerPort } from '../../../core/packages/releases/ports.ts'
import {
  makeFindBundle,
  makeOrderBundle,
  makeOrderPackage,
  makeViewBundle,
} from '../../../core/packages/views/orders.ts'
import type { ServedFile } from '../../../core/packages/views/packages.ts'
import {
  formatOf,
  makeGetChartFile,
  makeListChartFiles,
  makeViewPackage,
} from '../../../core/packages/views/packages.ts'
import type { RequestedVariant } from '../../../core/packages/views/presets.ts'
import { makeGetChartValues } from '../../../core/packages/views/presets.ts'
import type { Order } from '../../../core/packages/views/types.ts'
import { viewsApiVersion } from '../../../core/packages/views/types.ts'
import type { Binary } from '../../kit/reply.ts'
import { attachment, YamlAnswer } from '../../kit/reply.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import type { ChartSourceFlatRef } from '../codecs.ts'
import { chartRefOf } from '../codecs.ts'
import type { ChartPresetFlatRef } from './codecs.ts'
import type { Order as OrderOut } from './views.routes.ts'
import {
  getBundleView,
  getPackageFile,
  getPackageValues,
  getPackageView,
  listPackageFiles,
  orderBundle,
  orderPackage,
} from './views.routes.ts'

const toOrder = ({ name, uid, createdAt, items }: Order): OrderOut => ({
  apiVersion: viewsApiVersion,
  kind: 'Order',
  metadata: { name, uid, creationTimestamp: createdAt },
  spec: { items: items.map((chart) => ({ chart })) },
  status: {},
})

/** Returns an untrusted file as a download: a browser stores it, and runs nothing of it if it displays it. */
const toDownload = ({ name, contentType, bytes }: ServedFile): Binary => ({
  contentType,
  bytes,
  headers: {
    'Content-Disposition': attachment(name),
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-cache',
  },
})

const toRequested = ({
  group = '',
  resource = '',
  kind = '',
  variant = '',
  namespace = '',
}: ChartPresetFlatRef): RequestedVariant => ({ group, name: resource, kind, variant, namespace })

const chartInput = ({ grant, body }: { readonly grant: AccessGrant; readonly body: ChartSourceFlatRef }) => ({
  grant,
  ref: chartRefOf(body),
})

/** The routes that show charts and bundles, and make orders from them. */
export const viewGroup = defineGroup({
  needs: {
    caches: CachesPort,
    chartSource: ChartSourcePort,
    clock: ClockPort,
    entropy: EntropyPort,
    helm: HelmRunnerPort,
    memberClusters: MemberClustersPort,
    texts: ChartTextsPort,
    tools: ChartToolsPort,
  },
  routes: (given) => {
    const open = makeOpenChart({ source: given.chartSource, clock: given.clock, caches: given.caches })
    const deps = { ...given, open, find: makeFindBundle(given) }
    const answered = async <A extends object>(value: A, format: string | undefined): Promise<A | YamlAnswer> =>
      formatOf(format) === 'yaml' ? new YamlAnswer(await given.texts.print(value as FreeObject)) : value
    return [
      handle(getBundleView, makeViewBundle(deps), {
        input: chartInput,
        reply: (view) => ({ apiVersion: viewsApiVersion, kind: 'BundleView' as const, ...view }),
      }),
      handle(orderBundle, makeOrderBundle(deps), {
        input: ({ grant, body }) => ({ grant, view: body, licenseKey: body.licenseKey }),
        reply: toOrder,
      }),
      handle(getPackageView, makeViewPackage(deps), {
        input: chartInput,
        reply: (view, { query }) =>
          answered({ apiVersion: viewsApiVersion, kind: 'PackageView' as const, ...view }, query.format),
      }),
      handle(listPackageFiles, makeListChartFiles(deps), { input: chartInput }),
      handle(getPackageFile, makeGetChartFile(deps), {
        input: ({ grant, body, params, query }) => ({
          ...chartInput({ grant, body }),
          path: params.path,
          format: formatOf(query.format),
        }),
        reply: toDownload,
      }),
      handle(orderPackage, makeOrderPackage(deps), {
        input: ({ grant, body }) => ({
          ...chartInput({ grant, body }),
          releaseName: body.releaseName,
          namespace: body.namespace,
          values: body.values,
        }),
        reply: toOrder,
      }),
      handle(getPackageValues, makeGetChartValues(deps), {
        input: ({ grant, body }) => ({ ...chartInput({ grant, body }), requested: toRequested(body) }),
        reply: (values, { query }) => answered(values, query.format),
      }),
    ]
  },
})
