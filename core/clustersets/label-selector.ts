import { isObject, listAt, at, textAt } from '../kernel/json.ts'

/** The labels of an object, by key. */
export type Labels = Readonly<Record<string, unknown>>

/** Whether one requirement of `matchExpressions` holds. Kubernetes refuses a selector with an unknown operator, or with In or NotIn without values: it selects nothing. */
const holds = (requirement: unknown, labels: Labels): boolean => {
  const key = textAt(requirement, 'key')
  const values = listAt(requirement, 'values')
  const isPresent = Object.hasOwn(labels, key)
  switch (textAt(requirement, 'operator')) {
    case 'In':
      return isPresent && values.includes(labels[key])
    case 'NotIn':
      return values.length > 0 && !(isPresent && values.includes(labels[key]))
    case 'Exists':
      return isPresent
    case 'DoesNotExist':
      return !isPresent
    default:
      return false
  }
}

/**
 * Reports whether a LabelSelector of Kubernetes selects an object with these labels: all of `matchLabels` and
 * `matchExpressions` must hold. An empty selector selects everything; an absent one selects nothing.
 */
export const selects = (selector: unknown, labels: Labels): boolean => {
  if (!isObject(selector)) return false
  const wanted = at(selector, 'matchLabels')
  const hasLabels = !isObject(wanted) || Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
  return hasLabels && listAt(selector, 'matchExpressions').every((requirement) => holds(requirement, labels))
}
