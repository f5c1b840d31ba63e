import type { Condition, Kind, KubeObject } from './kinds.ts'
import type { KubeClient } from './kube-client.ts'

/** The conditions with these put in; `undefined` when they are there already. */
const withConditions = (
  known: readonly Condition[] | undefined,
  next: readonly Omit<Condition, 'lastTransitionTime'>[],
): readonly Condition[] | undefined => {
  const old = known ?? []
  const changed = next.filter((each) => {
    const found = old.find(({ type }) => type === each.type)
    return (
      found === undefined ||
      found.status !== each.status ||
      found.reason !== each.reason ||
      found.message !== each.message ||
      (each.observedGeneration ?? found.observedGeneration) !== found.observedGeneration
    )
  })
  if (changed.length === 0) return undefined
  const added = changed.map((each) => {
    const found = old.find(({ type }) => type === each.type)
    const isSameStatus = found?.status === each.status && found.lastTransitionTime !== undefined
    return {
      ...each,
      lastTransitionTime: isSameStatus ? found.lastTransitionTime : new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    }
  })
  return [...old.filter(({ type }) => !added.some((each) => each.type === type)), ...added]
}

export const conditionOf = (
  object: { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined => object.status?.conditions?.find((each) => each.type === type)

export const isTrue = (
  object: { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): boolean => conditionOf(object, type)?.status === 'True'

type WithConditions = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } }

/**
 * Writes conditions, and other fields of the status, if that changes any; a conflict when the object has changed since
 * it was read.
 */
export const reportStatus = async <A extends WithConditions>(
  client: KubeClient,
  kind: Kind<A>,
  object: A,
  conditions: readonly Omit<Condition, 'lastTransitionTime'>[],
  fields: Readonly<Record<string, unknown>> = {},
): Promise<void> => {
  const next = withConditions(object.status?.conditions, conditions)
  const status = object.status as Readonly<Record<string, unknown>> | undefined
  const isChanged = Object.entries(fields).some(
    ([name, value]) => JSON.stringify(status?.[name]) !== JSON.stringify(value),
  )
  if (next === undefined && !isChanged) return
  const { resourceVersion } = object.metadata
  await client.patch(
    kind,
    object,
    { metadata: { resourceVersion }, status: { ...fields, ...(next === undefined ? {} : { conditions: next }) } },
    { subresource: 'status' },
  )
}

/** Adds finalizers; returns the object as it is then, or `undefined` when it is gone. */
export const addFinalizers = async <A extends KubeObject>(
  client: KubeClient,
  kind: Kind<A>,
  object: A,
  ...wanted: readonly string[]
): Promise<A | undefined> => {
  const { finalizers = [], resourceVersion } = object.metadata
  const missing = wanted.filter((each) => !finalizers.includes(each))
  if (missing.length === 0) return object
  return client.patch(kind, object, { metadata: { resourceVersion, finalizers: [...finalizers, ...missing] } })
}

/** Removes a finalizer; returns the object as it is then, or `undefined` when it is gone. */
export const removeFinalizer = async <A extends KubeObject>(
  client: KubeClient,
  kind: Kind<A>,
  object: A,
  finalizer: string,
): Promise<A | undefined> => {
  const { finalizers = [], resourceVersion } = object.metadata
  if (!finalizers.includes(finalizer)) return object
  return client.patch(kind, object, {
    metadata: { resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) },
  })
}
