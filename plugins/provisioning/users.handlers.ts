import { DirectoryAccountsPort } from '../../core/identity/accounts/directory-ports.ts'
import { IdentityStoresPort, UserFounderPort } from '../../core/identity/ports.ts'
import { MembersByAddressPort } from '../../core/identity-providers/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { ProvisionedUserStorePort, ProvisioningUnitOfWorkPort } from '../../core/provisioning/ports.ts'
import {
  makeChangeProvisionedUser,
  makeCreateProvisionedUser,
  makeDeleteProvisionedUser,
  makeGetProvisionedUser,
  makeListProvisionedUsers,
} from '../../core/provisioning/users.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { contentOfUser, patchUser, readUser, replaceUser } from './content.ts'
import { userSearch, userToWire, windowOf } from './resource-wire.ts'
import { listResponse } from './scim/discovery.ts'
import {
  createProvisionedUser,
  deleteProvisionedUser,
  getProvisionedUser,
  listProvisionedUsers,
  patchProvisionedUser,
  replaceProvisionedUser,
} from './users.routes.ts'

/** Users of the directory of an organization. */
export const provisionedUserGroup = defineGroup({
  needs: {
    accounts: DirectoryAccountsPort,
    clock: ClockPort,
    founder: UserFounderPort,
    identity: IdentityStoresPort,
    members: MembersByAddressPort,
    unitOfWork: ProvisioningUnitOfWorkPort,
    users: ProvisionedUserStorePort,
  },
  routes: ({ identity, ...given }) => {
    const change = makeChangeProvisionedUser(given)
    return [
      handle(listProvisionedUsers, makeListProvisionedUsers(given), {
        input: (request) => ({
          orgId: orgOf(request.grant),
          search: userSearch(request.query.filter, request),
          window: windowOf(request.query),
        }),
        reply: ({ items, total }, request) =>
          listResponse(
            items.map((user) => userToWire(user, request.query, request)),
            total,
            windowOf(request.query).startIndex,
          ),
      }),
      handle(createProvisionedUser, makeCreateProvisionedUser({ ...given, accountNames: identity.users }), {
        input: ({ grant, body }) => ({
          orgId: orgOf(grant),
          orgName: grant.context.accountName,
          content: readUser(body),
        }),
        reply: (user, request) => userToWire(user, request.query, request),
      }),
      handle(getProvisionedUser, makeGetProvisionedUser(given), {
        input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
        reply: (user, request) => userToWire(user, request.query, request),
      }),
      handle(replaceProvisionedUser, change, {
        input: ({ grant, params, body, expectedVersion }) => ({
          orgId: orgOf(grant),
          id: params.id,
          expectedVersion,
          contentOf: contentOfUser,
          change: replaceUser(body),
        }),
        reply: (user, request) => userToWire(user, request.query, request),
      }),
      handle(patchProvisionedUser, change, {
        input: ({ grant, params, body, expectedVersion }) => ({
          orgId: orgOf(grant),
          id: params.id,
          expectedVersion,
          contentOf: contentOfUser,
          change: patchUser(body),
        }),
        reply: (user, request) => userToWire(user, request.query, request),
      }),
      handle(deleteProvisionedUser, makeDeleteProvisionedUser(given), {
        input: ({ grant, params, expectedVersion }) => ({ orgId: orgOf(grant), id: params.id, expectedVersion }),
      }),
    ]
  },
})
