import type { FreeObject } from '../kernel/json.ts'
import type { Chart, ChartTexts } from './chart-ports.ts'
import { resourceFilenames, resourceKey } from './editor-resource-key.ts'
import type { MissingObject, ResourceFile } from './editor-types.ts'
import type { ManifestObject } from './manifest-objects.ts'

/** Prints one object in the format that was asked for. */
export interface ObjectPrinter {
  readonly ending: 'json' | 'yaml'
  print(object: FreeObject): Promise<string>
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byKind = (a: ManifestObject, b: ManifestObject): number => compare(a.apiVersion, b.apiVersion) || compare(a.kind, b.kind) || compare(a.name, b.name)

/** Files of the objects, by apiVersion, kind and name. */
export const resourceFiles = async (objects: readonly ManifestObject[], releaseName: string, printer: ObjectPrinter): Promise<readonly ResourceFile[]> => {
  const sorted = [...objects].sort(byKind)
  const filenames = resourceFilenames(sorted, releaseName)
  const files: ResourceFile[] = []
  for (const [index, object] of sorted.entries()) {
    const data = await printer.print(object.body)
    files.push({ filename: `${filenames[index] ?? ''}.${printer.ending}`, key: resourceKey(object, releaseName), data })
  }
  return files
}

const isCrdFile = (path: string): boolean => /^(charts\/[^/]+\/)*crds\/.+\.(ya?ml|json)$/.test(path)

/** Texts of the files under `crds/` of a chart and its subcharts, by path. */
export const crdFilesOf = (chart: Chart): readonly { readonly path: string; readonly bytes: Uint8Array }[] =>
  [...chart.files]
    .filter(([path]) => isCrdFile(path))
    .map(([path, bytes]) => ({ path, bytes }))
    .sort((a, b) => compare(a.path, b.path))

/** One file for each definition, named after its own file, with a number where that holds several. */
export const crdFiles = async (files: readonly { readonly path: string; readonly objects: readonly ManifestObject[] }[], printer: ObjectPrinter): Promise<readonly ResourceFile[]> => {
  const printed: ResourceFile[] = []
  for (const { path, objects } of files) {
    const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '')
    for (const [index, { body }] of objects.entries()) {
      printed.push({ filename: `${stem}${index === 0 ? '' : `_${index + 1}`}.${printer.ending}`, key: undefined, data: await printer.print(body) })
    }
  }
  return printed
}

/** Why an object does not stand in a text, as one comment line. */
const missingLine = ({ apiVersion, kind, namespace, name, reason }: MissingObject): string =>
  `# ${reason === 'forbidden' ? 'Not shown to you' : 'Not in the cluster'}: ${apiVersion} ${kind} ${namespace}/${name}`.replace(/[^\x20-\x7e]/g, '?') + '\n'

/** Objects as documents of one YAML text; what is missing is told above them. */
export const documentsText = async (objects: readonly ManifestObject[], missing: readonly MissingObject[], texts: Pick<ChartTexts, 'print'>): Promise<string> => {
  const parts = missing.map(missingLine)
  for (const { body } of objects) parts.push(`---\n${await texts.print(body)}`)
  return parts.join('')
}
