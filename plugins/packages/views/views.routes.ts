import * as t from 'io-ts'
import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../../core/clusters/ports.ts'
import { ChartMissing, ChartRefused, ChartSourceRefused, ChartSourceUnreachable } from '../../../core/packages/charts/ports.ts'
import { HelmBusy, HelmMissing, HelmRefused, HelmStopped } from '../../../core/packages/releases/ports.ts'
import { servedTypes } from '../../../core/packages/views/packages.ts'
import { ChartFileMissing, FormatRefused, OrderRefused, PresetsRefused, VariantMissing } from '../../../core/packages/views/ports.ts'
import { read, requires, write } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { binary, json, orYaml } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { ChartSourceFlatRef, clusterInPath, ClusterPath } from '../codecs.ts'
import { BundleView, Order, PackageView, BundleViewIn, ChartFilePath, ChartOrder, ChartPresetFlatRef, FormatQuery } from './codecs.ts'
import { bundleViewExample, chosenViewExample, orderExample, packageOrderExample, packageViewExample, presetExample, sourceExample } from './examples.ts'

const clusterFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused] as const
const chartFailures = [...clusterFailures, ChartMissing, ChartRefused, ChartSourceRefused, ChartSourceUnreachable] as const
const bundleFailures = [...chartFailures, HelmBusy, HelmMissing, HelmRefused, HelmStopped] as const

const prefix = '/clusters/{owner}/{cluster}/helm'
const common = { tag: 'Helm', access: requires('can_connect', clusterInPath) } as const
const reading = { ...common, scope: read('cluster'), params: ClusterPath } as const
const ordering = { ...common, scope: write('cluster'), params: ClusterPath } as const
const fromQuery = { orQuery: true } as const

export const getBundleView = defineRoute({
  ...reading,
  id: 'packages.getBundleView',
  method: 'GET',
  path: `${prefix}/bundleview`,
  summary: 'Get the view of a chart or of its bundle',
  description: 'A chart that renders to a `Bundle` is expanded with all charts that it names; any other chart is returned as a bundle of one chart.',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  ok: json(200, BundleView, bundleViewExample),
  failures: bundleFailures,
})

export const orderBundle = defineRoute({
  ...ordering,
  id: 'packages.orderBundle',
  method: 'POST',
  path: `${prefix}/bundleview/orders`,
  summary: 'Create an order from the choices of a bundle view',
  description: 'Returns one item for each chosen version of each chart that is required or selected. Nothing is installed or stored.',
  body: body(BundleViewIn, chosenViewExample),
  ok: json(200, Order, orderExample),
  failures: [...bundleFailures, OrderRefused],
})

export const getPackageView = defineRoute({
  ...reading,
  id: 'packages.getPackageView',
  method: 'GET',
  path: `${prefix}/packageview`,
  summary: 'Get the metadata of a chart, its values and their schema',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  query: FormatQuery,
  ok: orYaml(json(200, PackageView, packageViewExample)),
  failures: chartFailures,
})

export const listPackageFiles = defineRoute({
  ...reading,
  id: 'packages.listPackageFiles',
  method: 'GET',
  path: `${prefix}/packageview/files`,
  summary: 'List the files of a chart',
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  ok: json(200, t.readonlyArray(t.string), ['Chart.yaml', 'README.md', 'templates/deployment.yaml', 'values.yaml']),
  failures: chartFailures,
})

export const getPackageFile = defineRoute({
  ...reading,
  id: 'packages.getPackageFile',
  method: 'GET',
  path: `${prefix}/packageview/files/*`,
  summary: 'Get one file of a chart',
  description: 'Always as a download. `format=json` and `format=yaml` convert between YAML and JSON.',
  params: ChartFilePath,
  body: body(ChartSourceFlatRef, sourceExample, fromQuery),
  query: FormatQuery,
  ok: binary(servedTypes),
  failures: [...chartFailures, ChartFileMissing, FormatRefused],
})

export const orderPackage = defineRoute({
  ...ordering,
  id: 'packages.orderPackage',
  method: 'POST',
  path: `${prefix}/packageview/orders`,
  summary: 'Create an order of one chart',
  description: '`values` are the differences from the defaults of the chart. Nothing is installed or stored.',
  body: body(ChartOrder, packageOrderExample),
  ok: json(200, Order, orderExample),
  failures: [...chartFailures, OrderRefused],
})

export const getPackageValues = defineRoute({
  ...reading,
  id: 'packages.getPackageValues',
  method: 'GET',
  path: `${prefix}/packageview/values`,
  summary: 'Get the values of a chart, with the presets of a variant',
  description: 'Without `variant`, returns the defaults of the chart. With `variant`, the selected ClusterChartPresets are merged over them, then the ChartPresets of `namespace`; a ChartPreset replaces the ClusterChartPreset with the same name.',
  body: body(ChartPresetFlatRef, presetExample, fromQuery),
  query: FormatQuery,
  ok: orYaml(json(200, FreeObjectCodec, { replicas: 1 })),
  failures: [...chartFailures, PresetsRefused, VariantMissing],
})
