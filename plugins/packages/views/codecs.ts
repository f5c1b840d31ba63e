import * as t from 'io-ts'
import type { GivenBundle, GivenPackage } from '../../../core/packages/views/selections.ts'
import type { BundleOptionView, PackageCard } from '../../../core/packages/views/types.ts'
import {
  answer,
  AnyJson,
  FreeObjectCodec,
  freeText,
  Instant,
  listOf,
  noted,
  optional,
  PathName,
  PathTail,
  patternText,
  request,
  textLines,
} from '../../kit/codecs.ts'
import { chartSourceProps, Format, Namespace, ReleaseName } from '../codecs.ts'

/** A file of a chart, by its path in the chart. */
export const ChartFilePath = request({ owner: PathName, cluster: PathName, path: PathTail }, 'ChartFilePath')
export const FormatQuery = request({ format: optional(Format) }, 'FormatQuery')

const groupName = patternText(/^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?$/, 253, 'an API group')
/** A chart, and the variant of a resource whose presets override its values. */
export const ChartPresetFlatRef = request(
  {
    ...chartSourceProps,
    group: optional(groupName),
    resource: optional(patternText(/^[a-z0-9-]*$/, 63, 'the plural of a resource, in lower-case letters')),
    kind: optional(patternText(/^(?:[A-Z][A-Za-z0-9]*)?$/, 63, 'a kind')),
    variant: optional(freeText(253)),
    namespace: optional(Namespace),
  },
  'ChartPresetFlatRef',
)
export type ChartPresetFlatRef = t.TypeOf<typeof ChartPresetFlatRef>

/** A chart with the values that override its defaults. */
export const ReleaseRequest = request(
  { ...chartSourceProps, releaseName: optional(ReleaseName), namespace: optional(Namespace), values: optional(FreeObjectCodec) },
  'ReleaseRequest',
)

/** A source. Missing fields have the defaults of the interface. */
const SourceRefIn = request(
  { apiGroup: optional(freeText(253)), kind: optional(freeText(63)), namespace: optional(Namespace), name: freeText(2048, 1) },
  'TypedObjectReference',
)
const VersionOptionIn = request(
  { version: freeText(128), selected: optional(t.boolean), valuesFile: optional(freeText(512)), valuesPatch: optional(AnyJson) },
  'VersionOptionIn',
)
const ChartCardIn = request(
  {
    name: freeText(250, 1),
    sourceRef: SourceRefIn,
    namespace: optional(Namespace),
    versions: listOf(VersionOptionIn, 50, 1),
    multiSelect: optional(t.boolean),
    required: optional(t.boolean),
    selected: optional(t.boolean),
  },
  'ChartCardIn',
)

const bundleProps = (packages: t.Type<readonly GivenPackage[], unknown, unknown>) => ({ name: freeText(250, 1), version: freeText(128), sourceRef: SourceRefIn, packages })
const BundleOptionIn: t.Type<GivenBundle, unknown> = t.recursion('BundleOptionIn', () => request(bundleProps(listOf(PackageIn, 100)), 'BundleOptionIn'))
/** One of the three. Other keys of a view are ignored. */
const PackageIn: t.Type<GivenPackage, unknown> = t.recursion('PackageIn', () =>
  request(
    {
      chart: optional(ChartCardIn),
      bundle: optional(BundleOptionIn),
      oneOf: optional(request({ description: optional(textLines(4096)), bundles: listOf(BundleOptionIn, 20) }, 'OneOfIn')),
    },
    'PackageIn',
  ),
)
/** A bundle view with choices made: `selected` marks the charts and versions. */
export const BundleViewIn = request({ ...bundleProps(listOf(PackageIn, 100)), licenseKey: optional(textLines(64 * 1024)) }, 'BundleViewIn')

const Icon = t.intersection([t.type({ src: t.string }, 'IconSource'), t.partial({ size: t.string, type: t.string }, 'IconDetails')], 'ImageSpec')
const Contact = t.partial({ name: t.string, url: t.string, email: t.string }, 'ContactData')
const Link = t.partial({ description: t.string, url: t.string }, 'PackageLink')

/** The description of a chart or bundle for users. */
const PackageDescriptor = t.partial(
  {
    type: t.string,
    description: t.string,
    icons: t.readonlyArray(Icon),
    maintainers: t.readonlyArray(Contact),
    keywords: t.readonlyArray(t.string),
    links: t.readonlyArray(Link),
    notes: t.string,
  },
  'PackageDescriptor',
)

const SourceReference = answer({ apiGroup: t.string, kind: t.string, namespace: t.string, name: t.string }, 'SourceReference')
const versioned = { name: t.string, version: t.string, sourceRef: SourceReference }
const ChartSourceRef = answer(versioned, 'ChartSourceRef')

const VersionOption = t.intersection(
  [t.type({ version: t.string }, 'VersionName'), t.partial({ selected: t.boolean, valuesFile: t.string, valuesPatch: AnyJson }, 'VersionDetails')],
  'VersionOption',
)
const ChartCard = t.intersection(
  [
    PackageDescriptor,
    t.type({ name: t.string, sourceRef: SourceReference, versions: t.readonlyArray(VersionOption) }, 'ChartCardBase'),
    t.partial({ features: t.readonlyArray(t.string), namespace: t.string, multiSelect: t.boolean, required: t.boolean, selected: t.boolean }, 'ChartCardDetails'),
  ],
  'ChartCard',
)
const Feature = answer({ trait: t.string, value: t.string }, 'PackageFeature')

