import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/brand.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationInUse, OrganizationMissing } from './failures.ts'
import type { OrganizationStores } from './ports.ts'

type Refusal = Failure<'OrganizationMissing' | 'OrganizationInUse'>

/** How many blocking objects an answer names. */
const namedObjects = 20

/** Deletes an organization that nothing refers to any more. */
export const makeDeleteOrganization =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  async (call: SignedInCall, id: OrgId): Outcome<Refusal, void> =>
    deps.uow.run<Refusal, void>(call, async ({ organizations, audit }) => {
      const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
      if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
      const blocking = await organizations.blockingObjects(id, namedObjects)
      if (blocking.length > 0) {
        return left(
          OrganizationInUse('The organization still owns things. Remove them first.', {
            errors: blocking.map(({ type, name }) => `${type} ${name}`),
          }),
        )
      }
      await organizations.remove(id)
      await audit.record({
        action: 'organization.deleted',
        objectType: 'organization',
        objectId: id,
        objectName: organization.name,
        tenantId: id,
      })
      return right(undefined)
    })
