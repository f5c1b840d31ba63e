import { left, right } from 'fp-ts/lib/Either.js'
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
  /** The name that was asked for is a former one. */
  readonly isFormerName: boolean
}

/** Finds an organization by its name, on request by one that it had; whoever may not see it learns nothing. */
export const makeFindOrganization =
  (deps: { readonly organizations: OrganizationStore; readonly memberships: MembershipStore }) =>
  async (call: Call, name: string, formerNames: 'found' | 'missing'): Outcome<Failure<'OrganizationMissing'>, FoundOrganization> => {
    const current = await deps.organizations.findByName(name)
    const organization = current ?? (formerNames === 'found' ? await deps.organizations.findByFormerName(name) : undefined)
    if (organization !== undefined) {
      const viewer = viewerIn(viewerOf(call), organization.id)
      const isMember =
        viewer.userId !== undefined && (await deps.memberships.find(organization.id, viewer.userId)) !== undefined
      if (canSee(viewer, organization, isMember)) {
        return right({ organization, viewer, isMember, isFormerName: current === undefined })
      }
    }
    return left(OrganizationMissing(`There is no organization "${name}".`))
  }
