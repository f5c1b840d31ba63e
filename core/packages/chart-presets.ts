import type { FreeObject, Json } from '../kernel/json.ts'
import { asTable, mergeTables } from './value-tables.ts'

/** Values that somebody in the cluster prepared for charts: a ClusterChartPreset, or a ChartPreset of one namespace. */
export interface ChartPreset {
  readonly name: string
  readonly labels: FreeObject
  readonly values: FreeObject
}

/** An object of either kind; undefined when it has no name. What it lacks is empty. */
export const readPreset = (object: FreeObject): ChartPreset | undefined => {
  const metadata = asTable(object['metadata'])
  const name: Json | undefined = metadata?.['name']
  if (typeof name !== 'string' || name === '') return undefined
  return { name, labels: asTable(metadata?.['labels']) ?? {}, values: asTable(asTable(object['spec'])?.['values']) ?? {} }
}

const byName = (one: ChartPreset, other: ChartPreset): number => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)

/**
 * The presets that count, the weakest first: those of the cluster that are selected, by name, then those of the
 * namespace. One of the namespace hides one of the cluster that has its name, whatever its own labels are.
 */
export const presetsInForce = (
  cluster: readonly ChartPreset[],
  namespaced: readonly ChartPreset[],
  isSelected: (labels: FreeObject) => boolean,
): readonly ChartPreset[] => {
  const selected = cluster.filter(({ labels }) => isSelected(labels))
  const wanted = new Set(selected.map(({ name }) => name))
  const own = namespaced.filter(({ name, labels }) => wanted.has(name) || isSelected(labels))
  const hidden = new Set(own.map(({ name }) => name))
  return [...selected.filter(({ name }) => !hidden.has(name)).sort(byName), ...[...own].sort(byName)]
}

/** A chart's values with presets laid over them, one after the other. */
export const withPresets = (values: FreeObject, presets: readonly ChartPreset[]): FreeObject =>
  presets.reduce((merged, preset) => mergeTables(merged, preset.values), values)
