import * as t from 'io-ts'
import { completedSource } from '../../core/packages/types.ts'
import type { ChartRef } from '../../core/packages/types.ts'
import { path } from '../kit/access.ts'
import { answer, FreeObjectCodec, freeText, noted, optional, patternText, PathName, request, SafeInteger } from '../kit/codecs.ts'

export const ClusterPath = request({ owner: PathName, cluster: PathName }, 'ClusterPath')
export const clusterInPath = { type: 'cluster', account: path('owner'), name: path('cluster') } as const

const releaseNamePattern = /^[a-z0-9](?:[a-z0-9.-]{0,51}[a-z0-9])?$/
/** A release in a path. A name that Helm does not allow does not exist. */
export const ReleasePath = request(
  { owner: PathName, cluster: PathName, name: patternText(releaseNamePattern, 53, 'a release name') },
  'ReleasePath',
)

/** The name of a new release: lower-case letters, digits, `-` and `.`, at most 53 characters. */
export const ReleaseName = patternText(releaseNamePattern, 53, "a release name: at most 53 lower-case letters, digits, '-' and '.', a letter or digit first and last")
/** A namespace of the member cluster. Empty when the default of the route applies. */
export const Namespace = patternText(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, 63, "a namespace: at most 63 lower-case letters, digits and '-', a letter or digit first and last")

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
export const looseInteger = (min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): t.Type<number, number, unknown> =>
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
    name: t.string,
    namespace: t.string,
    version: SafeInteger,
    info: FreeObjectCodec,
    chart: FreeObjectCodec,
    config: optional(FreeObjectCodec),
    manifest: optional(t.string),
    hooks: optional(t.array(FreeObjectCodec)),
    apply_method: optional(t.string),
  },
  'Release',
)

/** The source of a chart, flat: these keys are next to others in a body, or in the query of a GET. */
export const chartSourceProps = {
  name: freeText(250, 1),
  version: optional(freeText(128)),
  sourceApiGroup: optional(freeText(253)),
  sourceKind: optional(freeText(63)),
  sourceNamespace: optional(Namespace),
  sourceName: freeText(2048, 1),
}
export const ChartSourceFlatRef = request(chartSourceProps, 'ChartSourceFlatRef')
export type ChartSourceFlatRef = t.TypeOf<typeof ChartSourceFlatRef>

/** Returns the chart reference, with the defaults of the interface. */
export const chartRefOf = ({ name, version, sourceApiGroup, sourceKind, sourceNamespace, sourceName }: ChartSourceFlatRef): ChartRef => ({
  name,
  version: version ?? '',
  source: completedSource({ apiGroup: sourceApiGroup, kind: sourceKind, namespace: sourceNamespace, name: sourceName }),
})
