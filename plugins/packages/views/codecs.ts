import * as t from 'io-ts'
import type { GivenBundle, GivenPackage } from '../../../core/packages/views/selections.ts'
import type { BundleOptionView, PackageCard } from '../../../core/packages/views/types.ts'
import {
  answer,
  AnyJson,
  described,
  FreeObjectCodec,
  freeText,
  listOf,
  naming,
  optional,
  PathTail,
  patternText,
  plainValue,
  request,
  textLines,
} from '../../kit/codecs.ts'
import { chartSourceProps, Format, inCluster, Namespace, ReleaseName } from '../codecs.ts'

/** A file of a chart, by its path in the chart. */
export const ChartFilePath = request(
  {
    ...inCluster,
    path: described(
      naming(PathTail, 'chart file', 'path'),
      'The path of the file in the chart, with its slashes, at most 1,024 characters.',
    ),
  },
  'ChartFilePath',
)
export const FormatQuery = request(
  {
    format: described(
      optional(plainValue(Format)),
      'The format of the answer: `json` or `yaml`; any other value selects the default of the route.',
    ),
  },
  'FormatQuery',
)

const groupName = patternText(/^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?$/, 253, 'an API group')
/** A chart, and the variant of a resource whose presets override its values. */
export const ChartPresetFlatRef = request(
  {
    ...chartSourceProps,
    group: described(
      optional(groupName),
      'The API group of the resource; the core group if it is absent, empty or `core`.',
    ),
    resource: described(
      optional(patternText(/^[a-z0-9-]*$/, 63, 'the plural of a resource, in lower-case letters')),
      'The plural of the resource, as `deployments`; empty or absent if `kind` names the resource.',
    ),
    kind: described(
      optional(patternText(/^(?:[A-Z][A-Za-z0-9]*)?$/, 63, 'a kind')),
      'The kind of the resource; empty or absent if `resource` names it.',
    ),
    variant: described(
      optional(freeText(253)),
      'The variant of the resource whose presets override the values; the defaults of the chart if it is absent ' +
        'or empty.',
    ),
    namespace: described(
      optional(Namespace),
      'The namespace whose ChartPresets are used, too; only those of the cluster if it is absent or empty.',
    ),
  },
  'ChartPresetFlatRef',
)
export type ChartPresetFlatRef = t.TypeOf<typeof ChartPresetFlatRef>

/** A chart with the values that override its defaults. */
export const ReleaseRequest = request(
  {
    ...chartSourceProps,
    releaseName: described(
      optional(ReleaseName),
      'The name of the release to create; the name of the chart by default.',
    ),
    namespace: described(optional(Namespace), 'The namespace of the release; `default` if it is absent or empty.'),
    values: described(
      optional(FreeObjectCodec),
      'The values that differ from the defaults of the chart; none by default.',
    ),
  },
  'ReleaseRequest',
)

/** A source. Missing fields have the defaults of the interface. */
const SourceRefIn = described(
  request(
    {
      apiGroup: described(
        optional(freeText(253)),
        'The API group of the source; `source.toolkit.fluxcd.io` if it is absent or empty.',
      ),
      kind: described(optional(freeText(63)), 'The kind of the source; `HelmRepository` if it is absent or empty.'),
      namespace: described(optional(Namespace), 'The namespace of the object that is the source; empty by default.'),
      name: described(freeText(2048, 1), 'The name of the source, or its address, 1 to 2,048 characters.'),
    },
    'TypedObjectReference',
  ),
  'Where the chart comes from.',
)
const VersionOptionIn = request(
  {
    version: described(freeText(128), 'The version of the chart.'),
    selected: described(
      optional(t.boolean),
      'Whether the version is chosen; false by default. A single version is always chosen.',
    ),
    valuesFile: described(
      optional(freeText(512)),
      'The file of the chart whose values are the base; `values.yaml` if it is absent or empty.',
    ),
    valuesPatch: described(optional(AnyJson), 'The operations (RFC 6902) that change these values; none by default.'),
  },
  'VersionOptionIn',
)
const ChartCardIn = request(
  {
    name: described(freeText(250, 1), 'The name of the chart.'),
    sourceRef: SourceRefIn,
    namespace: described(
      optional(Namespace),
      'The namespace of its releases; if it is absent or empty, that of the bundle, or `default`.',
    ),
    versions: described(listOf(VersionOptionIn, 50, 1), 'The versions of the chart, 1 to 50.'),
    multiSelect: described(optional(t.boolean), 'Whether several versions may be chosen; false by default.'),
    required: described(optional(t.boolean), 'Whether the chart is always part of the order; false by default.'),
    selected: described(optional(t.boolean), 'Whether the chart is chosen; false by default.'),
  },
  'ChartCardIn',
)

