import * as t from 'io-ts'
import { answer, AnyJson, described, FreeObjectCodec, Instant, noted } from '../../kit/codecs.ts'
import { versioned } from './codecs.ts'

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
