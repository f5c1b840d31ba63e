import { ClusterMissing } from '../../core/clusters/ports.ts'
import { DriverRefused } from '../../core/packages/read-ports.ts'
import { read, requires, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { clusterInPath, ClusterPath } from './codecs.ts'
import { ConsoleConfig, TillerOptions } from './driver-codecs.ts'

const tag = 'Helm'
const example = {
  id: 4,
  userID: 7,
  clusterID: '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11',
  type: 1,
  data: { driver: { pkg3: { driverName: 'Secret' } } },
  createdUnix: 1777622400,
  updatedUnix: 1777622400,
}

export const getDriver = defineRoute({
  id: 'packages.getDriver',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config',
  summary: 'Get the driver that keeps the releases of a cluster',
  description: 'The default, with id 0, until one is set.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ConsoleConfig, example),
  failures: [ClusterMissing],
})

export const setDriver = defineRoute({
  id: 'packages.setDriver',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config',
  summary: 'Set the driver that keeps the releases of a cluster',
  description:
    '`Secret` or `ConfigMap`, in any case; the default where none is given. What is shown can be sent back: without `driver`, the one in `data` counts. It holds for every release operation on the cluster under this owner. ' +
    'Releases are not moved: what the other driver keeps is not seen any more until the driver is set back.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  body: body(TillerOptions, { driver: { pkg3: { driverName: 'ConfigMap' } } }),
  ok: json(200, ConsoleConfig, { ...example, data: { driver: { pkg3: { driverName: 'ConfigMap' } } } }),
  failures: [ClusterMissing, DriverRefused],
})

export const getDefaultDriver = defineRoute({
  id: 'packages.getDefaultDriver',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config/default',
  summary: 'Get the driver that is used where none is set',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ConsoleConfig, { ...example, id: 0, createdUnix: 0, updatedUnix: 0 }),
  failures: [ClusterMissing],
})
