import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import { entryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import { OrganizationMissing } from './failures.ts'
import type { MembershipStore, OrganizationStore } from './ports.ts'
import type { Organization } from './types.ts'
import { canSee, viewerIn, viewerOf } from './viewer.ts'
import type { Viewer } from './viewer.ts'

/** An organization as one caller finds it. */
export interface FoundOrganization {
  readonly organization: Organization
  /** The caller, as far as this organization is concerned. */
  readonly viewer: Viewer
  readonly isMember: boolean
  /** Why the organization does not let this member further in than to its profile, if it does not. */
  readonly barred: EntryRefusal | undefined
  /** The name that was asked for is a former one. */
  readonly isFormerName: boolean
}

/** Finds an organization by its name, on request by one that it had; whoever may not see it learns nothing. */
export const makeFindOrganization =
  (deps: { readonly organizations: OrganizationStore; readonly memberships: MembershipStore; readonly clock: Clock }) =>
  async (call: Call, name: string, formerNames: 'found' | 'missing'): Outcome<Failure<'OrganizationMissing'>, FoundOrganization> => {
    const current = await deps.organizations.findByName(name)
    const organization = current ?? (formerNames === 'found' ? await deps.organizations.findByFormerName(name) : undefined)
    if (organization !== undefined) {
      const viewer = viewerIn(viewerOf(call), organization.id)
      const membership = viewer.userId === undefined ? undefined : await deps.memberships.find(organization.id, viewer.userId)
      const isMember = membership !== undefined
      if (canSee(viewer, organization, isMember)) {
        const isHeld = isMember && !viewer.isSiteAdmin && call.principal !== undefined
        const barred = isHeld ? entryRefusal(call.principal, membership.entry, deps.clock.now()) : undefined
        return right({ organization, viewer, isMember, barred, isFormerName: current === undefined })
      }
    }
    return left(OrganizationMissing(`There is no organization "${name}".`))
  }
