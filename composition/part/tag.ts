/** A tag group of the document. */
export interface Tag {
  readonly name: string
  readonly description: string
  /** The tag after which this one is listed; by default the one before it in its part, or the last. */
  readonly after?: string
}
