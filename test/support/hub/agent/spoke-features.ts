import { stringify } from 'yaml'
import type { Manifest } from '../api/kinds.ts'

/** The features of a spoke that do not come from ManifestWorks. */
export interface FeatureOptions {
  readonly enabled?: Readonly<Record<string, string>>
  readonly externallyManaged?: readonly string[]
  readonly disabled?: readonly string[]
}

export interface Features {
  /** A feature whose HelmRelease does not become ready; ready again with `true`. */
  setReady(feature: string, isReady: boolean): void
  /** Features that were installed by hand, or are switched off there. */
  set(options: FeatureOptions): void
  isReady(feature: string): boolean
  /** Takes the manifests of one ManifestWork as applied; none for a work that is gone. */
  applied(work: string, manifests: readonly Manifest[]): void
  claims(): Readonly<Record<string, string>>
  onChange(listener: () => void): void
}

/**
 * 'The claim is written on the spoke by ui-server, enabledFeatures[name]=chart version, external and disabled lists
 * sorted' (note §14). Without features there is no claim.
 */
export const makeFeatures = (initial: FeatureOptions = {}): Features => {
  const works = new Map<string, readonly Manifest[]>()
  const unready = new Set<string>()
  const listeners: (() => void)[] = []
  let options = initial
  const changed = (): void => {
    for (const each of listeners) each()
  }
  return {
    setReady: (feature, isReady) => {
      if (isReady) unready.delete(feature)
      else unready.add(feature)
      changed()
    },
    set: (next) => {
      options = { ...options, ...next }
      changed()
    },
    isReady: (feature) => !unready.has(feature),
    applied: (work, manifests) => {
      if (JSON.stringify(works.get(work) ?? []) === JSON.stringify(manifests)) return
      if (manifests.length === 0) works.delete(work)
      else works.set(work, manifests)
      changed()
    },
    claims: () => {
      const released = [...works.values()].flat().flatMap(featureOf)
      const enabled = { ...options.enabled, ...Object.fromEntries(released) }
      const [external, disabled] = [options.externallyManaged ?? [], options.disabled ?? []]
      if (Object.keys(enabled).length + external.length + disabled.length === 0) return {}
      const sorted = Object.fromEntries(Object.entries(enabled).sort(([one], [other]) => (one < other ? -1 : 1)))
      return {
        'features.ace.info': stringify({
          enabledFeatures: sorted,
          externallyManagedFeatures: [...external].sort(),
          disabledFeatures: [...disabled].sort(),
        }),
      }
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/**
 * 'Enabled = HelmRelease with labels `app.kubernetes.io/component=<feature>` + `app.kubernetes.io/part-of=<fs>` exists'
 * (note §14).
 */
const featureOf = ({ kind, metadata, spec }: Manifest): readonly (readonly [feature: string, version: string])[] => {
  const feature = metadata.labels?.['app.kubernetes.io/component']
  if (kind !== 'HelmRelease' || feature === undefined || metadata.labels?.['app.kubernetes.io/part-of'] === undefined)
    return []
  const chart = spec?.['chart'] as { readonly spec?: { readonly version?: string } } | undefined
  return [[feature, chart?.spec?.version ?? '']]
}
