import { BusHasNoCredentials, BusRefused, BusTokenMissing } from '../../core/bus/ports.ts'
import { path, requiresWithin, signedIn, siteAdmin, write } from '../kit/access.ts'
import { FreeObjectCodec, OrgPathName, SafeInteger, answer, described, noted, pathId, request } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { routesOf } from '../kit/route.ts'
import type { BusUserId } from '../../core/bus/types.ts'

import * as t from 'io-ts'

const Base64 = noted(t.string, {
  type: 'string',
  format: 'byte',
  description: 'A credentials file of the bus, in base64',
})

const BusCredentialsResponse = answer(
  {
    endpoints: described(t.readonlyArray(t.string), 'The URLs of the message bus.'),
    credentials: Base64,
  },
  'BusCredentialsResponse',
)

const BusAccount = answer(
  {
    id: described(SafeInteger, 'The id of the credentials, from 1.'),
    uid: described(SafeInteger, 'The id of the user or organization to which the credentials were issued.'),
    accountType: described(
      t.string,
      'The kind of the account that they give access to: `user`, `organization` or `platform`.',
    ),
    busPubKey: described(t.string, 'The public key of the credentials on the bus.'),
    clusterID: described(t.string, 'Always empty; kept for older clients.'),
    productName: described(
      t.string,
      'The purpose of the credentials: `own`, `pass`, `admin`, `progress`, `history` or `usage`.',
    ),
    revoked: described(t.boolean, 'Whether the credentials were revoked.'),
  },
  'BusAccount',
)

const BusTokenPath = request(
  {
    id: described(pathId<BusUserId>('bus credentials'), 'The id of the credentials to revoke, from 1.'),
  },
  'BusTokenPath',
)
const OrgBusPath = request({ orgname: OrgPathName }, 'OrgBusPath')
const OrgBusTokenPath = request(
  {
    orgname: OrgPathName,
    id: described(
      pathId<BusUserId>('bus credentials of an organization'),
      'The id of the credentials to revoke, from 1.',
    ),
  },
  'OrgBusTokenPath',
)

const tag = 'Identity - Users & Settings'
// A GET that issues credentials requires the write level.
const issueRoute = routesOf({ tag, failures: [BusHasNoCredentials, BusRefused] })
const userRoute = routesOf({ tag, access: signedIn, scopeCategory: 'user' })
const organizationRoute = routesOf({ tag: 'Identity - Organizations & Teams', scopeCategory: 'organization' })

const credentialsExample = {
  endpoints: ['nats://bus.example.com:4222'],
  credentials: 'LS0tLS1CRUdJTiBOQVRTIFVTRVIgSldULS0tLS0KLi4uCi0tLS0tLUVORCBOQVRTIFVTRVIgSldULS0tLS0tCg==',
}
const platformExample = { ...credentialsExample, account: 'AAIRHBDAPF2IRGKMHRYAYXEOZMUEM3OPYJXZG6BTLS7L2I5GCRDFKYRQ' }

const life =
  'The credentials are valid for at most a day, and not longer than the token that requests them. A ' +
  'user has at most 20 credentials of each kind; one more revokes the oldest. They are listed and revoked ' +
  'as bus tokens. A change of the password, or ' +
  'disabling the account, revokes them within seconds.'
const without =
  'Returns 404 with the code BusHasNoCredentials if messages stay inside the process (MOORAGE_BUS_URL is ' +
  '`inproc:`), and 503 while the bus is unavailable.'

export const getBusCredentials = issueRoute({
  id: 'bus.getCredentials',
  method: 'GET',
  path: '/user/bus/credentials',
  summary: "Issue credentials for the caller's own account on the message bus",
  description:
    'They allow the caller to subscribe to `natjobs.resp.<response-id>` and `notifications` of the own ' +
    'account only, and not ' +
    `to publish. ${life} ${without}`,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  ok: json(200, BusCredentialsResponse, credentialsExample),
})

const ofPlatform = (id: string, path: string, summary: string, description: string) =>
  issueRoute({
    id,
    method: 'GET',
    path,
    summary,
    description: `${description} ${life} ${without}`,
    access: siteAdmin,
    scope: write('admin'),
    refusesSudo: true,
    ok: json(200, FreeObjectCodec, platformExample),
  })

export const getBusAdminCredentials = ofPlatform(
  'bus.getAdminCredentials',
  '/user/bus/admin_credentials',
  "Issue credentials for everything in the platform's account on the message bus",
  "They allow to publish on, and to subscribe to, every subject of the platform's own account, including streams.",
)

export const getBusUserCredentials = ofPlatform(
  'bus.getUserCredentials',
  '/user/bus/user_credentials',
  'Issue credentials that receive the task progress and notifications of all users',
  'They allow to subscribe to `natjobs.resp.<tenant>.<response-id>` and `notifications.<tenant>` of every ' +
    'tenant, and not to publish.',
)

export const getBusResourceHistory = ofPlatform(
  'bus.getClusterResourceHistory',
  '/user/bus/cluster-resource-history',
  'Issue credentials that receive the messages of clusters about their resources',
  'They allow to subscribe to `clusters.<uid>.resources.>` of every cluster, and not to publish.',
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
const shown =
  'Newest first. Expired and revoked ones are listed for a week. `accountType` is `user`, `organization` ' +
  'or `platform`: the kind of the account that they give access to. `productName` is their purpose.'
const cutOff = 'Connections that use it are closed at once, or as soon as the bus is available again.'

export const listBusTokens = userRoute({
  id: 'bus.listTokens',
  method: 'GET',
  path: '/user/settings/tokens/bus-tokens',
  summary: "List the caller's credentials for the message bus",
  description: shown,
  refusesSudo: true,
  ok: list(BusAccount, tokenExample),
})

export const revokeBusToken = userRoute({
  id: 'bus.revokeToken',
  method: 'POST',
  path: '/user/settings/tokens/bus-tokens/{id}/revoke',
  summary: "Revoke one of the caller's credentials for the message bus",
  description: cutOff,
  refusesSudo: true,
  params: BusTokenPath,
  ok: empty(200),
  failures: [BusTokenMissing],
})

export const listOrganizationBusTokens = organizationRoute({
  id: 'bus.listOrganizationTokens',
  method: 'GET',
  path: '/orgs/{orgname}/tokens/bus-tokens',
  summary: "List the credentials for an organization's account on the message bus",
  description: `${shown} Credentials of its members are not listed.`,
  access: requiresWithin('can_list_tokens', organization),
  params: OrgBusPath,
  ok: list(BusAccount, { ...tokenExample, accountType: 'organization' }),
})

export const revokeOrganizationBusToken = organizationRoute({
  id: 'bus.revokeOrganizationToken',
  method: 'POST',
  path: '/orgs/{orgname}/tokens/bus-tokens/{id}/revoke',
  summary: "Revoke one of the credentials for an organization's account on the message bus",
  description: cutOff,
  access: requiresWithin('can_delete_token', organization),
  refusesSudo: true,
  params: OrgBusTokenPath,
  ok: empty(200),
  failures: [BusTokenMissing],
})
