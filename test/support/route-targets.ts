import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import { pathNames } from '../../composition/runtime/http/openapi/parameters.ts'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import type { ObjectName } from '../../plugins/kit/codecs.ts'
import { objectNameOf, optionalInner, repeatedItem } from '../../plugins/kit/codecs.ts'
import type { MadeTenant } from './samples.ts'
import { valuesOf } from './samples.ts'

/** A parameter of a route that names an object, or one of a closed list of words. */
export interface NamingParameter {
  readonly in: 'path' | 'query'
  readonly name: string
  readonly isNeeded: boolean
  readonly object: ObjectName | { readonly words: readonly string[] }
}

const isNeeded = (codec: Parameters<typeof optionalInner>[0]): boolean =>
  optionalInner(codec) === undefined && repeatedItem(codec) === undefined

/** What follows the path of a route is not the service's: any path does. */
const rest = { words: ['version'] } as const

/** The parameters of a route that need a value, and those that may have the name of an object. */
export const namingParametersOf = ({ bound, fullPath }: AssembledRoute): readonly NamingParameter[] => {
  const inPath = propsOf(bound.route.params)
  const inQuery = bound.kind === 'json' ? propsOf(bound.route.query) : {}
  return [
    ...pathNames(fullPath).map((name): NamingParameter => {
      const codec = inPath[name]
      const object = codec === undefined ? undefined : objectNameOf(codec)
      const words = (codec as { readonly keys?: object } | undefined)?.keys
      if (typeof object === 'object') return { in: 'path', name, isNeeded: true, object }
      if (words !== undefined)
        return { in: 'path', name, isNeeded: true, object: { words: Object.keys(words).slice(0, 1) } }
      if (name === 'path' && fullPath.endsWith('/*')) return { in: 'path', name, isNeeded: true, object: rest }
      throw new Error(`${bound.route.id} does not say what {${name}} names: use pathId, pathName or naming`)
    }),
    ...Object.entries(inQuery).flatMap(([name, codec]): readonly NamingParameter[] => {
      const object = objectNameOf(codec)
      if (typeof object === 'object') return [{ in: 'query', name, isNeeded: isNeeded(codec), object }]
      if (isNeeded(codec))
        throw new Error(`${bound.route.id} does not say what the parameter ${name} names: use queryId or naming`)
      return []
    }),
  ]
}

/** The values of a parameter in a tenant. */
export const valuesIn = (
  tenant: Pick<MadeTenant, 'names'>,
  { object }: NamingParameter,
  route: AssembledRoute,
): readonly string[] =>
  'words' in object ? object.words : valuesOf(tenant, object.object, object.by, route.bound.route.id)

/** The template of the path, in which the rest of a path has a name as well. */
export const templateOf = ({ fullPath }: AssembledRoute): string => fullPath.replace(/\*$/, '{path}')

/** The path with its query. */
export const addressOf = (path: string, query: URLSearchParams): string =>
  query.size === 0 ? path : `${path}?${query.toString()}`

/** A well-formed address of a route in a tenant, with the query parameters that it cannot do without. */
export const targetOf = (route: AssembledRoute, tenant: Pick<MadeTenant, 'names'>): string => {
  const query = new URLSearchParams()
  let path = templateOf(route)
  for (const parameter of namingParametersOf(route)) {
    const { name } = parameter
    const value = (): string => valuesIn(tenant, parameter, route)[0] ?? ''
    if (parameter.in === 'path') path = path.replace(`{${name}}`, value())
    // Without the account, the routes about the own one are asked, which has none of the objects.
    else if (parameter.isNeeded || name === 'org') query.set(name, value())
  }
  return addressOf(path, query)
}
