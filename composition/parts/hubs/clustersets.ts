import { clusterSetsPlugin } from '../../../plugins/hubs/clustersets/plugin.ts'
import { definePart } from '../../part/part.ts'

/** Cluster sets of hubs. Their ports are those of hubs and feature sets. */
export const part = definePart({ plugin: clusterSetsPlugin })
