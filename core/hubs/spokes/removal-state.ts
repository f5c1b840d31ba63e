import { isLeft } from 'fp-ts/lib/Either.js'
import type { Hub, HubKind } from '../../clusters/hubs/ports.ts'
import { clusterSetLabel, managedClusterKind } from '../../clusters/hubs/ports.ts'
import { isAccepted, manifestWorkKind } from '../../clusters/hub-types.ts'
import { textAt } from '../../kernel/json.ts'
import { addOnKind } from './ports.ts'
import { sentences, unknownStatus } from './spoke-steps.ts'

/** What is left of one kind in the namespace of a cluster. */
interface Remainder {
  readonly all: number
  readonly leaving: number
}

/** Counts the objects of a kind; undefined if the hub does not say. A hub that does not serve the kind has none. */
const remainderOf = async (hub: Hub, served: HubKind, namespace: string): Promise<Remainder | undefined> => {
  const listed = await hub.list(served, { namespace, isMetadataOnly: true })
  if (isLeft(listed)) return listed.left.tag === 'NotAHub' ? { all: 0, leaving: 0 } : undefined
  return { all: listed.right.length, leaving: listed.right.filter(({ isDeleting }) => isDeleting).length }
}

/** Returns `2 works, 1 of them being deleted`; empty text if nothing is left. */
const inWords = ({ all, leaving }: Remainder, what: string): string => {
  if (all === 0) return ''
  const counted = `${all} ${what}${all === 1 ? '' : 's'}`
  if (leaving === 0) return counted
  return leaving === all ? `${counted}, being deleted` : `${counted}, ${leaving} of them being deleted`
}

/**
 * Returns what the hub has of a cluster whose removal has ended before its end, and what continues without the task.
 */
export const statusOfRemoval = async (
  hub: Hub | undefined,
  name: string,
  acceptedUid: string | undefined,
): Promise<string> => {
  const found = hub === undefined ? undefined : await hub.get(managedClusterKind, { name })
  if (hub === undefined || found === undefined || isLeft(found)) return unknownStatus
  const [addOns, works] = await Promise.all([
    remainderOf(hub, addOnKind, name),
    remainderOf(hub, manifestWorkKind, name),
  ])
  if (addOns === undefined || works === undefined) return unknownStatus
  const left = [inWords(addOns, 'add-on'), inWords(works, 'work')].filter((text) => text !== '').join(' and ')
  const managed = found.right
  if (managed === undefined || managed.uid !== acceptedUid)
    return sentences(
      managed === undefined ? 'The hub no longer has the cluster.' : 'The hub has another cluster of that name.',
      left === '' ? '' : `It still has ${left}.`,
    )
  const set = textAt(managed.body, 'metadata', 'labels', clusterSetLabel)
  return sentences(
    `The hub still has the cluster, ${set === '' ? 'in no cluster set' : `in the set ${set}`}, with ` +
      `${left === '' ? 'no add-ons and works' : left}.`,
    addOns.leaving + works.leaving > 0
      ? 'What is being deleted goes when the agent of the cluster has removed what was applied.'
      : '',
    isAccepted(managed) ? '' : 'The cluster is no longer accepted.',
    managed.isDeleting ? 'The hub continues its deletion.' : '',
  )
}
