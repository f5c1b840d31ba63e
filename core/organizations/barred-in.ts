import type { OrgId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import { entryRefusal } from '../kernel/access.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { OrganizationStores } from './ports.ts'

/** Why the organization does not let the caller in, for a change that also members may ask for whom it does not let in. */
export const barredIn = async (
  { memberships }: Pick<OrganizationStores, 'memberships'>,
  clock: Clock,
  { principal }: SignedInCall,
  id: OrgId,
): Promise<EntryRefusal | undefined> =>
  principal.isSiteAdmin ? undefined : entryRefusal(principal, (await memberships.find(id, principal.userId))?.entry, clock.now())
