/** Returns the plural of a kind as used in paths, as API servers form it for nearly every kind. */
export const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase()
  if (word === 'endpoints') return word
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

/** Splits `apps/v1` into group and version. */
export const groupVersionOf = (apiVersion: string): { readonly group: string; readonly version: string } => {
  const [first = '', second] = apiVersion.split('/')
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

/** `/apis/apps/v1` or `/api/v1`. */
export const apiRootOf = (apiVersion: string): string => (apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`)