// io-ts reads an absent key as undefined. Answers have no such keys.
const asAnswered = <A>(codec: t.Any): t.Type<A, unknown> => codec as t.Type<A, unknown>

const PackageCardOut: t.Type<PackageCard, unknown> = t.recursion('PackageCard', () =>
  asAnswered<PackageCard>(
    t.union(
      [
        t.type({ chart: ChartCard }, 'ChartPackage'),
        t.type({ bundle: BundleOption }, 'BundlePackage'),
        t.type({ oneOf: t.type({ description: t.string, bundles: t.readonlyArray(BundleOption) }, 'OneOfBundles') }, 'OneOfPackage'),
      ],
      'PackageCard',
    ),
  ),
)
const bundleBase = { ...versioned, displayName: t.string, packages: t.readonlyArray(PackageCardOut) }
const BundleOption: t.Type<BundleOptionView, unknown> = t.recursion('BundleOptionView', () =>
  asAnswered<BundleOptionView>(
    t.intersection([PackageDescriptor, t.type(bundleBase, 'BundleOptionBase'), t.partial({ features: t.readonlyArray(Feature) }, 'BundleFeatures')], 'BundleOptionView'),
  ),
)

/** A bundle with all its contents, for users to choose from. */
export const BundleView = t.intersection(
  [
    PackageDescriptor,
    t.type({ apiVersion: t.string, kind: t.literal('BundleView'), ...bundleBase }, 'BundleViewBase'),
    t.partial({ features: t.readonlyArray(Feature), licenseKey: t.string }, 'BundleViewDetails'),
  ],
  'BundleView',
)

const ValuesFile = answer({ filename: t.string, values: FreeObjectCodec }, 'ValuesFile')
/** A chart with the data that its form is built from. */
export const PackageView = t.intersection(
  [
    PackageDescriptor,
    t.type({ apiVersion: t.string, kind: t.literal('PackageView'), ...versioned }, 'PackageViewBase'),
    t.partial({ valuesFiles: t.readonlyArray(ValuesFile), openAPIV3Schema: FreeObjectCodec }, 'PackageViewDetails'),
  ],
  'PackageView',
)

const ChartSelection = t.intersection(
  [
    t.type(
      {
        ...versioned,
        releaseName: t.string,
        namespace: t.string,
        bundle: t.union([ChartSourceRef, t.null]),
        resources: t.union([FreeObjectCodec, t.null]),
        waitFors: t.union([t.readonlyArray(FreeObjectCodec), t.null]),
      },
      'ChartSelectionBase',
    ),
    t.partial({ valuesFile: t.string, valuesPatch: AnyJson }, 'ChartSelectionDetails'),
  ],
  'ChartSelection',
)
/** An instant in the format of Kubernetes: without fractions of a second. */
const WholeSecond = noted(
  new t.Type<Date, string, unknown>(Instant.name, Instant.is, Instant.validate, (at) => Instant.encode(at).replace(/\.\d+Z$/, 'Z')),
  { type: 'string', format: 'date-time' },
)
/** The charts to install, in order. */
export const Order = answer(
  {
    apiVersion: t.string,
    kind: t.literal('Order'),
    metadata: answer({ name: t.string, uid: t.string, creationTimestamp: WholeSecond }, 'OrderMetadata'),
    spec: answer({ items: t.readonlyArray(answer({ chart: ChartSelection }, 'OrderItem')) }, 'OrderSpec'),
    status: FreeObjectCodec,
  },
  'Order',
)
export type Order = t.TypeOf<typeof Order>

const sourceRef = { apiGroup: 'source.toolkit.fluxcd.io', kind: 'HelmRepository', namespace: 'kubeops', name: 'harbour' }

export const sourceExample = { name: 'ferry', version: '1.4.0', sourceKind: 'HelmRepository', sourceNamespace: 'kubeops', sourceName: 'harbour' }
export const presetExample = { ...sourceExample, group: 'apps', resource: 'deployments', kind: 'Deployment', variant: 'small', namespace: 'shop' }
export const packageOrderExample = { ...sourceExample, releaseName: 'ferry', namespace: 'shop', values: { replicas: 3 } }

const descriptor = {
  description: 'Ferries between the shores',
  icons: [{ src: 'https://charts.example.com/ferry.png', type: 'image/png' }],
  maintainers: [{ name: 'The harbour master', email: 'harbour@example.com' }],
  keywords: ['ferry'],
  links: [{ description: 'website', url: 'https://example.com/ferry' }],
}

export const packageViewExample = {
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
export const bundleViewExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'BundleView',
  description: 'All that a harbour needs',
  ...fleet,
  displayName: 'Fleet',
  features: [{ trait: 'Boats', value: '3' }],
  packages: [ferryCard, { oneOf: { description: 'A lighthouse', bundles: [{ name: 'tall-light', version: '1.0.0', sourceRef, displayName: 'Tall Light', packages: [] }] } }],
}
/** The same view with choices made, limited to the fields that are read. */
export const chosenViewExample = {
  ...fleet,
  packages: [{ chart: { name: 'ferry', sourceRef, namespace: 'shop', versions: [{ version: '1.4.0', selected: true }, { version: '1.3.2' }], multiSelect: false, required: true, selected: true } }],
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
export const orderExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'Order',
  metadata: { name: 'fleet', uid: '4f0a1e52-6a0b-4d55-9f5e-0a7c2b1d9e10', creationTimestamp: '2026-05-01T08:00:00Z' },
  spec: { items: [{ chart: selection }] },
  status: {},
}
