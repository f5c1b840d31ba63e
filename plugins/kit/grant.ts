import type { AccessGrant } from '../../core/kernel/access.ts'
import type { OrgId } from '../../core/kernel/ids.ts'

/** Returns the organization that owns the object of a grant. Throws for an object that a user owns. */
export const orgOf = ({ objectType, ownerId, orgId }: AccessGrant): OrgId => {
  if (orgId === undefined) throw new Error(`The owner ${ownerId} of the ${objectType} is not an organization.`)
  return orgId
}

/** Returns the id of the object of a grant, with the type of its object type's ids. */
export const objectIdOf = <Id extends number>({ objectId }: AccessGrant): Id => objectId as Id
