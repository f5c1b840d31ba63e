import * as t from 'io-ts'
import type { BusUserId } from '../../core/bus/types.ts'
import { answer, described, noted, OrgPathName, pathId, request, SafeInteger } from '../kit/codecs.ts'

const Base64 = noted(t.string, {
  type: 'string',
  format: 'byte',
  description: 'A credentials file of the bus, in base64',
})

export const BusCredentialsResponse = answer(
  {
    endpoints: described(t.readonlyArray(t.string), 'The URLs of the message bus.'),
    credentials: Base64,
  },
  'BusCredentialsResponse',
)

export const BusAccount = answer(
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

export const BusTokenPath = request(
  {
    id: described(pathId<BusUserId>('bus credentials'), 'The id of the credentials to revoke, from 1.'),
  },
  'BusTokenPath',
)
export const OrgBusPath = request({ orgname: OrgPathName }, 'OrgBusPath')
export const OrgBusTokenPath = request(
  {
    orgname: OrgPathName,
    id: described(
      pathId<BusUserId>('bus credentials of an organization'),
      'The id of the credentials to revoke, from 1.',
    ),
  },
  'OrgBusTokenPath',
)
