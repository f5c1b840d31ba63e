import { isLeft } from 'fp-ts/lib/Either.js'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { ChartTexts } from '../../core/packages/chart-ports.ts'
import type { HelmRendering } from '../../core/packages/helm-ports.ts'

const hookMark = 'helm.sh/hook'
const sourceLine = /^# Source: (.+)$/m

/** Characters of one text, and of all together, that are read for hooks: no record could hold more of them. */
const [mostOfOne, mostOfAll] = [1024 * 1024, 4 * 1024 * 1024]

interface HookDocument {
  readonly kind?: unknown
  readonly metadata?: { readonly name?: unknown; readonly annotations?: Readonly<Record<string, unknown>> | null } | null
}

const readDocument = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Promise<HookDocument | undefined> => {
  const read = await texts.parseAll(new TextEncoder().encode(text))
  const [document] = isLeft(read) ? [] : read.right
  return typeof document === 'object' && document !== null && !Array.isArray(document) ? (document as FreeObject) : undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const wordsOf = (value: unknown): readonly string[] =>
  typeof value === 'string' ? value.split(',').map((word) => word.trim()).filter((word) => word !== '') : []

/** A hook as Helm records one; undefined when the document is none after all. */
const hookOf = async (texts: Pick<ChartTexts, 'parseAll'>, text: string): Promise<FreeObject | undefined> => {
  const document = await readDocument(texts, text)
  const annotations = document?.metadata?.annotations ?? undefined
  const events = wordsOf(annotations?.[hookMark]).map((event) => (event === 'test-success' ? 'test' : event))
  if (document === undefined || annotations === undefined || events.length === 0) return undefined
  const weight = Number(textOf(annotations[`${hookMark}-weight`]))
  const policies = wordsOf(annotations[`${hookMark}-delete-policy`])
  return {
    name: textOf(document.metadata?.name),
    kind: textOf(document.kind),
    path: sourceLine.exec(text)?.[1] ?? '',
    manifest: text.replace(/^# Source: .+\n/, ''),
    events,
    weight: Number.isInteger(weight) ? weight : 0,
    ...(policies.length === 0 ? {} : { delete_policies: policies }),
  }
}

/** What `helm template` printed: documents in install order, then the hooks. */
export const readTemplateOutput = async (texts: Pick<ChartTexts, 'parseAll'>, output: string): Promise<HelmRendering> => {
  const hooks: FreeObject[] = []
  const kept: string[] = []
  let unread = mostOfAll
  const mayBeHook = (text: string): boolean => {
    if (!text.includes(hookMark) || text.length > mostOfOne || text.length > unread) return false
    unread -= text.length
    return true
  }
  for (const part of output.split(/^---[ \t]*$/m)) {
    const text = part.replace(/^\n+/, '').trimEnd()
    if (text === '') continue
    const hook = mayBeHook(text) ? await hookOf(texts, text) : undefined
    if (hook === undefined) kept.push(text)
    else hooks.push(hook)
  }
  return { manifest: kept.map((text) => `---\n${text}\n`).join(''), hooks, notes: '', release: undefined }
}

type PrintedRelease = NonNullable<HelmRendering['release']>

const isRelease = (value: FreeObject): value is FreeObject & PrintedRelease => typeof value['name'] === 'string' && typeof value['version'] === 'number'

/** All of a record but its chart, which is most of it. */
const releaseKeys = ['name', 'namespace', 'version', 'info', 'config', 'manifest', 'hooks', 'apply_method'] as const satisfies readonly (keyof PrintedRelease)[]

/** The record that install and upgrade print as JSON; undefined when it is none. */
export const readReleaseOutput = async (texts: Pick<ChartTexts, 'pick'>, output: Buffer): Promise<HelmRendering | undefined> => {
  const start = output.indexOf('{')
  if (start < 0) return undefined
  const read = await texts.pick(output.subarray(start), releaseKeys)
  if (isLeft(read) || !isRelease(read.right)) return undefined
  const { manifest, hooks, info } = read.right
  return { manifest: textOf(manifest), hooks: Array.isArray(hooks) ? hooks : [], notes: textOf(info?.notes), release: read.right }
}