const bundleProps = (packages: t.Type<readonly GivenPackage[], unknown, unknown>) => ({
  name: described(freeText(250, 1), 'The name of the chart that contains the bundle.'),
  version: described(freeText(128), 'The version of that chart.'),
  sourceRef: SourceRefIn,
  packages: described(packages, 'The packages of the bundle, at most 100.'),
})
const BundleOptionIn: t.Type<GivenBundle, unknown> = t.recursion('BundleOptionIn', () =>
  request(bundleProps(listOf(PackageIn, 100)), 'BundleOptionIn'),
)
const OneOfIn = request(
  {
    description: described(optional(textLines(4096)), 'What is to be chosen, for people; ignored.'),
    bundles: described(listOf(BundleOptionIn, 20), 'The bundles to choose from, at most 20.'),
  },
  'OneOfIn',
)
/** One of the three. Other keys of a view are ignored. */
const PackageIn: t.Type<GivenPackage, unknown> = t.recursion('PackageIn', () =>
  request(
    {
      chart: described(optional(ChartCardIn), 'A chart with its versions; absent for a package of another kind.'),
      bundle: described(optional(BundleOptionIn), 'A bundle within the bundle; absent for a package of another kind.'),
      oneOf: described(
        optional(OneOfIn),
        'Bundles of which one is to be chosen; it must be replaced by `bundle` before an order. Absent for a ' +
          'package of another kind.',
      ),
    },
    'PackageIn',
  ),
)
/** A bundle view with choices made: `selected` marks the charts and versions. */
export const BundleViewIn = request(
  {
    ...bundleProps(listOf(PackageIn, 100)),
    licenseKey: described(
      optional(textLines(64 * 1024)),
      'The license key for charts that take one, at most 65,536 characters; none if it is absent or empty.',
    ),
  },
  'BundleViewIn',
)

const Icon = t.intersection(
  [
    t.type(
      {
        src: described(
          t.string,
          'The address of the picture, or the picture in a `data:` address; this service does not fetch it.',
        ),
      },
      'IconSource',
    ),
    t.partial(
      {
        size: described(t.string, 'The size of the picture, as its author states it; absent if it is not known.'),
        type: described(t.string, 'The media type of the picture; absent if it is not known.'),
      },
      'IconDetails',
    ),
  ],
  'ImageSpec',
)
const Contact = t.partial(
  {
    name: described(t.string, 'The name of the person; absent if it is not stated.'),
    url: described(t.string, 'The web address of the person; absent if it is not stated.'),
    email: described(t.string, 'The email address of the person; absent if it is not stated.'),
  },
  'ContactData',
)
const Link = t.partial(
  {
    description: described(t.string, 'What the page is, as `website` or `source`.'),
    url: described(t.string, 'The web address of the page.'),
  },
  'PackageLink',
)

/** The description of a chart or bundle for users. */
const PackageDescriptor = t.partial(
  {
    type: described(t.string, 'The type of the chart, as `application`; absent if it is not stated.'),
    description: described(t.string, 'What the package is, for people; absent if it is not stated.'),
    icons: described(t.readonlyArray(Icon), 'The icons of the package; absent if there are none.'),
    maintainers: described(t.readonlyArray(Contact), 'The people who maintain the package; absent if there are none.'),
    keywords: described(t.readonlyArray(t.string), 'The keywords of the package; absent if there are none.'),
    links: described(t.readonlyArray(Link), 'Pages about the package; absent if there are none.'),
    notes: described(t.string, 'Notes for people; absent if there are none.'),
  },
  'PackageDescriptor',
)

const SourceReference = described(
  answer(
    {
      apiGroup: described(t.string, 'The API group of the source.'),
      kind: described(t.string, 'The kind of the source.'),
      namespace: described(
        t.string,
        'The namespace of the object that is the source; empty for a source that is not in the cluster.',
      ),
      name: described(t.string, 'The name of the source, or its address.'),
    },
    'SourceReference',
  ),
  'Where the chart comes from.',
)
export const versioned = {
  name: described(t.string, 'The name of the chart.'),
  version: described(t.string, 'The version of the chart.'),
  sourceRef: SourceReference,
}

