import { left, map, right, type Either } from 'fp-ts/lib/Either.js'
import { YAMLException, dump, loadAll } from 'js-yaml'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { TextUnreadable, type YamlText } from '../../core/packages/ports.ts'
import { kubernetesSchema, printingSchema } from './kubernetes-yaml-schema.ts'

/** UTF-16 units of one text: more than the largest manifest that a release record can hold. */
const maxLength = 8 * 1024 * 1024
/** Deeper than any resource definition. */
const maxDepth = 200
const maxAliases = 10_000
const maxMergedKeys = 50_000

/** Copies what aliases share, so that every place is a value of its own, and gives up when that grows. */
const unshared = (value: Json, budget: { left: number }): Json => {
  budget.left -= typeof value === 'string' ? 1 + value.length : 1
  if (budget.left < 0) throw new Error('its aliases make too much of it')
  if (Array.isArray(value)) return value.map((item) => unshared(item as Json, budget))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as FreeObject).map(([key, item]) => {
      budget.left -= key.length
      return [key, unshared(item ?? null, budget)]
    }),
  )
}

/** Where, and the reason in the library's words, which repeat nothing of the text beyond names of anchors and tags. */
const reasonOf = (error: unknown): string => {
  if (error instanceof YAMLException) return error.mark === undefined ? error.reason : `${error.reason} (line ${error.mark.line + 1})`
  return (error as Error).message
}

const read = (text: string): Either<Failure<'TextUnreadable'>, readonly (Json | undefined)[]> => {
  if (text.length > maxLength) return left(TextUnreadable(`The text is longer than ${maxLength} characters.`))
  try {
    const source = text.startsWith('\uFEFF') ? text.slice(1) : text
    const documents = loadAll(source, { schema: kubernetesSchema, json: true, maxDepth, maxAliases, maxTotalMergeKeys: maxMergedKeys }) as (Json | undefined)[]
    if (!source.includes('*')) return right(documents)
    const budget = { left: 100_000 + 8 * source.length }
    return right(documents.map((document) => (document === undefined ? undefined : unshared(document, budget))))
  } catch (error) {
    return left(TextUnreadable(`The text is no YAML that can be read: ${reasonOf(error)}.`))
  }
}

const isFilled = (document: Json | undefined): document is Json => document !== undefined && document !== null

/** YamlText as sigs.k8s.io/yaml reads, over js-yaml, which reads large files many times faster than others. */
export const kubernetesYamlText: YamlText = {
  parse: (text) => {
    const documents = read(text)
    if (documents._tag === 'Left') return documents
    const filled = documents.right.filter(isFilled)
    if (filled.length > 1) return left(TextUnreadable('The text holds several documents; one is wanted.'))
    return right(filled[0] ?? documents.right.find((document) => document !== undefined))
  },
  parseAll: (text) => map((documents: readonly (Json | undefined)[]) => documents.filter(isFilled))(read(text)),
  print: (value) =>
    dump(value, { schema: printingSchema, noRefs: true, lineWidth: -1, seqNoIndent: true, quoteStyle: 'double', skipInvalid: true }),
}
