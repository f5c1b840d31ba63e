import {
  accounts,
  clusterRoleBindings,
  clusterRoles,
  managedClusterAddOns,
  manifestWorks,
  profileBindings,
  secrets,
  serviceAccounts,
  setProfiles,
  type Kind,
  type KubeObject,
} from '../api/kinds.ts'
import { removeFinalizer } from '../api/object-changes.ts'
import { watchObjects, type WatchedObjects } from '../api/watched-objects.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'

/** The kinds of this hub that own others, and what they own. */
const owners: readonly Kind<KubeObject>[] = [setProfiles, profileBindings, managedClusterAddOns, accounts]
const owned: readonly Kind<KubeObject>[] = [
  profileBindings,
  manifestWorks,
  serviceAccounts,
  secrets,
  clusterRoles,
  clusterRoleBindings,
]
const foreground = 'foregroundDeletion'

/**
 * 'GC: ownerRef children survive; Foreground delete leaves `foregroundDeletion` finalizer forever' (note §12): children
 * go with their owner, in this hub for the kinds that its controllers make.
 */
export const runGarbageCollector = (fixture: HubFixture): void => {
  const { client, signal } = fixture
  const children: (readonly [Kind<KubeObject>, WatchedObjects<KubeObject>])[] = []
  const childrenOf = (uid: string) =>
    children.flatMap(([kind, watched]) =>
      watched
        .all()
        .filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.uid === uid))
        .map((child) => ({ kind, child })),
    )
  const gone = fixture.reconciler({
    name: 'garbage',
    reconcile: async (uid) => {
      for (const { kind, child } of childrenOf(uid)) await client.remove(kind, child)
    },
  })
  const waiting = new Map<string, readonly [Kind<KubeObject>, KubeObject]>()
  const finishing = fixture.reconciler({
    name: 'foreground deletion',
    reconcile: async (uid) => {
      const [kind, owner] = waiting.get(uid) ?? []
      if (kind === undefined || owner === undefined) return
      const left = childrenOf(uid)
      for (const { kind: childKind, child } of left) await client.remove(childKind, child)
      if (left.length > 0) return 100
      const latest = await client.get(kind, owner.metadata.name, owner.metadata.namespace)
      if (latest !== undefined) await removeFinalizer(client, kind, latest, foreground)
      waiting.delete(uid)
      return
    },
  })
  for (const kind of owned) {
    children.push([
      kind,
      watchObjects(client, kind, { keeps: ({ metadata }) => (metadata.ownerReferences ?? []).length > 0, signal }),
    ])
  }
  for (const kind of owners) {
    watchObjects(client, kind, {
      onChange: (object, isGone) => {
        const { uid = '', deletionTimestamp, finalizers = [] } = object.metadata
        if (isGone) gone.add(uid)
        else if (deletionTimestamp !== undefined && finalizers.includes(foreground)) {
          waiting.set(uid, [kind, object])
          finishing.add(uid)
        }
      },
      signal,
    })
  }
}
