import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { Chart, ChartTexts } from '../charts/ports.ts'
import type { ManifestObject } from '../releases/kubernetes-objects.ts'
import { objectsOf } from '../releases/kubernetes-objects.ts'
import type { HelmRendering } from '../releases/ports.ts'
import { own, ownText } from './json-members.ts'
import { EditorUnfit } from './ports.ts'
import { resourceFilenames, resourceKey } from './resource-keys.ts'
import type { MissingObject, ResourceFile } from './types.ts'

const hasEvent = (hook: FreeObject, event: string): boolean => {
  const events = own(hook, 'events')
  return Array.isArray(events) && events.includes(event)
}

const hookText = (hook: FreeObject): string => `---\n# Source: ${ownText(hook, 'path')}\n${ownText(hook, 'manifest').trim()}\n`
const hooksOf = ({ hooks }: HelmRendering, event: string): string => hooks.filter((hook) => hasEvent(hook, event)).map(hookText).join('')

/** Returns everything that an installation creates, in order: hooks before, manifests, hooks after. Each follows a `# Source:` comment. */
export const renderedText = (rendering: HelmRendering): string => {
  const manifest = rendering.manifest.trim()
  return hooksOf(rendering, 'pre-install') + (manifest === '' ? '' : `${manifest.startsWith('---') ? '' : '---\n'}${manifest}\n`) + hooksOf(rendering, 'post-install')
}

/** Maximum number of objects of one installation. */
export const maxObjects = 2000

/**
 * Returns the objects of a manifest, in order; list items are separate objects. Failure: EditorUnfit if an object has no
 * name or there are too many.
 */
export const parseManifest = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Outcome<Failure<'EditorUnfit'>, readonly ManifestObject[]> => {
  const objects = await objectsOf(texts, text)
  if (isLeft(objects)) return left(EditorUnfit(`The chart renders what cannot be read: ${objects.left.message}`))
  if (objects.right.length > maxObjects) return left(EditorUnfit(`The chart renders ${objects.right.length} objects; at most ${maxObjects} are taken.`))
  const isWhole = objects.right.every(({ apiVersion, name }) => apiVersion !== '' && name !== '')
  return isWhole ? objects : left(EditorUnfit('The chart renders an object without apiVersion or metadata.name.'))
}

/** Prints one object in the requested format. */
export interface ObjectPrinter {
  readonly ending: 'json' | 'yaml'
  print(object: FreeObject): Promise<string>
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byKind = (a: ManifestObject, b: ManifestObject): number => compare(a.apiVersion, b.apiVersion) || compare(a.kind, b.kind) || compare(a.name, b.name)

/** Returns one file per object, named by apiVersion, kind and name. */
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

/** Returns the files under `crds/` of a chart and its subcharts, by path. */
export const crdFilesOf = (chart: Chart): readonly { readonly path: string; readonly bytes: Uint8Array }[] =>
  [...chart.files]
    .filter(([path]) => isCrdFile(path))
    .map(([path, bytes]) => ({ path, bytes }))
    .sort((a, b) => compare(a.path, b.path))

/** Returns one file per CRD, named after its source file, with a number if that file contains several. */
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

/** Returns the reason why an object is missing from a text, as one comment line. */
const missingLine = ({ apiVersion, kind, namespace, name, reason }: MissingObject): string =>
  `# ${reason === 'forbidden' ? 'Not shown to you' : 'Not in the cluster'}: ${apiVersion} ${kind} ${namespace}/${name}`.replace(/[^\x20-\x7e]/g, '?') + '\n'

/** Returns objects as one multi-document YAML text, preceded by comments on missing objects. */
export const documentsText = async (objects: readonly ManifestObject[], missing: readonly MissingObject[], texts: Pick<ChartTexts, 'print'>): Promise<string> => {
  const parts = missing.map(missingLine)
  for (const { body } of objects) parts.push(`---\n${await texts.print(body)}`)
  return parts.join('')
}
