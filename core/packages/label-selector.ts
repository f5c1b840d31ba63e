import type { FreeObject, Json } from '../kernel/json.ts'
import { asTable, entriesOf } from './value-tables.ts'

type Labels = Readonly<Record<string, Json | undefined>>
type Test = (labels: Labels) => boolean

const valueOf = (labels: Labels, key: string): Json | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined)

const expressionTest = (given: FreeObject): Test | undefined => {
  const { key, operator, values } = given
  if (typeof key !== 'string') return undefined
  const among: readonly Json[] = Array.isArray(values) ? (values as readonly Json[]) : []
  switch (operator) {
    case 'In':
      return (labels) => among.includes(valueOf(labels, key) ?? null)
    case 'NotIn':
      // As Kubernetes: an object without the label is not in the set.
      return (labels) => !among.includes(valueOf(labels, key) ?? null)
    case 'Exists':
      return (labels) => valueOf(labels, key) !== undefined
    case 'DoesNotExist':
      return (labels) => valueOf(labels, key) === undefined
    default:
      return undefined
  }
}

/**
 * Whether labels meet a label selector of Kubernetes (`matchLabels`, `matchExpressions`; an empty one is met by all).
 * Undefined for what is no selector.
 */
export const labelTest = (selector: FreeObject): Test | undefined => {
  const { matchLabels = {}, matchExpressions = [] } = selector
  const pairs = asTable(matchLabels ?? {})
  const expressions = Array.isArray(matchExpressions ?? []) ? ((matchExpressions ?? []) as readonly Json[]).map(asTable) : undefined
  if (pairs === undefined || expressions === undefined) return undefined
  const tests = [
    ...entriesOf(pairs).map(([key, value]): Test => (labels) => valueOf(labels, key) === value),
    ...expressions.map((each) => (each === undefined ? undefined : expressionTest(each))),
  ]
  const known = tests.filter((test) => test !== undefined)
  return known.length === tests.length ? (labels) => known.every((test) => test(labels)) : undefined
}
