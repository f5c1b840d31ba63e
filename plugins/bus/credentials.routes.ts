import { BusHasNoCredentials, BusRefused } from '../../core/bus/ports.ts'
import { signedIn, siteAdmin, write } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { BusCredentialsResponse } from './codecs.ts'

const tag = 'Identity - Users & Settings'

const example = {
  endpoints: ['nats://bus.example.com:4222'],
  credentials: 'LS0tLS1CRUdJTiBOQVRTIFVTRVIgSldULS0tLS0KLi4uCi0tLS0tLUVORCBOQVRTIFVTRVIgSldULS0tLS0tCg==',
}
const platformExample = { ...example, account: 'AAIRHBDAPF2IRGKMHRYAYXEOZMUEM3OPYJXZG6BTLS7L2I5GCRDFKYRQ' }

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
  ok: json(200, BusCredentialsResponse, example),
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
