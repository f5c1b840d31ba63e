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
import { AnyJson, FreeObjectCodec, Instant, answer, described, noted } from '../../kit/codecs.ts'
import { binary, json, orYaml, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { ChartSourceFlatRef, ClusterPath, clusterInPath } from '../codecs.ts'
import {
  BundleView,
  BundleViewIn,
  ChartFilePath,
  ChartPresetFlatRef,
  FormatQuery,
  PackageView,
  ReleaseRequest,
  versioned,
} from './codecs.ts'

const sourceRef = {
  apiGroup: 'source.toolkit.fluxcd.io',
  kind: 'HelmRepository',
  namespace: 'kubeops',
  name: 'harbour',
}

const sourceExample = {
  name: 'ferry',
  version: '1.4.0',
  sourceKind: 'HelmRepository',
  sourceNamespace: 'kubeops',
  sourceName: 'harbour',
}
const presetExample = {
  ...sourceExample,
  group: 'apps',
  resource: 'deployments',
  kind: 'Deployment',
  variant: 'small',
  namespace: 'shop',
}
const packageOrderExample = {
  ...sourceExample,
  releaseName: 'ferry',
  namespace: 'shop',
  values: { replicas: 3 },
}

const descriptor = {
  description: 'Ferries between the shores',
  icons: [{ src: 'https://charts.example.com/ferry.png', type: 'image/png' }],
  maintainers: [{ name: 'The harbour master', email: 'harbour@example.com' }],
  keywords: ['ferry'],
  links: [{ description: 'website', url: 'https://example.com/ferry' }],
}

const packageViewExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'PackageView',
  ...descriptor,
  name: 'ferry',
  version: '1.4.0',
  sourceRef,
  valuesFiles: [{ filename: 'values.yaml', values: { replicas: 1 } }],
  openAPIV3Schema: { type: 'object', properties: { replicas: { type: 'integer' } } },
}

const ferryCard = {
  chart: {
    name: 'ferry',
    sourceRef,
    ...descriptor,
    features: ['Two decks'],
    namespace: 'shop',
    versions: [{ version: '1.4.0', selected: true }, { version: '1.3.2' }],
    multiSelect: false,
    required: true,
    selected: true,
  },
}

const fleet = { name: 'fleet', version: '2.0.0', sourceRef }
const bundleViewExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'BundleView',
  description: 'All that a harbour needs',
  ...fleet,
  displayName: 'Fleet',
  features: [{ trait: 'Boats', value: '3' }],
  packages: [
    ferryCard,
    {
      oneOf: {
        description: 'A lighthouse',
        bundles: [{ name: 'tall-light', version: '1.0.0', sourceRef, displayName: 'Tall Light', packages: [] }],
      },
    },
  ],
}
/** The same view with choices made, limited to the fields that are read. */
const chosenViewExample = {
  ...fleet,
  packages: [
    {
      chart: {
        name: 'ferry',
        sourceRef,
        namespace: 'shop',
        versions: [{ version: '1.4.0', selected: true }, { version: '1.3.2' }],
        multiSelect: false,
        required: true,
        selected: true,
      },
    },
  ],
  licenseKey: '',
}

const selection = {
  name: 'ferry',
  version: '1.4.0',
  sourceRef,
  releaseName: 'ferry',
  namespace: 'shop',
  bundle: fleet,
  valuesFile: 'values.yaml',
  valuesPatch: [{ op: 'replace', path: '/replicas', value: 3 }],
  resources: null,
  waitFors: null,
}
const orderExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'Order',
  metadata: { name: 'fleet', uid: '4f0a1e52-6a0b-4d55-9f5e-0a7c2b1d9e10', creationTimestamp: '2026-05-01T08:00:00Z' },
  spec: { items: [{ chart: selection }] },
  status: {},
}

const ChartSourceRef = answer(versioned, 'ChartSourceRef')

const chartSelectionProps = {
  ...versioned,
  releaseName: described(t.string, 'The name of the release to create.'),
  namespace: described(t.string, 'The namespace of the release.'),
  bundle: described(
    t.union([ChartSourceRef, t.null]),
    'The bundle to which the chart belongs; null for a single chart.',
  ),
  resources: described(
    t.union([FreeObjectCodec, t.null]),
    'The resources that the chart provides and needs, as its bundle states them; null if it states none.',
  ),
  waitFors: described(
    t.union([t.readonlyArray(FreeObjectCodec), t.null]),
    'What the installation has to wait for, as its bundle states it; null if it states nothing.',
  ),
}
const ChartSelection = t.intersection(
  [
    t.type(chartSelectionProps, 'ChartSelectionBase'),
    t.partial(
      {
        valuesFile: described(t.string, 'The file of the chart whose values are the base; absent means `values.yaml`.'),
        valuesPatch: described(AnyJson, 'The operations (RFC 6902) that change these values; absent means none.'),
      },
      'ChartSelectionDetails',
    ),
  ],
  'ChartSelection',
)
/** An instant in the format of Kubernetes: without fractions of a second. */
const WholeSecond = noted(
  new t.Type<Date, string, unknown>(Instant.name, Instant.is, Instant.validate, (at) =>
    Instant.encode(at).replace(/\.\d+Z$/, 'Z'),
  ),
  { type: 'string', format: 'date-time' },
)
const OrderMetadata = described(
  answer(
    {
      name: described(t.string, 'The name of the order: that of the bundle or of the release.'),
      uid: described(t.string, 'The id of the order, a new UUID; nothing is stored under it.'),
      creationTimestamp: described(WholeSecond, 'The time of the order, RFC 3339 in whole seconds.'),
    },
    'OrderMetadata',
  ),
  'The name, the id and the time of the order.',
)
const OrderItem = answer(
  {
    chart: described(ChartSelection, 'The chart to install, as one release.'),
  },
  'OrderItem',
)
const OrderSpec = described(
  answer(
    {
      items: described(
        t.readonlyArray(OrderItem),
        'The releases to create, in the order of their installation, at most 200.',
      ),
    },
    'OrderSpec',
  ),
  'What is to be installed.',
)
/** The charts to install, in order. */
export const Order = answer(
  {
    apiVersion: described(t.string, 'The version of the format, always `releases.x-helm.dev/v1alpha1`.'),
    kind: described(t.literal('Order'), 'The kind of the object.'),
    metadata: OrderMetadata,
    spec: OrderSpec,
    status: described(FreeObjectCodec, 'Always an empty object.'),
  },
  'Order',
)
export type Order = t.TypeOf<typeof Order>

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
