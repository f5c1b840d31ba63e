import * as t from 'io-ts'
import type { BusUserId } from '../../core/bus/types.ts'
import { answer, noted, pathId, PathName, request, SafeInteger } from '../kit/codecs.ts'

const Base64 = noted(t.string, { type: 'string', format: 'byte', description: "A credentials file of the bus, in base64" })

export const BusCredentialsResponse = answer({ endpoints: t.readonlyArray(t.string), credentials: Base64 }, 'BusCredentialsResponse')

export const BusAccount = answer(
  {
    id: SafeInteger,
    uid: SafeInteger,
    accountType: t.string,
    busPubKey: t.string,
    clusterID: t.string,
    productName: t.string,
    revoked: t.boolean,
  },
  'BusAccount',
)

export const BusTokenPath = request({ id: pathId<BusUserId>() }, 'BusTokenPath')
export const OrgBusPath = request({ orgname: PathName }, 'OrgBusPath')
export const OrgBusTokenPath = request({ orgname: PathName, id: pathId<BusUserId>() }, 'OrgBusTokenPath')
