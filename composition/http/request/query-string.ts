import type * as t from 'io-ts'
import { optionalInner, repeatedItem } from '../../../plugins/kit/codecs.ts'

export type QueryResult =
  | { readonly ok: true; readonly value: Record<string, string | string[]> }
  | { readonly ok: false; readonly message: string }

/** Returns the properties of a query or body codec, including those inside `exact`. */
export const propsOf = (codec: t.Any | undefined): Readonly<Record<string, t.Any>> => {
  const tagged = codec as { _tag?: string; props?: Record<string, t.Any>; type?: t.Any; types?: t.Any[] } | undefined
  if (tagged === undefined) return {}
  if (tagged.props !== undefined) return tagged.props
  if (tagged._tag === 'IntersectionType') return Object.assign({}, ...(tagged.types ?? []).map(propsOf)) as Record<string, t.Any>
  return tagged._tag === 'ExactType' || tagged._tag === 'RefinementType' ? propsOf(tagged.type) : {}
}

const isRepeatable = (codec: t.Any | undefined): boolean => {
  if (codec === undefined) return false
  const inner = optionalInner(codec)
  return repeatedItem(codec) !== undefined || (inner !== undefined && repeatedItem(inner) !== undefined)
}

/** Platform parameters that every route accepts. They are never part of a route's own query. */
export const platformParameters = ['token', 'access_token', 'sudo', 'org', 'page', 'limit'] as const

/**
 * Parses a query string for the properties of a codec. A repeated key that may not repeat is refused: two readers of the same
 * request must not see different values. Undeclared keys are ignored.
 */
export const parseQuery = (params: URLSearchParams, codec: t.Any | undefined): QueryResult => {
  const props = propsOf(codec)
  const value: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const name of platformParameters) {
    if (params.getAll(name).length > 1 && !isRepeatable(props[name])) return repeated(name)
  }
  for (const name of Object.keys(props)) {
    const all = params.getAll(name)
    if (all.length === 0) continue
    if (isRepeatable(props[name])) value[name] = all
    else if (all.length > 1) return repeated(name)
    else value[name] = all[0] as string
  }
  return { ok: true, value: { ...value } }
}

const repeated = (name: string): QueryResult => ({ ok: false, message: `The query parameter "${name}" must not be repeated.` })
