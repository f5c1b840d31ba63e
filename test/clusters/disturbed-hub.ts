import { makeHubs } from '../../core/clusters/hubs/hubs.ts'
import type { Hub } from '../../core/clusters/hubs/ports.ts'
import type { ClusterRequest } from '../../core/clusters/ports.ts'
import { ClusterApiPort, ClusterConnectionsPort } from '../../core/clusters/ports.ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { unwrap } from '../support/outcome.ts'
import type { TestService } from '../support/service.ts'

/** What is done before a request is sent to the hub. */
export type Disturbance = (request: ClusterRequest) => Promise<unknown>

/** The port to an imported hub, with a disturbance before each request, and how often its edits have waited. */
export const disturbedHub = async (
  service: TestService,
  clusterId: number,
  before: Disturbance,
): Promise<{ readonly hub: Hub; readonly waits: () => number }> => {
  const { container } = service.running
  const api = container.resolve(ClusterApiPort)
  let waits = 0
  const hubs = makeHubs({
    connections: container.resolve(ClusterConnectionsPort),
    pause: async () => void (waits += 1),
    entropy: { bytes: (length) => new Uint8Array(length), uuid: () => '' },
    api: {
      request: async (connection, request, signal) => (await before(request), api.request(connection, request, signal)),
    },
  })
  const call = {
    principal: { userId: 1, login: 'ann' },
    signal: new AbortController().signal,
  } as unknown as SignedInCall
  const grant = { objectId: clusterId, objectName: 'hub', objectVersion: 1 } as unknown as AccessGrant
  return { hub: unwrap(await hubs.open(call, grant)), waits: () => waits }
}
