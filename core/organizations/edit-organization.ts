import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import { changedFields, isUnchanged } from '../kernel/changed-fields.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationChanged, OrganizationMissing } from './failures.ts'
import { parseProfile } from './organization-profile.ts'
import type { ProfileInput } from './organization-profile.ts'
import type { OrganizationStores } from './ports.ts'
import type { Organization } from './types.ts'

type Refusal = Failure<'OrganizationFieldRefused' | 'OrganizationMissing' | 'OrganizationChanged'>

const missing = () => OrganizationMissing('There is no such organization.')
const changedSince = () => OrganizationChanged('The organization was changed in the meantime.')

/** Changes the fields that are given and differ, and no others. */
export const makeEditOrganization =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  (
    call: SignedInCall<Organization>,
    id: OrgId,
    input: ProfileInput,
    expectedVersion: number | undefined,
  ): Outcome<Refusal, Organization> =>
    deps.uow.run<Refusal, Organization>(call, async ({ organizations, audit }) => {
      const before = await organizations.findById(id)
      if (before === undefined) return left(missing())
      const parsed = parseProfile(input, before.orgType)
      if (isLeft(parsed)) return parsed
      if (expectedVersion !== undefined && expectedVersion !== before.version) return left(changedSince())
      const changes = changedFields(before, parsed.right)
      if (isUnchanged(changes)) return right(before)
      const isUpdated = await organizations.update(id, changes, expectedVersion)
      const organization = await organizations.findById(id)
      if (organization === undefined) return left(missing())
      if (!isUpdated) return left(changedSince())
      await audit.record({
        action: 'organization.edited',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
        changes: {
          fields: Object.keys(changes),
          ...(changes.visibility === undefined ? {} : { visibility: changes.visibility }),
        },
      })
      return right(organization)
    })
