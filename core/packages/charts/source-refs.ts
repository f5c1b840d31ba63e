import type { SourceRef } from '../types.ts'

const fluxGroup = 'source.toolkit.fluxcd.io'
const ownGroup = 'charts.x-helm.dev'
const ownKinds: ReadonlySet<string> = new Set(['ChartRepository', 'Legacy', 'Local', 'Embed'])

/** A source as written by a client or chart author. */
export type LooseSource = Pick<SourceRef, 'name'> & { readonly [K in Exclude<keyof SourceRef, 'name'>]?: string | undefined }

/** Fills in the defaults of the interface: a Flux `HelmRepository`, unless the kind is one of this platform's own, whose group is fixed. */
export const completedSource = ({ apiGroup, kind: given, namespace, name }: LooseSource): SourceRef => {
  const kind = given === undefined || given === '' ? 'HelmRepository' : given
  const group = apiGroup === undefined || apiGroup === '' ? fluxGroup : apiGroup
  return { apiGroup: ownKinds.has(kind) ? ownGroup : group, kind, namespace: namespace ?? '', name }
}

/** Reports whether two references name the same source. */
export const isSameSource = (one: SourceRef, other: SourceRef): boolean =>
  one.kind === other.kind && one.apiGroup === other.apiGroup && one.namespace === other.namespace && one.name === other.name