const VersionOption = t.intersection(
  [
    t.type(
      {
        version: described(t.string, 'The version of the chart.'),
      },
      'VersionName',
    ),
    t.partial(
      {
        selected: described(t.boolean, 'Whether the version is chosen; absent means false.'),
        valuesFile: described(t.string, 'The file of the chart whose values are the base; absent means `values.yaml`.'),
        valuesPatch: described(AnyJson, 'The operations (RFC 6902) that change these values; absent means none.'),
      },
      'VersionDetails',
    ),
  ],
  'VersionOption',
)
const ChartCard = t.intersection(
  [
    PackageDescriptor,
    t.type(
      {
        name: described(t.string, 'The name of the chart.'),
        sourceRef: SourceReference,
        versions: described(t.readonlyArray(VersionOption), 'The versions that may be chosen.'),
      },
      'ChartCardBase',
    ),
    t.partial(
      {
        features: described(
          t.readonlyArray(t.string),
          'What the chart offers, for people; absent if it is not stated.',
        ),
        namespace: described(t.string, 'The namespace of its releases; absent if the bundle does not state one.'),
        multiSelect: described(t.boolean, 'Whether several versions may be chosen.'),
        required: described(t.boolean, 'Whether the chart is always part of an order.'),
        selected: described(t.boolean, 'Whether the chart is chosen.'),
      },
      'ChartCardDetails',
    ),
  ],
  'ChartCard',
)
const Feature = answer(
  {
    trait: described(t.string, 'What is stated of the bundle, as `Storage`.'),
    value: described(t.string, 'The value of it, as `10Gi`.'),
  },
  'PackageFeature',
)

// io-ts reads an absent key as undefined. Answers have no such keys.
const asAnswered = <A>(codec: t.Any): t.Type<A, unknown> => codec as t.Type<A, unknown>

const PackageCardOut: t.Type<PackageCard, unknown> = t.recursion('PackageCard', () =>
  asAnswered<PackageCard>(
    t.union(
      [
        t.type(
          {
            chart: described(ChartCard, 'A chart with its versions.'),
          },
          'ChartPackage',
        ),
        t.type(
          {
            bundle: described(BundleOption, 'A bundle within the bundle.'),
          },
          'BundlePackage',
        ),
        t.type(
          {
            oneOf: described(
              t.type(
                {
                  description: described(t.string, 'What is to be chosen, for people.'),
                  bundles: described(t.readonlyArray(BundleOption), 'The bundles to choose from.'),
                },
                'OneOfBundles',
              ),
              'Bundles of which one is to be chosen.',
            ),
          },
          'OneOfPackage',
        ),
      ],
      'PackageCard',
    ),
  ),
)
const bundleBase = {
  ...versioned,
  displayName: described(t.string, 'The name of the bundle for people.'),
  packages: described(
    t.readonlyArray(PackageCardOut),
    'The packages of the bundle, in the order of their installation.',
  ),
}
const BundleOption: t.Type<BundleOptionView, unknown> = t.recursion('BundleOptionView', () =>
  asAnswered<BundleOptionView>(
    t.intersection(
      [
        PackageDescriptor,
        t.type(bundleBase, 'BundleOptionBase'),
        t.partial(
          {
            features: described(t.readonlyArray(Feature), 'What the bundle offers; absent if it is not stated.'),
          },
          'BundleFeatures',
        ),
      ],
      'BundleOptionView',
    ),
  ),
)

/** A bundle with all its contents, for users to choose from. */
export const BundleView = t.intersection(
  [
    PackageDescriptor,
    t.type(
      {
        apiVersion: described(t.string, 'The version of the format, always `releases.x-helm.dev/v1alpha1`.'),
        kind: described(t.literal('BundleView'), 'The kind of the object.'),
        ...bundleBase,
      },
      'BundleViewBase',
    ),
    t.partial(
      {
        features: described(t.readonlyArray(Feature), 'What the bundle offers; absent if it is not stated.'),
        licenseKey: described(t.string, 'The license key that the user enters before an order; absent in answers.'),
      },
      'BundleViewDetails',
    ),
  ],
  'BundleView',
)

const ValuesFile = answer(
  {
    filename: described(t.string, 'The name of the file in the chart.'),
    values: described(FreeObjectCodec, 'The values that the file sets.'),
  },
  'ValuesFile',
)
/** A chart with the data that its form is built from. */
export const PackageView = t.intersection(
  [
    PackageDescriptor,
    t.type(
      {
        apiVersion: described(t.string, 'The version of the format, always `releases.x-helm.dev/v1alpha1`.'),
        kind: described(t.literal('PackageView'), 'The kind of the object.'),
        ...versioned,
      },
      'PackageViewBase',
    ),
    t.partial(
      {
        valuesFiles: described(
          t.readonlyArray(ValuesFile),
          'The files of values of the chart, `values.yaml` first; absent if there are none.',
        ),
        openAPIV3Schema: described(FreeObjectCodec, 'The schema of the values; absent if the chart has none.'),
      },
      'PackageViewDetails',
    ),
  ],
  'PackageView',
)
