import { isTree, type KubeObject } from './kube-object.ts'

export type Selects = (object: KubeObject) => boolean

/** A label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. */
export const labelSelector = (text: string | null): Selects => {
  const terms = (text ?? '')
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
    .map(labelTerm)
  return (object) => terms.every((holds) => holds(object.metadata.labels ?? {}))
}

const labelTerm = (term: string): ((labels: Readonly<Record<string, string>>) => boolean) => {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term)
  if (set !== null) {
    const [, key = '', operator, list = ''] = set
    const values = list.split(',').map((value) => value.trim())
    return (labels) => values.includes(labels[key] ?? '\0') === (operator === 'in')
  }
  const equality = /^([^!=]+?)\s*(==|=|!=)\s*(.*)$/.exec(term)
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality
    return (labels) => (labels[key] === value) === (operator !== '!=')
  }
  return term.startsWith('!') ? (labels) => !(term.slice(1) in labels) : (labels) => term in labels
}

/** A field selector; absent fields are the empty string. */
export const fieldSelector = (text: string | null): Selects => {
  const terms = (text ?? '')
    .split(',')
    .filter((term) => term !== '')
    .map((term) => /^(.+?)(==|=|!=)(.*)$/.exec(term))
  return (object) =>
    terms.every((term) => term === null || (fieldOf(object, term[1] ?? '') === term[3]) === (term[2] !== '!='))
}

const fieldOf = (object: KubeObject, path: string): string => {
  const value = path.split('.').reduce<unknown>((at, key) => (isTree(at) ? at[key] : undefined), object)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
