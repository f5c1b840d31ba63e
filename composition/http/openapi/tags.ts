import { inPlace } from '../../config/in-place.ts'

/** A tag group of the document. */
export interface Tag {
  readonly name: string
  readonly description: string
  /** The tag after which this one is listed; by default the one before it in its part, or the last. */
  readonly after?: string
}

/** Returns the tag groups of parts in the order of the document. */
export const tagsOf = (parts: readonly { readonly tags?: readonly Tag[] }[]): readonly Tag[] =>
  inPlace(parts.map(({ tags = [] }) => tags.map((tag) => ({ ...tag, id: tag.name }))))
