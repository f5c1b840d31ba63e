import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../kernel/failure.ts'
import type { MemberCluster, MemberFailure } from '../clusters/ports.ts'
import { ownText } from './editor-json.ts'
import type { OpenedEditor } from './editor-open-charts.ts'
import type { EditorCatalog } from './editor-ports.ts'
import type { Refill } from './editor-refill.ts'
import type { EditorChart } from './editor-types.ts'
import { groupVersionOf } from './manifest-objects.ts'

type Kind = Parameters<Refill['labelPaths']>[0]
type Paths = readonly (readonly string[])[]

const wordOf = ({ apiVersion, kind }: Kind): string => `${apiVersion}/${kind}`

const ofOneKind = async (catalog: EditorCatalog, cluster: MemberCluster, { editor, resources }: OpenedEditor, kind: Kind, signal: AbortSignal): Outcome<MemberFailure, Paths> => {
  const { group, version } = groupVersionOf(kind.apiVersion)
  if (editor.resource.group === group && editor.resource.kind === kind.kind) return right(editor.instanceLabelPaths)
  const resource = await resources.ofKind(kind.apiVersion, kind.kind)
  if (isLeft(resource)) return resource
  // Its definition may come with this very release.
  if (resource.right === undefined) return right([])
  const found = await catalog.find(cluster, { group, version, name: resource.right.plural, kind: kind.kind, scope: '' }, signal)
  if (!isLeft(found)) return right(found.right.instanceLabelPaths)
  return found.left.tag === 'EditorMissing' ? right([]) : left(found.left as MemberFailure)
}

/** Where the objects of an editor carry the instance label, as the editor of each of their kinds says. */
export const findLabelPaths = async (catalog: EditorCatalog, cluster: MemberCluster, opened: OpenedEditor, chart: EditorChart, signal: AbortSignal): Outcome<MemberFailure, Refill['labelPaths']> => {
  const kinds = new Map([...chart.defaults.values()].map((object) => ({ apiVersion: ownText(object, 'apiVersion'), kind: ownText(object, 'kind') })).map((kind) => [wordOf(kind), kind] as const))
  const found = new Map<string, Paths>()
  for (const [word, kind] of kinds) {
    const paths = await ofOneKind(catalog, cluster, opened, kind, signal)
    if (isLeft(paths)) return paths
    found.set(word, paths.right)
  }
  return right((kind) => found.get(wordOf(kind)) ?? [])
}
