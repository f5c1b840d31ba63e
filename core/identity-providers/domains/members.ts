import { isLeft } from 'fp-ts/lib/Either.js'
import type { User } from '../../identity/types.ts'
import type { OrgId } from '../../kernel/ids.ts'
import type { AddressReader } from '../../organizations/invitations/ports.ts'
import type { AddressStores, MembersByAddress } from '../ports.ts'

/**
 * Returns the member of an organization to whom an address leads, with the row locked: only if the organization has
 * verified the domain, and the account has verified the address. Never a site admin.
 */
export const memberByAddress = async (
  { addresses }: { readonly addresses: AddressReader },
  { identity, memberships, domains }: AddressStores,
  orgId: OrgId,
  email: string,
): Promise<User | undefined> => {
  const address = addresses.read(email)
  if (isLeft(address)) return undefined
  const { key } = address.right
  if (!(await domains.hasVerified(orgId, key.slice(key.lastIndexOf('@') + 1)))) return undefined
  const userId = await identity.emails.ownerOf(key)
  if (userId === undefined) return undefined
  const own = (await identity.emails.list(userId)).find((each) => each.email.toLowerCase() === key)
  if (own?.verified !== true || (await memberships.find(orgId, userId)) === undefined) return undefined
  const user = await identity.users.lock(userId)
  return user === undefined || user.isAdmin ? undefined : user
}

/** Returns a MembersByAddress. See the port for its guarantees. */
export const makeMembersByAddress = (deps: { readonly addresses: AddressReader }): MembersByAddress => ({
  find: (stores, orgId, email) => memberByAddress(deps, stores, orgId, email),
})
