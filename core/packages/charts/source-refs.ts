import type { SourceRef } from '../types.ts'

const fluxGroup = 'source.toolkit.fluxcd.io'
const ownGroup = 'charts.x-helm.dev'
const ownKinds: ReadonlySet<string> = new Set(['ChartRepository', 'Legacy', 'Local', 'Embed'])

/** A source as somebody wrote it. */
export type LooseSource = Pick<SourceRef, 'name'> & { readonly [K in Exclude<keyof SourceRef, 'name'>]?: string | undefined }

/** The defaults of the interface: a Flux `HelmRepository`, unless a kind of our own is named, whose group is never another. */
export const completedSource = ({ apiGroup, kind: given, namespace, name }: LooseSource): SourceRef => {
  const kind = given === undefined || given === '' ? 'HelmRepository' : given
  const group = apiGroup === undefined || apiGroup === '' ? fluxGroup : apiGroup
  return { apiGroup: ownKinds.has(kind) ? ownGroup : group, kind, namespace: namespace ?? '', name }
}

/** Whether two references name the same place. */
export const isSameSource = (one: SourceRef, other: SourceRef): boolean =>
  one.kind === other.kind && one.apiGroup === other.apiGroup && one.namespace === other.namespace && one.name === other.name
