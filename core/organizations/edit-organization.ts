import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/brand.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationChanged, OrganizationMissing } from './failures.ts'
import { parseProfile } from './organization-profile.ts'
import type { ProfileInput } from './organization-profile.ts'
import type { OrganizationStores } from './ports.ts'
import type { Organization } from './types.ts'

type Refusal = Failure<'OrganizationFieldRefused' | 'OrganizationMissing' | 'OrganizationChanged'>

/** Changes the fields that are given, and no others. */
export const makeEditOrganization =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  async (
    call: SignedInCall,
    id: OrgId,
    input: ProfileInput,
    expectedVersion: number | undefined,
  ): Outcome<Refusal, Organization> => {
    const changes = parseProfile(input)
    if (isLeft(changes)) return changes
    return deps.uow.run<Refusal, Organization>(call, async ({ organizations, audit }) => {
      const isUpdated = await organizations.update(id, changes.right, expectedVersion)
      const organization = await organizations.findById(id)
      if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
      if (!isUpdated) return left(OrganizationChanged('The organization was changed in the meantime.'))
      await audit.record({
        action: 'organization.edited',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
        changes: {
          fields: Object.keys(changes.right),
          ...(changes.right.visibility === undefined ? {} : { visibility: changes.right.visibility }),
        },
      })
      return right(organization)
    })
  }
