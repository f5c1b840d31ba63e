import type { GuardedAnswer } from '../outbound/guarded-fetch.ts'

export const manifestTypes = 'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'

const chartTypes: ReadonlySet<string> = new Set(['application/vnd.cncf.helm.chart.content.v1.tar+gzip', 'application/tar+gzip'])

export interface Layer {
  readonly digest: string
  /** Bytes, as the manifest says. */
  readonly size: number
}

const json = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {})

export const readManifest = (bytes: Uint8Array): Readonly<Record<string, unknown>> => recordOf(json(bytes))

/** The layer that holds the chart's archive; undefined when the manifest is none of a chart. */
export const chartLayerOf = (manifest: Readonly<Record<string, unknown>>): Layer | undefined => {
  const layers = Array.isArray(manifest['layers']) ? (manifest['layers'] as readonly unknown[]).map(recordOf) : []
  const layer = layers.find(({ mediaType }) => typeof mediaType === 'string' && chartTypes.has(mediaType))
  const { digest, size } = layer ?? {}
  return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) && typeof size === 'number' ? { digest, size } : undefined
}

/** Tags of one page; `last` where another follows. */
export const readTags = ({ bytes, headers }: GuardedAnswer): { readonly tags: readonly string[]; readonly last: string | undefined } | undefined => {
  const { tags } = recordOf(json(bytes))
  // A repository whose tags were all deleted has null.
  if (tags !== null && !Array.isArray(tags)) return undefined
  const texts = (tags ?? []).filter((tag): tag is string => typeof tag === 'string' && tag.length <= 128)
  const hasMore = /rel="?next"?/i.test(headers['link'] ?? '')
  return { tags: texts, last: hasMore ? texts.at(-1) : undefined }
}
