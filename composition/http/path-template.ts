/** Undefined where the escapes are no UTF-8. */
const decodedOf = (value: string): string | undefined => {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

/** The parameters of a checked path under a template, percent-decoded; undefined where the template does not match. */
export type MatchPath = (path: string) => Readonly<Record<string, string>> | undefined

/**
 * Matches a template of ours (`/authz/roles/{id}`). Where it ends in `/*` the rest of the path, also none, is the
 * parameter `path`.
 */
export const makeMatchPath = (template: string): MatchPath => {
  const isOpen = template.endsWith('/*')
  const wanted = (isOpen ? template.slice(0, -2) : template).split('/').map((text) => ({ text, name: /^\{(.+)\}$/.exec(text)?.[1] }))
  return (path) => {
    const given = path.split('/')
    if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return undefined
    const params: Record<string, string> = {}
    for (const [i, { text, name }] of wanted.entries()) {
      const value = given[i] as string
      if (name === undefined ? text !== value : value === '') return undefined
      const decoded = name === undefined ? value : decodedOf(value)
      if (decoded === undefined) return undefined
      if (name !== undefined) params[name] = decoded
    }
    const rest = isOpen ? decodedOf(given.slice(wanted.length).join('/')) : ''
    if (rest === undefined) return undefined
    return isOpen ? { ...params, path: rest } : params
  }
}
