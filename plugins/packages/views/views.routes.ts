import * as t from 'io-ts'
import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
} from '../../../core/clusters/ports.ts'
import {
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
} from '../../../core/packages/charts/ports.ts'
import { HelmBusy, HelmMissing, HelmRefused, HelmStopped } from '../../../core/packages/releases/ports.ts'
import { servedTypes } from '../../../core/packages/views/packages.ts'
import {
  ChartFileMissing,
  FormatRefused,
  OrderRefused,
  PresetsRefused,
  VariantMissing,
} from '../../../core/packages/views/types.ts'
import { requires } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { binary, json, orYaml, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { ChartSourceFlatRef, clusterInPath, ClusterPath } from '../codecs.ts'
import {
  BundleView,
  PackageView,
  BundleViewIn,
  ChartFilePath,
  ReleaseRequest,
  ChartPresetFlatRef,
  FormatQuery,
} from './codecs.ts'
import { Order } from './order-codecs.ts'
import {
  bundleViewExample,
  chosenViewExample,
  orderExample,
  packageOrderExample,
  packageViewExample,
  presetExample,
  sourceExample,
} from './view-examples.ts'

const clusterFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused] as const
const chartFailures = [
  ...clusterFailures,
  ChartMissing,
  ChartRefused,
  ChartSourceRefused,
  ChartSourceUnreachable,
] as const
const bundleFailures = [...chartFailures, HelmBusy, HelmMissing, HelmRefused, HelmStopped] as const

const prefix = '/clusters/{owner}/{cluster}/helm'
const common = {
  tag: 'Helm',
  access: requires('can_connect', clusterInPath),
  scopeCategory: 'cluster',
  params: ClusterPath,
} as const
const chartRoute = routesOf({ ...common, failures: chartFailures })
const bundleRoute = routesOf({ ...common, failures: bundleFailures })
const fromQuery = { orQuery: true } as const

export const getBundleView = bundleRoute({
  id: 'packages.getBundleView',
  method: 'GET',
  path: `${prefix}/bundleview`,
  summary: 'Get the view of a chart or of its bundle',
  description:
    'A chart that renders to a `Bundle` is expanded with all charts that it names; any other chart is ' +
    'returned as a bundle of one chart.',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  ok: json(200, BundleView, bundleViewExample),
})

export const orderBundle = bundleRoute({
  id: 'packages.orderBundle',
  method: 'POST',
  path: `${prefix}/bundleview/orders`,
  summary: 'Create an order from the choices of a bundle view',
  description:
    'Returns one item for each chosen version of each chart that is required or selected. Nothing is ' +
    'installed or stored.',
  body: body(BundleViewIn, chosenViewExample),
  ok: json(200, Order, orderExample),
  failures: [OrderRefused],
})

export const getPackageView = chartRoute({
  id: 'packages.getPackageView',
  method: 'GET',
  path: `${prefix}/packageview`,
  summary: 'Get the metadata of a chart, its values and their schema',
  description:
    'What the form of the chart needs. The chart is fetched from its source. JSON, or YAML with `format=yaml`.',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  query: FormatQuery,
  ok: orYaml(json(200, PackageView, packageViewExample)),
})

export const listPackageFiles = chartRoute({
  id: 'packages.listPackageFiles',
  method: 'GET',
  path: `${prefix}/packageview/files`,
  summary: 'List the files of a chart',
  description:
    'The paths of all files in the archive of the chart, those of subcharts included, in alphabetical order.',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  ok: packed(
    json(200, t.readonlyArray(t.string), ['Chart.yaml', 'README.md', 'templates/deployment.yaml', 'values.yaml']),
  ),
})

export const getPackageFile = chartRoute({
  id: 'packages.getPackageFile',
  method: 'GET',
  path: `${prefix}/packageview/files/*`,
  summary: 'Get one file of a chart',
  description: 'Always as a download. `format=json` and `format=yaml` convert between YAML and JSON.',
  params: ChartFilePath,
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  query: FormatQuery,
  ok: binary(servedTypes),
  failures: [ChartFileMissing, FormatRefused],
})

export const orderPackage = chartRoute({
  id: 'packages.orderPackage',
  method: 'POST',
  path: `${prefix}/packageview/orders`,
  summary: 'Create an order of one chart',
  description: '`values` are the differences from the defaults of the chart. Nothing is installed or stored.',
  body: body(ReleaseRequest, packageOrderExample),
  ok: json(200, Order, orderExample),
  failures: [OrderRefused],
})

export const getPackageValues = chartRoute({
  id: 'packages.getPackageValues',
  method: 'GET',
  path: `${prefix}/packageview/values`,
  summary: 'Get the values of a chart, with the presets of a variant',
  description:
    'Without `variant`, returns the defaults of the chart. With `variant`, the selected ' +
    'ClusterChartPresets are merged over them, then the ChartPresets of `namespace`; a ChartPreset ' +
    'replaces the ClusterChartPreset with the same name.',
  body: body(ChartPresetFlatRef, presetExample, fromQuery),
  query: FormatQuery,
  ok: orYaml(json(200, FreeObjectCodec, { replicas: 1 })),
  failures: [PresetsRefused, VariantMissing],
})
