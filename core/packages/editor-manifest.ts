import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { ChartTexts } from './chart-ports.ts'
import { own, ownText } from './editor-json.ts'
import { EditorUnfit } from './editor-ports.ts'
import type { HelmRendering } from './helm-ports.ts'
import { objectsOf, type ManifestObject } from './manifest-objects.ts'

const hasEvent = (hook: FreeObject, event: string): boolean => {
  const events = own(hook, 'events')
  return Array.isArray(events) && events.includes(event)
}

const hookText = (hook: FreeObject): string => `---\n# Source: ${ownText(hook, 'path')}\n${ownText(hook, 'manifest').trim()}\n`
const hooksOf = ({ hooks }: HelmRendering, event: string): string => hooks.filter((hook) => hasEvent(hook, event)).map(hookText).join('')

/** All that an installation would make, in its order: hooks before, manifests, hooks after. Each after a `# Source:` comment. */
export const renderedText = (rendering: HelmRendering): string => {
  const manifest = rendering.manifest.trim()
  return hooksOf(rendering, 'pre-install') + (manifest === '' ? '' : `${manifest.startsWith('---') ? '' : '---\n'}${manifest}\n`) + hooksOf(rendering, 'post-install')
}

/** Objects of one installation that editors deal with at most. */
export const maxObjects = 2000

/** The objects of a manifest, in its order; items of lists each for itself. Failure: EditorUnfit, when one of them has no name, or there are too many. */
export const parseManifest = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Outcome<Failure<'EditorUnfit'>, readonly ManifestObject[]> => {
  const objects = await objectsOf(texts, text)
  if (isLeft(objects)) return left(EditorUnfit(`The chart renders what cannot be read: ${objects.left.message}`))
  if (objects.right.length > maxObjects) return left(EditorUnfit(`The chart renders ${objects.right.length} objects; at most ${maxObjects} are taken.`))
  const isWhole = objects.right.every(({ apiVersion, name }) => apiVersion !== '' && name !== '')
  return isWhole ? objects : left(EditorUnfit('The chart renders an object without apiVersion or metadata.name.'))
}
