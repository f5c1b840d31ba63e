import { reconcile, type Effect } from '../workloads/reconcile.ts'
import { isTimed } from '../workloads/workload-outcome.ts'
import { admit } from './admission.ts'
import type { KubeObject } from './kube-object.ts'
import type { ObjectStore } from './object-store.ts'

const workloadKinds: ReadonlySet<string> = new Set([
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'Job',
  'Pod',
  'PersistentVolumeClaim',
])
const tickMilliseconds = 20

/** Does in the store what the controllers of a cluster do. Answers how to stop. */
export const progressWorkloads = (store: ObjectStore): (() => void) => {
  const due = new Set<string>()
  const perform = (effect: Effect): void => {
    const { object } = effect
    const kind = store.kindOf(object)
    if (effect.do === 'create') return void store.create(kind, admit(kind, object.metadata.namespace, object))
    // What an earlier effect changed is looked at again in the next round.
    if (store.get(kind, object.metadata.namespace, object.metadata.name) !== object) return
    if (effect.do === 'remove') return void store.remove(kind, object, 'Background')
    store.replace(
      kind,
      object,
      effect.do === 'scale'
        ? { ...object, spec: { ...object.spec, replicas: effect.replicas } }
        : { ...object, status: { ...object.status, ...effect.status } },
    )
  }
  const fixtureOf = (namespace: string): readonly KubeObject[] =>
    store.kinds.filter(({ kind }) => workloadKinds.has(kind)).flatMap((kind) => store.list(kind, namespace))
  const round = (): void => {
    const now = Date.now()
    for (const namespace of [...due]) {
      due.delete(namespace)
      const fixture = fixtureOf(namespace)
      for (const object of fixture) {
        for (const effect of reconcile(object, fixture, now)) perform(effect)
        if (isTimed(object, now)) due.add(namespace)
      }
    }
  }
  const timer = setInterval(round, tickMilliseconds)
  const unsubscribe = store.onEvent(({ kind, object }) => {
    if (workloadKinds.has(kind.kind)) due.add(object.metadata.namespace ?? '')
  })
  return () => {
    clearInterval(timer)
    unsubscribe()
  }
}
