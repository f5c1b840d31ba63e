import { clusterAppReleases } from '../../adapters/editors/cluster-app-releases.ts'
import { makeClusterEditorCatalog } from '../../adapters/editors/cluster-editor-catalog.ts'
import { builtInEditors } from '../../adapters/editors/embedded-editors.ts'
import { AppReleasesToken, EditorCatalogToken } from '../../core/packages/editor-ports.ts'
import type { Provide } from '../boot.ts'

/** Editors of resources: those of the clusters, and the built-in ones. Their charts come with `provideCharts`. */
export const provideEditors: Provide = (container) => {
  container.provideValue(EditorCatalogToken, makeClusterEditorCatalog(builtInEditors))
  container.provideValue(AppReleasesToken, clusterAppReleases)
}
