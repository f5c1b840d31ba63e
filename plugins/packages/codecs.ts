import * as t from 'io-ts'
import { completedSource } from '../../core/packages/types.ts'
import type { ChartRef } from '../../core/packages/types.ts'
import { path } from '../kit/access.ts'
import {
  answer,
  described,
  FreeObjectCodec,
  freeText,
  naming,
  noted,
  optional,
  pathName,
  patternText,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

export const inCluster = {
  owner: described(pathName('account'), 'The user or organization that owns the cluster, by name.'),
  cluster: described(pathName('cluster'), 'The name of the cluster in the account of its owner.'),
}
export const ClusterPath = request(inCluster, 'ClusterPath')
export const clusterInPath = { type: 'cluster', account: path('owner'), name: path('cluster') } as const

const releaseNamePattern = /^[a-z0-9](?:[a-z0-9.-]{0,51}[a-z0-9])?$/
/** A release in a path. A name that Helm does not allow does not exist. */
export const ReleasePath = request(
  {
    ...inCluster,
    name: described(
      naming(patternText(releaseNamePattern, 53, 'a release name'), 'release', 'name'),
      'The name of the release.',
    ),
  },
  'ReleasePath',
)

/** The name of a new release: lower-case letters, digits, `-` and `.`, at most 53 characters. */
export const ReleaseName = patternText(
  releaseNamePattern,
  53,
  "a release name: at most 53 lower-case letters, digits, '-' and '.', a letter or digit first and last",
)
/** A namespace of the member cluster. Empty when the default of the route applies. */
export const Namespace = patternText(
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/,
  63,
  "a namespace: at most 63 lower-case letters, digits and '-', a letter or digit first and last",
)

/** `true` or `false`, as JSON or as the text of a query string. */
export const LooseBoolean = noted(
  new t.Type<boolean, boolean, unknown>(
    'true or false',
    t.boolean.is,
    (u, c) => {
      if (typeof u === 'boolean') return t.success(u)
      if (u === 'true' || u === '1') return t.success(true)
      return u === 'false' || u === '0' ? t.success(false) : t.failure(u, c)
    },
    t.identity,
  ),
  { type: 'boolean' },
)

/** Returns a codec of an integer from `min`, as JSON or as the text of a query string. */
export const looseInteger = (
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): t.Type<number, number, unknown> =>
  noted(
    new t.Type<number, number, unknown>(
      min === Number.MIN_SAFE_INTEGER ? 'an integer' : `an integer from ${min}`,
      (u): u is number => typeof u === 'number' && Number.isSafeInteger(u) && u >= min && u <= max,
      (u, c) => {
        const n = typeof u === 'string' && /^-?[0-9]{1,16}$/.test(u) ? Number(u) : u
        return typeof n === 'number' && Number.isSafeInteger(n) && n >= min && n <= max ? t.success(n) : t.failure(u, c)
      },
      t.identity,
    ),
    { type: 'integer', format: 'int64', ...(min === Number.MIN_SAFE_INTEGER ? {} : { minimum: min }) },
  )

/** `json` or `yaml`. Any other value selects the default of the route. */
export const Format = freeText(16)

/** A release as in Helm's own JSON. List rows omit the large fields. Keys that Helm adds are passed on. */
export const ReleaseOut = answer(
  {
    name: described(t.string, 'The name of the release.'),
    namespace: described(t.string, 'The namespace in which the record of the release is stored.'),
    version: described(SafeInteger, 'The number of the revision, from 1.'),
    info: described(
      FreeObjectCodec,
      'Status, times (RFC 3339) and description of the revision, in the form of Helm; a whole release also has ' +
        'the notes.',
    ),
    chart: described(
      FreeObjectCodec,
      'The chart in the form of Helm: `metadata`, and in a whole release templates, default values and files in ' +
        'base64.',
    ),
    config: described(
      optional(FreeObjectCodec),
      'The values that differ from the defaults of the chart; absent in rows of lists and if there are none.',
    ),
    manifest: described(optional(t.string), 'The objects of the revision as YAML; absent in rows of lists.'),
    hooks: described(
      optional(t.array(FreeObjectCodec)),
      'The hooks of the chart, in the form of Helm; absent in rows of lists.',
    ),
    apply_method: described(
      optional(t.string),
      'How Helm 4 applies the objects: `ssa` on the server, `csa` on the client; absent in rows of lists and for ' +
        'other versions.',
    ),
  },
  'Release',
)

/** The source of a chart, flat: these keys are next to others in a body, or in the query of a GET. */
export const chartSourceProps = {
  name: described(freeText(250, 1), 'The name of the chart, 1 to 250 characters.'),
  version: described(
    optional(freeText(128)),
    'The version of the chart, or a range; the newest stable version if it is absent or empty.',
  ),
  sourceApiGroup: described(
    optional(freeText(253)),
    'The API group of the source; `source.toolkit.fluxcd.io` if it is absent or empty.',
  ),
  sourceKind: described(
    optional(freeText(63)),
    'The kind of the source: `HelmRepository` (the default), `ChartRepository`, `Legacy`, `Local` or `Embed`.',
  ),
  sourceNamespace: described(
    optional(Namespace),
    'The namespace of the object that is the source, for a kind of the cluster; empty by default.',
  ),
  sourceName: described(freeText(2048, 1), 'The name of the source, or its address, 1 to 2,048 characters.'),
}
export const ChartSourceFlatRef = request(chartSourceProps, 'ChartSourceFlatRef')
export type ChartSourceFlatRef = t.TypeOf<typeof ChartSourceFlatRef>

/** Returns the chart reference, with the defaults of the interface. */
export const chartRefOf = ({
  name,
  version,
  sourceApiGroup,
  sourceKind,
  sourceNamespace,
  sourceName,
}: ChartSourceFlatRef): ChartRef => ({
  name,
  version: version ?? '',
  source: completedSource({ apiGroup: sourceApiGroup, kind: sourceKind, namespace: sourceNamespace, name: sourceName }),
})
