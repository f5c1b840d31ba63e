import * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { ResourceEditor, ResourceId } from '../../core/packages/editor-types.ts'
import type { ChartRef } from '../../core/packages/types.ts'

const Texts = (...names: readonly string[]) => t.partial(Object.fromEntries(names.map((name) => [name, t.union([t.string, t.null])])))

const ChartRow = t.intersection([t.type({ name: t.string }), t.partial({ version: t.union([t.string, t.null]), sourceRef: t.intersection([t.type({ name: t.string }), Texts('apiGroup', 'kind', 'namespace')]) })])
const ResourceRow = t.intersection([t.type({ version: t.string, name: t.string }), Texts('group', 'kind', 'scope')])
const UiRow = t.partial({ options: t.union([ChartRow, t.null]), editor: t.union([ChartRow, t.null]), instanceLabelPaths: t.union([t.array(t.string), t.null]) })
const ResourceEditorRow = t.type({ spec: t.intersection([t.type({ resource: ResourceRow }), t.partial({ ui: t.union([UiRow, t.null]) })]) })

const toChartRef = (row: t.TypeOf<typeof ChartRow> | null | undefined): ChartRef | undefined =>
  row === null || row === undefined
    ? undefined
    : {
        name: row.name,
        version: row.version ?? '',
        source: { apiGroup: row.sourceRef?.['apiGroup'] ?? '', kind: row.sourceRef?.['kind'] ?? '', namespace: row.sourceRef?.['namespace'] ?? '', name: row.sourceRef?.name ?? '' },
      }

const toResource = (row: t.TypeOf<typeof ResourceRow>): ResourceId => ({ group: row['group'] ?? '', version: row.version, name: row.name, kind: row['kind'] ?? '', scope: row['scope'] ?? '' })

/** Written as `.spec.selector.matchLabels`. */
const toPath = (text: string): readonly string[] => text.split('.').filter((key) => key !== '')

/** A ResourceEditor object of the cluster; undefined when it is not of its shape. Defaults of chart sources are not filled in. */
export const readResourceEditor = (json: unknown): ResourceEditor | undefined => {
  const decoded = ResourceEditorRow.decode(json)
  if (isLeft(decoded)) return undefined
  const { resource, ui } = decoded.right.spec
  return {
    resource: toResource(resource),
    options: toChartRef(ui?.options),
    editor: toChartRef(ui?.editor),
    instanceLabelPaths: (ui?.instanceLabelPaths ?? []).map(toPath).filter((path) => path.length > 0),
    origin: 'cluster',
  }
}
