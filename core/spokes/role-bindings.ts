import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { hubUserName } from '../clusters/hubs/account-types.ts'
import type { Hub, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/vendor-types.ts'
import type { Outcome } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import { listAt, textAt } from '../kernel/json.ts'

const { spokeRoleBinding, setRoleBinding } = distribution.kinds

/** The set that contains every spoke of its hub, whatever their labels. */
const everySpoke = 'global'

const names = (binding: HubObject, user: string): boolean =>
  listAt(binding.body, 'subjects').some((subject) => textAt(subject, 'kind') === 'User' && textAt(subject, 'name') === user)

/** A hub without the kind has no bindings of it. */
const orNone = (listed: Either<HubReadFailure, readonly HubObject[]>): typeof listed =>
  isLeft(listed) && listed.left.tag === 'NotAHub' ? right([]) : listed

/** Returns whether the role bindings of a hub give the user a role on a spoke, by its name or by its cluster set. */
export const spokesGrantedTo = async (
  userId: UserId,
  hub: Pick<Hub, 'list'>,
): Outcome<HubReadFailure, (spoke: { readonly name: string; readonly clusterSet?: string }) => boolean> => {
  const [ofClusters, ofSets] = await Promise.all([hub.list(spokeRoleBinding).then(orNone), hub.list(setRoleBinding).then(orNone)])
  if (isLeft(ofClusters)) return ofClusters
  if (isLeft(ofSets)) return ofSets
  const user = hubUserName(userId)
  const spokes = new Set(ofClusters.right.filter((binding) => names(binding, user)).map(({ namespace }) => namespace))
  const sets = new Set(ofSets.right.filter((binding) => names(binding, user)).map(({ body }) => textAt(body, 'clusterSetRef', 'name')))
  return right(({ name, clusterSet }) => spokes.has(name) || sets.has(everySpoke) || (clusterSet !== undefined && sets.has(clusterSet)))
}
