import type { Names } from '../../../../plugins/kit/names.ts'
import type { Route } from '../../../../plugins/kit/route.ts'
import { paramsOf } from '../../../../plugins/kit/access.ts'
import { namesNear } from '../../../../plugins/kit/unknown-fields.ts'
import { isWholeNumber } from './paging.ts'
import { platformParameters, propsOf, strictParameter } from './decode.ts'

/** What of a query string has no effect. */
export interface IgnoredParameters {
  /** Names that the route does not know, and `page` and `limit` if the default is used instead of their value. */
  readonly ignored: readonly string[]
  /** Why the request is refused: a name that is probably another one misspelt, or any with `strict`. */
  readonly refused: readonly string[]
}

const none: IgnoredParameters = { ignored: [], refused: [] }

/** More names would not help a client. */
const mostNames = 20

/** Returns the names of the query parameters that a route reads. */
const knownNames = (route: Route): ReadonlySet<string> =>
  new Set([
    ...platformParameters,
    strictParameter,
    ...Object.keys(propsOf(route.query)),
    ...(route.body?.orQuery === true ? Object.keys(propsOf(route.body.codec)) : []),
    ...(route.access.kind === 'granted' ? paramsOf(route.access.object) : [])
      .filter((param) => param.in === 'query')
      .map(({ name }) => name),
  ])

/**
 * Returns the function that finds the parameters of a query string which have no effect on a route: as for the fields
 * of bodies, a name that differs from a known one, which is absent, only in case, separators or one letter is refused.
 * `sent` is the query string as sent.
 */
export const makeFindIgnored = (route: Route, names: Names | undefined) => {
  const known = knownNames(route)
  const isPaged = route.ok.kind === 'list' && propsOf(route.query)['page'] === undefined
  const isKnown = (name: string): boolean => known.has(name) || known.has(names?.ownField(name) ?? '')
  return (sent: string, isStrict: boolean): IgnoredParameters => {
    if (sent === '') return none
    const params = new URLSearchParams(sent)
    const unknown = [...new Set(params.keys())].filter((name) => !isKnown(name)).slice(0, mostNames)
    const unread = ['page', 'limit'].filter((name) => isPaged && params.has(name) && !isWholeNumber(params.get(name)))
    if (unknown.length === 0) return { ignored: unread, refused: [] }
    const refused = unknown.flatMap((name) => {
      const meant = namesNear(name, known).find((other) => !params.has(other))
      if (meant !== undefined) return [`${name.slice(0, 200)} is not a known parameter; did you mean ${meant}?`]
      return isStrict ? [`${name.slice(0, 200)} is not a known parameter`] : []
    })
    return { ignored: [...unknown, ...unread], refused }
  }
}
