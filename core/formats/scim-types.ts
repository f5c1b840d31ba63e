/** The values of `scimType`, by which SCIM tells apart why a request is refused (RFC 7644 §3.12). */
const scimTypes = [
  'invalidFilter',
  'tooMany',
  'uniqueness',
  'mutability',
  'invalidSyntax',
  'invalidPath',
  'noTarget',
  'invalidValue',
] as const
export type ScimType = (typeof scimTypes)[number]

/** Returns the `scimType` of a failure, whose tag is the word with an upper-case letter; undefined for other tags. */
export const scimTypeOf = (tag: string): ScimType | undefined =>
  scimTypes.find((word) => word === tag.charAt(0).toLowerCase() + tag.slice(1))
