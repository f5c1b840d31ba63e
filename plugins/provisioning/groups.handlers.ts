import { ClockPort } from '../../core/kernel/clock.ts'
import {
  makeCreateProvisionedGroup,
  makeDeleteProvisionedGroup,
  makeGetProvisionedGroup,
  makeListProvisionedGroups,
  makePatchProvisionedGroup,
  makeReplaceProvisionedGroup,
} from '../../core/provisioning/groups.ts'
import { ProvisionedGroupStorePort, ProvisioningUnitOfWorkPort } from '../../core/provisioning/ports.ts'
import { orgOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { NoContent } from '../kit/reply.ts'
import { patchGroup, readGroup, replaceGroup } from './content.ts'
import {
  createProvisionedGroup,
  deleteProvisionedGroup,
  getProvisionedGroup,
  listProvisionedGroups,
  patchProvisionedGroup,
  replaceProvisionedGroup,
} from './groups.routes.ts'
import { groupSearch, groupToWire, windowOf } from './resource-wire.ts'
import { groupShape } from './scim/attributes.ts'
import { listResponse } from './scim/discovery.ts'
import { asksFor } from './scim/projection.ts'

/** Groups of the directory of an organization. */
export const provisionedGroupGroup = defineGroup({
  needs: { clock: ClockPort, groups: ProvisionedGroupStorePort, unitOfWork: ProvisioningUnitOfWorkPort },
  routes: (given) => [
    handle(listProvisionedGroups, makeListProvisionedGroups(given), {
      input: (request) => ({
        orgId: orgOf(request.grant),
        search: groupSearch(request.query.filter, request),
        window: windowOf(request.query),
        showsMembers: asksFor(groupShape, 'members', request.query),
      }),
      reply: ({ items, total }, request) =>
        listResponse(
          items.map((group) => groupToWire(group, request.query, request)),
          total,
          windowOf(request.query).startIndex,
        ),
    }),
    handle(createProvisionedGroup, makeCreateProvisionedGroup(given), {
      input: ({ grant, body }) => ({ orgId: orgOf(grant), content: readGroup(body) }),
      reply: (group, request) => groupToWire(group, request.query, request),
    }),
    handle(getProvisionedGroup, makeGetProvisionedGroup(given), {
      input: ({ grant, params, query }) => ({
        orgId: orgOf(grant),
        id: params.id,
        showsMembers: asksFor(groupShape, 'members', query),
      }),
      reply: (group, request) => groupToWire(group, request.query, request),
    }),
    handle(replaceProvisionedGroup, makeReplaceProvisionedGroup(given), {
      input: ({ grant, params, body, expectedVersion }) => ({
        orgId: orgOf(grant),
        id: params.id,
        expectedVersion,
        change: replaceGroup(body),
      }),
      reply: (group, request) => groupToWire(group, request.query, request),
    }),
    handle(patchProvisionedGroup, makePatchProvisionedGroup(given), {
      input: ({ grant, params, body, expectedVersion }) => ({
        orgId: orgOf(grant),
        id: params.id,
        expectedVersion,
        change: patchGroup(body),
      }),
      reply: (group, request) => (group === undefined ? new NoContent() : groupToWire(group, request.query, request)),
      version: (group) => group?.version ?? 0,
    }),
    handle(deleteProvisionedGroup, makeDeleteProvisionedGroup(given), {
      input: ({ grant, params, expectedVersion }) => ({ orgId: orgOf(grant), id: params.id, expectedVersion }),
    }),
  ],
})
