import { BusHasNoCredentials, BusRefused, BusTokenMissing } from '../../core/bus/ports.ts'
import { path, read, requiresWithin, signedIn, siteAdmin, write } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { BusAccount, BusCredentialsResponse, BusTokenPath, OrgBusPath, OrgBusTokenPath } from './codecs.ts'

const tag = 'Identity - Users & Settings'

const credentialsExample = {
  endpoints: ['nats://bus.example.com:4222'],
  credentials: 'LS0tLS1CRUdJTiBOQVRTIFVTRVIgSldULS0tLS0KLi4uCi0tLS0tLUVORCBOQVRTIFVTRVIgSldULS0tLS0tCg==',
}
const platformExample = { ...credentialsExample, account: 'AAIRHBDAPF2IRGKMHRYAYXEOZMUEM3OPYJXZG6BTLS7L2I5GCRDFKYRQ' }

const life =
  'They are good for a day at most, and no longer than the token that asks for them; ask again for new ones. Of each kind a ' +
  'person has 20 at a time: one more ends the oldest. They are listed, and ended, as bus tokens; another password, or an ' +
  'account that is disabled, ends them within seconds.'
const without = 'Where messages stay inside the process (MOORAGE_BUS_URL is `inproc:`) the answer is 404 with the code BusHasNoCredentials; while the bus does not answer, 503.'

export const getBusCredentials = defineRoute({
  id: 'bus.getCredentials',
  method: 'GET',
  path: '/user/bus/credentials',
  summary: "Give out credentials for the caller's own account on the message bus",
  description:
    'They let the caller subscribe to `natjobs.resp.<response-id>` and `notifications`, and to nothing of anybody else; they ' +
    `let nobody publish. ${life} ${without}`,
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  ok: json(200, BusCredentialsResponse, credentialsExample),
  failures: [BusHasNoCredentials, BusRefused],
})

const ofPlatform = (id: string, path: string, summary: string, description: string) =>
  defineRoute({
    id,
    method: 'GET',
    path,
    summary,
    description: `${description} ${life} ${without}`,
    tag,
    access: siteAdmin,
    scope: write('admin'),
    refusesSudo: true,
    ok: json(200, FreeObjectCodec, platformExample),
    failures: [BusHasNoCredentials, BusRefused],
  })

export const getBusAdminCredentials = ofPlatform(
  'bus.getAdminCredentials',
  '/user/bus/admin_credentials',
  "Give out credentials for everything in the platform's account on the message bus",
  "They may publish and subscribe to every subject of the platform's own account, streams included.",
)

export const getBusUserCredentials = ofPlatform(
  'bus.getUserCredentials',
  '/user/bus/user_credentials',
  "Give out credentials that follow everybody's task progress and notifications",
  'They may subscribe to `natjobs.resp.<tenant>.<response-id>` and `notifications.<tenant>` of every tenant, and publish nothing.',
)

export const getBusResourceHistory = ofPlatform(
  'bus.getClusterResourceHistory',
  '/user/bus/cluster-resource-history',
  'Give out credentials that read what clusters tell about their resources',
  'They may subscribe to `clusters.<uid>.resources.>` of every cluster, and publish nothing.',
)

const tokenExample = {
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
  ok: list(BusAccount, tokenExample),
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
  ok: list(BusAccount, { ...tokenExample, accountType: 'organization' }),
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
