import type { KubeObject, Tree } from '../fake-api/kube-object.ts'
import { isTree } from '../fake-api/kube-object.ts'

/**
 * What becomes of a workload, by an annotation on it or on its pods: `succeed` (when there is none), `fail`, or
 * `never`: it neither succeeds nor fails.
 */
export type Outcome = 'succeed' | 'fail' | 'never'

const outcomeAnnotation = 'moorage.test/outcome'
/** Milliseconds from the creation until the outcome comes about. */
export const afterAnnotation = 'moorage.test/after'

const annotation = (object: KubeObject, name: string): string | undefined =>
  object.metadata.annotations?.[name] ?? templateAnnotation(object.spec, name)

const templateAnnotation = (spec: Tree | undefined, name: string): string | undefined => {
  const metadata = isTree(spec?.['template']) ? spec['template']['metadata'] : undefined
  const annotations = isTree(metadata) ? metadata['annotations'] : undefined
  const value = isTree(annotations) ? annotations[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** What is to be now: before its time nothing has come about. */
export const outcomeOf = (object: KubeObject, now: number): Outcome => {
  const created = Date.parse(object.metadata.creationTimestamp ?? '')
  if (now < created + Number(annotation(object, afterAnnotation) ?? 0)) return 'never'
  const wanted = annotation(object, outcomeAnnotation)
  return wanted === 'fail' || wanted === 'never' ? wanted : 'succeed'
}

/** True when time alone will change what `outcomeOf` says. */
export const isTimed = (object: KubeObject, now: number): boolean =>
  now < Date.parse(object.metadata.creationTimestamp ?? '') + Number(annotation(object, afterAnnotation) ?? 0)
