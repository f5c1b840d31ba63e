import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Json } from '../kernel/json.ts'
import { ChartRefused, type Chart, type ChartTexts, type ChartTools, type FetchedChart } from './chart-ports.ts'
import type { HelmFailure, HelmRunner } from './helm-ports.ts'
import type { ChartReader } from './open-chart.ts'
import { firstBundle, looksLikeBundle, type Bundle } from './view-bundle-spec.ts'

export type BundleFailure = HelmFailure | Failure<'ChartRefused'>

/** The bundle that a chart is made of; undefined for a chart that is none. */
export type FindBundle = (fetched: FetchedChart, reader: ChartReader, signal: AbortSignal) => Outcome<BundleFailure, Bundle | undefined>

/** Bytes; a bundle is a list of names, and whoever writes a longer one is not read. */
const maxTemplate = 256 * 1024

const bundleTemplates = (chart: Chart): readonly string[] =>
  [...chart.files]
    .filter(([path, bytes]) => path.startsWith('templates/') && !path.endsWith('/NOTES.txt') && bytes.length <= maxTemplate)
    .map(([, bytes]) => new TextDecoder().decode(bytes))
    .filter(looksLikeBundle)

/** Documents of a rendering that may be bundles; the others are not worth parsing. */
const bundleTexts = (manifest: string): readonly string[] => manifest.split(/^---[ \t\r]*$/m).filter(looksLikeBundle)

/**
 * Looks for a bundle among a chart's own templates. Only a chart whose templates look like one is rendered, and only
 * when they are not plain YAML as they stand; values are the chart's defaults, capabilities those of the cluster.
 */
export const makeFindBundle = (deps: {
  readonly texts: Pick<ChartTexts, 'parseAll'>
  readonly tools: Pick<ChartTools, 'pack'>
  readonly helm: Pick<HelmRunner, 'template'>
}): FindBundle => {
  const read = async ({ ref }: FetchedChart, sources: readonly string[]): ReturnType<FindBundle> => {
    const unreadable = (why: string) => left(ChartRefused(`The bundle of the chart ${ref.name} ${ref.version} cannot be read: ${why}`))
    const objects: Json[] = []
    for (const source of sources) {
      const parsed = await deps.texts.parseAll(new TextEncoder().encode(source))
      if (isLeft(parsed)) return unreadable(parsed.left.message)
      objects.push(...parsed.right)
    }
    const bundle = firstBundle(objects)
    return isLeft(bundle) ? unreadable(`${bundle.left}.`) : bundle
  }

  return async (fetched, { cluster }, signal) => {
    const templates = bundleTemplates(fetched.chart)
    if (templates.length === 0) return right(undefined)
    if (!templates.some((text) => text.includes('{{'))) return read(fetched, templates)
    const work = {
      target: { cluster, driver: 'Secret' as const, tenantId: cluster.ownerId },
      release: { namespace: 'default', name: 'bundle' },
      flags: { disableHooks: true },
    }
    const rendered = await deps.helm.template(work, { archive: await deps.tools.pack(fetched.chart), values: undefined }, signal)
    return isLeft(rendered) ? rendered : read(fetched, bundleTexts(rendered.right.manifest))
  }
}
