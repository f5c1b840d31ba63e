import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { FreeObject, Json } from '../kernel/json.ts'
import type { Chart } from './chart-ports.ts'
import { isObject, own, ownObject, ownText } from './editor-json.ts'
import { EditorUnfit } from './editor-ports.ts'
import type { EditorChart, ResourceId } from './editor-types.ts'

const editorAnnotation = 'meta.x-helm.dev/editor'
const resourceKeysAnnotation = 'meta.x-helm.dev/resource-keys'
const formKeysAnnotation = 'meta.x-helm.dev/form-keys'

const declaredKeys = (chart: Chart, annotation: string): readonly string[] =>
  ownText(ownObject(chart.metadata, 'annotations'), annotation)
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')

/** The refusal of a chart that cannot do an editor's work. */
export const unfit = (chart: Chart, what: string): Either<Failure<'EditorUnfit'>, never> =>
  left(EditorUnfit(`The chart ${chart.name} ${chart.version} cannot serve as an editor: ${what}.`))

/** Whose editor a chart says that it is, `{"group", "version", "resource"}` in its annotation; undefined for charts that are none. */
export const editedResourceOf = (metadata: FreeObject): Pick<ResourceId, 'group' | 'name'> | undefined => {
  try {
    const named = JSON.parse(ownText(ownObject(metadata, 'annotations'), editorAnnotation)) as Json
    return isObject(named) && ownText(named, 'resource') !== '' ? { group: ownText(named, 'group'), name: ownText(named, 'resource') } : undefined
  } catch {
    return undefined
  }
}

/** What the values and annotations of an editor chart say. Failure: EditorUnfit. */
export const readEditorChart = (chart: Chart): Either<Failure<'EditorUnfit'>, EditorChart> => {
  const resource = own(ownObject(chart.values, 'metadata'), 'resource')
  if (!isObject(resource)) return unfit(chart, 'its values have no metadata.resource')
  const defaults = new Map<string, FreeObject>()
  for (const [key, value] of Object.entries(ownObject(chart.values, 'resources'))) {
    if (!isObject(value) || ownText(value, 'apiVersion') === '' || ownText(value, 'kind') === '') return unfit(chart, `resources.${key} of its values names no apiVersion and kind`)
    defaults.set(key, value)
  }
  const declared = declaredKeys(chart, resourceKeysAnnotation)
  return right({
    defaults,
    resource,
    usesForm: own(chart.values, 'form') !== undefined,
    resourceKeys: new Set(declared.length > 0 ? declared : defaults.keys()),
    formKeys: new Set(declaredKeys(chart, formKeysAnnotation)),
  })
}

const defaultsFile = 'values.yaml'

/** The chart without its default values: helm would merge them into what it is given. */
export const withoutDefaults = (chart: Chart): Chart => ({
  ...chart,
  values: {},
  files: new Map([...chart.files].filter(([path]) => path !== defaultsFile)),
})
