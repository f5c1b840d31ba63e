import * as t from 'io-ts'
import type { BundleOptionView, PackageCard } from '../../core/packages/view-types.ts'
import { AnyJson, answer, DateTime, FreeObjectCodec } from '../kit/codecs.ts'

const Icon = t.intersection([t.type({ src: t.string }, 'IconSource'), t.partial({ size: t.string, type: t.string }, 'IconDetails')], 'ImageSpec')
const Contact = t.partial({ name: t.string, url: t.string, email: t.string }, 'ContactData')
const Link = t.partial({ description: t.string, url: t.string }, 'PackageLink')

/** What a person is shown of a chart or bundle. */
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

// io-ts reads an absent key as undefined; what is answered has no such keys.
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

/** A chart's bundle with everything in it, for people to choose from. */
export const BundleView = t.intersection(
  [
    PackageDescriptor,
    t.type({ apiVersion: t.string, kind: t.literal('BundleView'), ...bundleBase }, 'BundleViewBase'),
    t.partial({ features: t.readonlyArray(Feature), licenseKey: t.string }, 'BundleViewDetails'),
  ],
  'BundleView',
)

const ValuesFile = answer({ filename: t.string, values: FreeObjectCodec }, 'ValuesFile')
/** One chart, as its form is made from. */
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
/** What is to be installed, in order. */
export const Order = answer(
  {
    apiVersion: t.string,
    kind: t.literal('Order'),
    metadata: answer({ name: t.string, uid: t.string, creationTimestamp: DateTime }, 'OrderMetadata'),
    spec: answer({ items: t.readonlyArray(answer({ chart: ChartSelection }, 'OrderItem')) }, 'OrderSpec'),
    status: FreeObjectCodec,
  },
  'Order',
)
export type Order = t.TypeOf<typeof Order>
