import { createHash, hash } from 'node:crypto'

const digestCharacters = 22

/** Returns a strong entity tag of bytes that are added in pieces: the same as that of the whole. */
export const makeEntityTag = () => {
  const digest = createHash('sha256')
  return {
    add: (bytes: Uint8Array): void => void digest.update(bytes),
    tag: (): string => `"${digest.digest('base64url').slice(0, digestCharacters)}"`,
  }
}

/** Returns a strong entity tag: the version of the row, if any, and a digest of the bytes that are sent. */
export const entityTag = (body: string | Uint8Array, version?: number): string => {
  const digest = hash('sha256', body, 'base64url').slice(0, digestCharacters)
  return version === undefined ? `"${digest}"` : `"${version}-${digest}"`
}

const tagsOf = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? []
const opaque = (tag: string): string => tag.replace(/^W\//, '')

/** Reports whether the client already holds this representation (RFC 9110 §13.1.2, weak comparison). */
export const noneMatch = (header: string | undefined, tag: string): boolean =>
  header === undefined || !(header.trim() === '*' || tagsOf(header).some((other) => opaque(other) === opaque(tag)))

/** The condition of an If-Match header. */
export type IfMatch =
  | { readonly kind: 'absent' }
  | { readonly kind: 'any' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'never' }

/**
 * Parses If-Match (RFC 9110 §13.1.1, strong comparison). A tag starts with the version of the row, which the change
 * compares and sets.
 */
export const parseIfMatch = (header: string | undefined): IfMatch => {
  if (header === undefined) return { kind: 'absent' }
  if (header.trim() === '*') return { kind: 'any' }
  const strong = tagsOf(header).filter((tag) => !tag.startsWith('W/'))
  const version = strong.length === 1 ? /^"(\d{1,15})-/.exec(strong[0] as string)?.[1] : undefined
  return version === undefined ? { kind: 'never' } : { kind: 'version', version: Number(version) }
}
