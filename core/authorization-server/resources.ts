import { accessScopes } from './scopes.ts'

/** Where an access token may be used (RFC 8707): the API, or one cluster in it. */
export type Resource = 'api' | { readonly owner: string; readonly cluster: string }

const clusterForm = /^\/clusters\/([^/?#%\s]{1,100})\/([^/?#%\s]{1,100})$/

/** Reads the address of a resource; undefined if it is none of this service. `apiUrl`: the address of the API. */
export const readResource = (apiUrl: string, indicator: string): Resource | undefined => {
  if (indicator === apiUrl) return 'api'
  if (!indicator.startsWith(apiUrl)) return undefined
  const [, owner, cluster] = clusterForm.exec(indicator.slice(apiUrl.length)) ?? []
  return owner === undefined || cluster === undefined ? undefined : { owner, cluster }
}

/** Returns the scopes that tokens for a resource can have. */
export const scopesOfResource = (resource: Resource): readonly string[] =>
  resource === 'api' ? accessScopes : accessScopes.filter((scope) => scope.endsWith(':cluster'))
