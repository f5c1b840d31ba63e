import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationHasOwner, OrganizationInUse, OrganizationMissing } from './failures.ts'
import type { OrganizationStores } from './ports.ts'

type Refusal = Failure<'OrganizationMissing' | 'OrganizationInUse'>

/** How many blocking objects an answer names. */
const namedObjects = 20

interface DeleteDeps {
  readonly uow: UnitOfWork<OrganizationStores>
}

/** Deletes an organization that nothing refers to any more. */
export const makeDeleteOrganization =
  (deps: DeleteDeps) =>
  (call: SignedInCall, id: OrgId): Outcome<Refusal, void> =>
    deps.uow.run<Refusal, void>(call, (stores) => deleteWithin(stores, id))

/** As `makeDeleteOrganization`, of organizations without an owner only, who could delete it. */
export const makeDeleteOrphanedOrganization =
  (deps: DeleteDeps) =>
  (call: SignedInCall, id: OrgId): Outcome<Refusal | Failure<'OrganizationHasOwner'>, void> =>
    deps.uow.run<Refusal | Failure<'OrganizationHasOwner'>, void>(call, async (stores) => {
      const isThere = await stores.organizations.lock(id)
      if (isThere && !(await stores.organizations.isOrphaned(id))) return left(OrganizationHasOwner('This organization has an owner.'))
      return deleteWithin(stores, id)
    })

const deleteWithin = async ({ organizations, audit }: OrganizationStores, id: OrgId): Outcome<Refusal, void> => {
  const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
  if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
  const blocking = await organizations.blockingObjects(id, namedObjects)
  if (blocking.length > 0) {
    const errors = blocking.map(({ type, name }) => `${type} ${name}`)
    const named = `${errors.slice(0, 5).join(', ')}${errors.length > 5 ? ' and more' : ''}`
    return left(OrganizationInUse(`The organization still owns things. Remove them first: ${named}.`, { errors }))
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
}
