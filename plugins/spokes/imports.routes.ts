import {
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterChanged,
  ClusterMismatch,
  ClusterNameTaken,
} from '../../core/clusters/ports.ts'
import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { SpokeRefused } from '../../core/spokes/imports.ts'
import { ClusterPath, hubInPath, ImportOptions } from '../clusters/codecs.ts'
import { requires, write } from '../kit/access.ts'
import { ResponseIdQuery } from '../kit/codecs.ts'
import { empty } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { SpokeImportOptions } from './codecs.ts'
import { spokeTaskFailures } from './removal.routes.ts'

const example = { basicInfo: { name: 'shop-fra', displayName: 'Shop, Frankfurt' }, provider: { name: 'Generic', accessConfig: 'apiVersion: v1\nkind: Config\n...' } }
const failures = [
  ...hubReadFailures,
  ...spokeTaskFailures,
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterChanged,
  ClusterMismatch,
  ClusterNameTaken,
  SpokeRefused,
] as const

export const importSpoke = defineRoute({
  id: 'spokes.importSpoke',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/import-spoke',
  summary: 'Import a cluster into a hub',
  description:
    'Records the cluster and accepts the import; a task does it. With `provider.accessConfig` (as in the route `import`) it installs the agents on ' +
    'the cluster. Without one it waits up to 30 minutes until the command of `spoke-command` is run on the cluster, and accepts the cluster ' +
    'then. `components.clusterProfile` puts the spoke into the set `cp-<profile>`. ' +
    '`components.gitopsEngine` adds the add-on of the GitOps engine, unless the hub places it by itself. Features are not installed on one spoke but on its cluster set, by ' +
    '`install-featureset`: for `featureSets`, `allFeatures` and `monitoringClusterName` the task has a warning. The progress is published ' +
    'on the bus under the `response-id` of the query, and at `/tasks/{id}`. After a failure the same request continues.',
  tag: 'Multi-cluster',
  access: requires('can_import_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(SpokeImportOptions, example),
  ok: empty(200, 'The import is accepted'),
  failures,
})

export const convertToSpoke = defineRoute({
  id: 'spokes.convertToSpoke',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/convert/spoke',
  summary: 'Make an imported cluster a spoke of a hub',
  description:
    'Finds the cluster by `basicInfo.clusterUID` or `basicInfo.name` in the account of the hub, and uses its stored access config, so you must be able to connect ' +
    'to it. The work is that of `import-spoke`. A cluster that is a spoke of this hub already stays as it is; a spoke of another hub is refused.',
  tag: 'Multi-cluster',
  access: requires('can_import_spokes', hubInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(ImportOptions, { basicInfo: { name: 'shop-fra' } }),
  ok: empty(200, 'The conversion is accepted, or done already'),
  failures,
})
