import { isObject } from '../../../../core/kernel/json.ts'
import type { OpenApiDocument } from './document.ts'

/** Returns the references in a part of the document: `#/components/<section>/<name>`. */
const referencesIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(referencesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, part]) =>
    key === '$ref' && typeof part === 'string' ? [part] : referencesIn(part),
  )
}

const hasTag = (operation: object, tag: string): boolean =>
  (operation as { readonly tags?: readonly string[] }).tags?.includes(tag) === true

/** Returns what the references lead to, directly and through other components. */
const reachedFrom = (start: readonly string[], components: OpenApiDocument['components']): ReadonlySet<string> => {
  const reached = new Set<string>()
  for (let found = start; found.length > 0;) {
    const fresh = [...new Set(found)].filter((reference) => !reached.has(reference))
    for (const reference of fresh) reached.add(reference)
    found = fresh.flatMap((reference) => {
      const [, , section = '', name = ''] = reference.split('/')
      return referencesIn(components[section]?.[name])
    })
  }
  return reached
}

/**
 * Returns the document of the operations with a tag, with the components that they use: clients that are generated from
 * it have no more. Returns undefined if no operation has the tag.
 */
export const documentOfTag = (document: OpenApiDocument, tag: string): OpenApiDocument | undefined => {
  const { components, tags } = document
  const paths = Object.fromEntries(
    Object.entries(document.paths).flatMap(([path, item]) => {
      const operations = Object.entries(item).filter(([, operation]) => hasTag(operation, tag))
      return operations.length === 0 ? [] : [[path, Object.fromEntries(operations)]]
    }),
  )
  if (Object.keys(paths).length === 0) return undefined
  const reached = reachedFrom(referencesIn(paths), components)
  const used = Object.entries(components).map(([section, named]) => [
    section,
    Object.fromEntries(
      Object.entries(named).filter(
        ([name]) => section === 'securitySchemes' || reached.has(`#/components/${section}/${name}`),
      ),
    ),
  ])
  return {
    ...document,
    tags: tags.filter(({ name }) => name === tag),
    paths,
    components: Object.fromEntries(used) as OpenApiDocument['components'],
  }
}
