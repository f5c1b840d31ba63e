import type { EmbeddedChart } from '../../core/packages/chart-ports.ts'
import type { ResourceEditor } from '../../core/packages/editor-types.ts'
import { configMapEditor, configMapOptions, configMapResourceEditor } from './config-map-charts.ts'
import { deploymentEditor, deploymentOptions, deploymentResourceEditor } from './deployment-charts.ts'

/** Charts of the built-in editors, for the source `Embed` named `editors`. */
export const embeddedEditorCharts: readonly EmbeddedChart[] = [configMapOptions, configMapEditor, deploymentOptions, deploymentEditor]

/** Editors that work on any cluster, until the cluster brings one of its own for the same resource. */
export const builtInEditors: readonly ResourceEditor[] = [configMapResourceEditor, deploymentResourceEditor]
