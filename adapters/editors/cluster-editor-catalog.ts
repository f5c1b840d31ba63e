import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import { EditorMissing, type EditorCatalog } from '../../core/packages/editor-ports.ts'
import type { ResourceEditor, ResourceId } from '../../core/packages/editor-types.ts'
import { readResourceEditor } from './resource-editor-rows.ts'

const collection = '/apis/ui.k8s.appscode.com/v1alpha1/resourceeditors'
const maxBytes = 1024 * 1024

/** `core-v1-configmaps`, `apps-v1-deployments`. */
export const editorName = ({ group, version, name }: Pick<ResourceId, 'group' | 'version' | 'name'>): string => `${group === '' ? 'core' : group}-${version}-${name}`

/** What the cluster's editor leaves open comes from the built-in one. */
const completed = (own: ResourceEditor, builtIn: ResourceEditor | undefined): ResourceEditor =>
  builtIn === undefined
    ? own
    : {
        ...own,
        resource: builtIn.resource,
        options: own.options ?? builtIn.options,
        editor: own.editor ?? builtIn.editor,
        instanceLabelPaths: own.instanceLabelPaths.length > 0 ? own.instanceLabelPaths : builtIn.instanceLabelPaths,
      }

/** EditorCatalog over ResourceEditor objects of the cluster, with those that this service ships behind them. */
export const makeClusterEditorCatalog = (builtIns: readonly ResourceEditor[]): EditorCatalog => {
  const byName = new Map(builtIns.map((editor) => [editorName(editor.resource), editor]))
  return {
    find: async (cluster, resource, signal) => {
      const name = editorName(resource)
      const builtIn = byName.get(name)
      const answer = await cluster.request({ method: 'GET', target: `${collection}/${encodeURIComponent(name)}`, limitBytes: maxBytes }, signal)
      if (isLeft(answer)) return answer
      const { status, json } = answer.right
      // A cluster that does not know the group says so only to those who may read it: 403 to everybody else.
      if (status === 404 || status === 403) {
        if (builtIn !== undefined) return right(builtIn)
        return left(EditorMissing(`There is no editor for ${name}: the cluster ${status === 403 ? 'shows you' : 'has'} no ResourceEditor of that name, and none is built in.`))
      }
      if (status !== 200) return left(ClusterUnreachable(`The cluster answered ${status} when asked for the ResourceEditor ${name}.`))
      const own = readResourceEditor(json)
      return own === undefined ? left(EditorMissing(`The ResourceEditor ${name} of the cluster is not of its shape.`)) : right(completed(own, builtIn))
    },
  }
}
