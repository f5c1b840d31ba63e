import { BusTokenMissing } from '../../core/bus/ports.ts'
import { path, read, requiresWithin, signedIn, write } from '../kit/access.ts'
import { empty, list } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { BusAccount, BusTokenPath, OrgBusPath, OrgBusTokenPath } from './codecs.ts'

const example = {
  id: 3,
  uid: 7,
  accountType: 'user',
  busPubKey: 'UCCQWDQ7PKIGG2M5RIHEGSDYMVGKJWMJMSSRWVQLUSA6ZNCCTOYRLSS4',
  clusterID: '',
  productName: 'own',
  revoked: false,
}
const organization = { type: 'organization', name: path('orgname') } as const
const shown = 'Newest first; those that are over stay for a week. `accountType` is `user`, `organization` or `platform`: whose account they let into. `productName` tells what they are for.'
const cutOff = 'Whoever is connected with it is cut off at once, or as soon as the bus answers again.'

export const listBusTokens = defineRoute({
  id: 'bus.listTokens',
  method: 'GET',
  path: '/user/settings/tokens/bus-tokens',
  summary: "List the caller's credentials for the message bus",
  description: shown,
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: read('user'),
  refusesSudo: true,
  ok: list(BusAccount, example),
  failures: [],
})

export const revokeBusToken = defineRoute({
  id: 'bus.revokeToken',
  method: 'POST',
  path: '/user/settings/tokens/bus-tokens/{id}/revoke',
  summary: "End one of the caller's credentials for the message bus",
  description: cutOff,
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  params: BusTokenPath,
  ok: empty(200),
  failures: [BusTokenMissing],
})

export const listOrganizationBusTokens = defineRoute({
  id: 'bus.listOrganizationTokens',
  method: 'GET',
  path: '/orgs/{orgname}/tokens/bus-tokens',
  summary: "List the credentials for an organization's account on the message bus",
  description: `${shown} Those of its members are their own affair and are not shown.`,
  tag: 'Identity - Organizations & Teams',
  access: requiresWithin('can_list_tokens', organization),
  scope: read('organization'),
  params: OrgBusPath,
  ok: list(BusAccount, { ...example, accountType: 'organization' }),
  failures: [],
})

export const revokeOrganizationBusToken = defineRoute({
  id: 'bus.revokeOrganizationToken',
  method: 'POST',
  path: '/orgs/{orgname}/tokens/bus-tokens/{id}/revoke',
  summary: "End one of the credentials for an organization's account on the message bus",
  description: cutOff,
  tag: 'Identity - Organizations & Teams',
  access: requiresWithin('can_delete_token', organization),
  scope: write('organization'),
  refusesSudo: true,
  params: OrgBusTokenPath,
  ok: empty(200),
  failures: [BusTokenMissing],
})
