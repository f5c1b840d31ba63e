import type { Lifecycle, Subscription, SubscriptionState } from '../types.ts'

/** What happens to a subscription. */
export type LifecycleEvent =
  | {
      readonly kind: 'put'
      readonly outcome: 'Accepted' | 'Succeeded' | 'Failed'
      readonly ticks: bigint
      /** The provider sent no time: `ticks` is the time of arrival. */
      readonly isUndated?: boolean
    }
  | { readonly kind: 'delete'; readonly outcome: 'Deleting' | 'Deleted' | 'Failed'; readonly ticks: bigint }
  /** `ticks` is undefined if no time was sent. */
  | { readonly kind: 'bind'; readonly installerRef: string; readonly ticks?: bigint | undefined }
  | { readonly kind: 'reported' }
  | { readonly kind: 'revoke' }

/** What an event changes. */
export type Transition =
  | {
      readonly kind: 'applied'
      readonly next: Lifecycle
      readonly revokesContracts: boolean
      /** The vendor must be notified: what was requested did not happen. */
      readonly alerts: boolean
    }
  /** The application was bought again after its deletion: a new subscription begins. */
  | { readonly kind: 'begins-again'; readonly next: Lifecycle }
  /** The subscription is not known. A tombstone prevents an earlier event from creating it. */
  | { readonly kind: 'unknown'; readonly tombstone: Lifecycle }
  | { readonly kind: 'unchanged'; readonly reason: 'stale' | 'ended' | 'repeated' | 'undecided' }
  | { readonly kind: 'refused'; readonly reason: 'other-installer' | 'ended' }

const ended: readonly SubscriptionState[] = ['Deleting', 'DeletionFailed', 'Deleted', 'Revoked']

/** Reports whether the provider still has the application, or may have it. */
export const isEnded = (state: SubscriptionState): boolean => ended.includes(state)

const later = (a: bigint | undefined, b: bigint): bigint => (a === undefined || a < b ? b : a)

const applied = (
  next: Lifecycle,
  effects: { readonly revokes?: boolean; readonly alerts?: boolean } = {},
): Transition => ({
  kind: 'applied',
  next,
  revokesContracts: effects.revokes === true,
  alerts: effects.alerts === true,
})

const fresh: Lifecycle = {
  state: 'Pending',
  installerRef: undefined,
  isProvisioned: false,
  lastTicks: undefined,
  isTombstone: false,
}

/** Before its installer is bound, an application that is provisioned waits. */
const provisioned = (known: Lifecycle): SubscriptionState => (known.installerRef === undefined ? 'Pending' : 'Running')

const stateAfterPut = (known: Lifecycle, outcome: 'Accepted' | 'Succeeded' | 'Failed'): SubscriptionState => {
  if (outcome === 'Succeeded') return provisioned(known)
  const mayFail = outcome === 'Failed' && ['Pending', 'Bounded'].includes(known.state)
  // An update that fails leaves what is running.
  return mayFail ? 'Failed' : known.state
}

const isLater = (ticks: bigint, { lastTicks }: Pick<Lifecycle, 'lastTicks'>): boolean =>
  lastTicks === undefined || ticks > lastTicks

const afterPut = (from: Lifecycle, { outcome, ticks }: LifecycleEvent & { readonly kind: 'put' }): Lifecycle => ({
  ...from,
  state: stateAfterPut(from, outcome),
  isProvisioned: from.isProvisioned || outcome === 'Succeeded',
  lastTicks: ticks,
})

const put = (known: Lifecycle | undefined, event: LifecycleEvent & { readonly kind: 'put' }): Transition => {
  const from = known ?? fresh
  if (!isEnded(from.state))
    return isLater(event.ticks, from) ? applied(afterPut(from, event)) : { kind: 'unchanged', reason: 'stale' }
  if (!isLater(event.ticks, from)) return { kind: 'unchanged', reason: 'ended' }
  // It may be late, or about an application that is not deleted yet.
  if (event.isUndated === true || from.state !== 'Deleted') return { kind: 'unchanged', reason: 'undecided' }
  const next = afterPut(fresh, event)
  return from.isTombstone ? applied(next) : { kind: 'begins-again', next }
}

const bind = (
  known: Lifecycle | undefined,
  { installerRef, ticks }: LifecycleEvent & { readonly kind: 'bind' },
): Transition => {
  const from = known ?? fresh
  if (from.state === 'Deleted' && ticks !== undefined && isLater(ticks, from)) {
    // The purchase is reported later: it may be dated before the bind, but not before the deletion.
    const next: Lifecycle = { ...fresh, installerRef, state: 'Bounded', lastTicks: from.lastTicks }
    return from.isTombstone ? applied(next) : { kind: 'begins-again', next }
  }
  if (isEnded(from.state) || from.state === 'Failed') return { kind: 'refused', reason: 'ended' }
  if (from.installerRef !== undefined)
    return from.installerRef === installerRef
      ? { kind: 'unchanged', reason: 'repeated' }
      : { kind: 'refused', reason: 'other-installer' }
  return applied({ ...from, installerRef, state: from.isProvisioned ? 'Running' : 'Bounded' })
}

type Known = Lifecycle & Partial<Pick<Subscription, 'floorTicks'>>

const remove = (known: Known | undefined, event: LifecycleEvent & { readonly kind: 'delete' }): Transition => {
  const { outcome, ticks } = event
  if (known?.floorTicks !== undefined && ticks <= known.floorTicks) return { kind: 'unchanged', reason: 'stale' }
  if (known === undefined || known.isTombstone) {
    const tombstone: Lifecycle = {
      ...fresh,
      state: 'Deleted',
      lastTicks: later(known?.lastTicks, ticks),
      isTombstone: true,
    }
    return { kind: 'unknown', tombstone }
  }
  const lastTicks = later(known.lastTicks, ticks)
  if (known.state === 'Deleted') return { kind: 'unchanged', reason: 'repeated' }
  // The application is gone, whatever was said before or will be said later.
  if (outcome === 'Deleted') return applied({ ...known, state: 'Deleted', lastTicks }, { revokes: true })
  if (known.state === 'Revoked') return { kind: 'unchanged', reason: 'ended' }
  if (known.lastTicks !== undefined && ticks <= known.lastTicks) return { kind: 'unchanged', reason: 'stale' }
  return outcome === 'Deleting'
    ? applied({ ...known, state: 'Deleting', lastTicks }, { revokes: true })
    : applied({ ...known, state: 'DeletionFailed', lastTicks }, { revokes: true, alerts: true })
}

/**
 * Returns what an event changes. Events of the provider count by their own time: those of creation and update, and the
 * beginning of a deletion, are ignored if a later one was applied. A completed deletion always counts. After it, a later
 * event begins a new subscription. Otherwise a bind has no order: it comes from the installation, whose clock may be
 * wrong.
 */
export const transition = (known: Known | undefined, event: LifecycleEvent): Transition => {
  switch (event.kind) {
    case 'put':
      return put(known, event)
    case 'delete':
      return remove(known, event)
    case 'bind':
      return bind(known, event)
    case 'reported':
      // The marketplaces of clouds A and C do not say that an installation is provisioned: its first usage does.
      return known?.state === 'Bounded'
        ? applied({ ...known, state: 'Running', isProvisioned: true })
        : { kind: 'unchanged', reason: 'repeated' }
    case 'revoke':
      if (known === undefined || known.state === 'Deleted' || known.state === 'Revoked')
        return { kind: 'unchanged', reason: 'repeated' }
      return applied({ ...known, state: 'Revoked' }, { revokes: true })
  }
}
