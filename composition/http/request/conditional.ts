import { hash } from 'node:crypto'

/** A strong entity tag: the row's version where there is one, and a digest of the bytes that are sent. */
export const entityTag = (body: string | Uint8Array, version?: number): string => {
  const digest = hash('sha256', body, 'base64url').slice(0, 22)
  return version === undefined ? `"${digest}"` : `"${version}-${digest}"`
}

const tagsOf = (header: string): readonly string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? []
const opaque = (tag: string): string => tag.replace(/^W\//, '')

/** RFC 9110 §13.1.2, weak comparison: whether the client already holds this representation. */
export const noneMatch = (header: string | undefined, tag: string): boolean =>
  header === undefined || !(header.trim() === '*' || tagsOf(header).some((other) => opaque(other) === opaque(tag)))

/** What an If-Match header asks for. */
export type IfMatch =
  | { readonly kind: 'absent' }
  | { readonly kind: 'any' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'never' }

/** RFC 9110 §13.1.1, strong comparison: our tags start with the row's version, which the change then compares and sets. */
export const parseIfMatch = (header: string | undefined): IfMatch => {
  if (header === undefined) return { kind: 'absent' }
  if (header.trim() === '*') return { kind: 'any' }
  const strong = tagsOf(header).filter((tag) => !tag.startsWith('W/'))
  const version = strong.length === 1 ? /^"(\d{1,15})-/.exec(strong[0] as string)?.[1] : undefined
  return version === undefined ? { kind: 'never' } : { kind: 'version', version: Number(version) }
}
