import type { ClusterFacts, ClusterStatus } from './types.ts'

/** What one look at a cluster gave. */
export type Observation =
  | { readonly kind: 'answered'; readonly facts: ClusterFacts }
  | { readonly kind: 'refused-credential'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string }

/** The state of a recorded cluster after one look at it. */
export const judge = (recordedUid: string, seen: Observation): ClusterStatus => {
  if (seen.kind === 'refused-credential') return { phase: 'NotConnected', reason: 'AuthIssue', message: seen.message }
  if (seen.kind === 'unreachable') return { phase: 'NotConnected', reason: 'Unknown', message: seen.message }
  if (seen.facts.uid !== recordedUid)
    return { phase: 'Lost', reason: 'ClusterNotFound', message: 'Another cluster answers at the recorded address.' }
  if (!seen.facts.isReady)
    return { phase: 'NotReady', reason: 'Unknown', message: 'The API server answers but reports that it is not ready.' }
  return { phase: 'Active', reason: undefined, message: '' }
}

/** A record without a credential waits for someone to connect it. */
export const registered: ClusterStatus = {
  phase: 'Registered',
  reason: 'MissingComponent',
  message: 'No credential is stored; connect the cluster with an access config.',
}

export const notImported: ClusterStatus = { phase: 'NotImported', reason: undefined, message: '' }
