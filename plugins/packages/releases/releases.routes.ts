import * as t from 'io-ts'
import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../../core/clusters/ports.ts'
import { ValuesRefused } from '../../../core/packages/charts/ports.ts'
import {
  DriverRefused,
  FilterRefused,
  ListOptionRefused,
  RecordsRefused,
  RecordUnreadable,
  ReleaseAmbiguous,
  ReleaseMissing,
} from '../../../core/packages/ports.ts'
import { ReleaseNameTaken, ReleaseOptionsRefused, ReleasePending } from '../../../core/packages/releases/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../../core/tasks/ports.ts'
import { read, requires, write } from '../../kit/access.ts'
import { json } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { clusterInPath, ClusterPath, ReleaseOut, ReleasePath, ResponseIdQuery, taskExample, TaskResponse } from '../codecs.ts'
import {
  ConsoleConfig,
  HistoryQuery,
  InstallReleaseOptions,
  ReleaseListOptions,
  RevisionQuery,
  RollbackReleaseRequest,
  TillerOptions,
  UninstallReleaseRequest,
  UpgradeReleaseOptions,
} from './codecs.ts'

const tag = 'Helm'
const readFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, RecordsRefused, RecordUnreadable] as const

/** A row of a list, without the large fields. */
export const releaseRow = {
  name: 'web',
  namespace: 'shop',
  version: 3,
  info: {
    first_deployed: '2026-05-01T08:00:00.123456789Z',
    last_deployed: '2026-05-12T09:30:00.5Z',
    deleted: '',
    description: 'Upgrade complete',
    status: 'deployed',
  },
  chart: { metadata: { name: 'web', version: '1.4.0', apiVersion: 'v2', appVersion: '2.1' } },
}

const release = {
  ...releaseRow,
  info: { ...releaseRow.info, notes: 'Visit https://shop.example.com' },
  chart: { ...releaseRow.chart, lock: null, templates: [{ name: 'templates/service.yaml', data: 'YXBpVmVyc2lvbjogdjE=' }], values: { replicas: 1 }, schema: null, files: [] },
  config: { replicas: 2 },
  manifest: '---\n# Source: web/templates/service.yaml\napiVersion: v1\nkind: Service\n...',
  hooks: [],
}

export const listReleases = defineRoute({
  id: 'packages.listReleases',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases',
  summary: 'List the Helm releases of a cluster',
  description:
    'The newest revision of each release, read from the cluster as the caller. The options are those of `helm list`, in a JSON body or in the query; ' +
    'without options, lists the deployed and failed releases of all namespaces, by name. `sort` is `name`, `name-desc`, `date`, `date-desc`, or 1 to 3 for the last three. ' +
    'Rows lack templates, values, manifest and notes unless `full=true`.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  body: body(ReleaseListOptions, { namespace: 'shop', all: true, sort: 'date-desc', limit: 50 }, { orQuery: true, whenAbsent: {} }),
  ok: json(200, t.array(ReleaseOut), [releaseRow]),
  failures: [...readFailures, FilterRefused, ListOptionRefused],
})

export const getReleaseHistory = defineRoute({
  id: 'packages.getReleaseHistory',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'List the stored revisions of a release',
  description: 'The newest `max` (256 by default), oldest first. Without `namespace` the release is searched in all namespaces; `namespace` is required if several of them have a release with the name.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ReleasePath,
  query: HistoryQuery,
  ok: json(200, t.array(ReleaseOut), [releaseRow]),
  failures: [...readFailures, ReleaseAmbiguous, ReleaseMissing],
})

export const getReleaseContent = defineRoute({
  id: 'packages.getReleaseContent',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/content',
  summary: 'Get one complete revision of a release',
  description: 'Returns the newest revision unless `version` names another. The record in the format of Helm: chart with templates, values and files, manifest, hooks, notes.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ReleasePath,
  query: RevisionQuery,
  ok: json(200, ReleaseOut, release),
  failures: [...readFailures, ReleaseAmbiguous, ReleaseMissing],
})

export const getReleaseStatus = defineRoute({
  id: 'packages.getReleaseStatus',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/status',
  summary: 'Get the state of one revision of a release',
  description: 'Like `content`, without the files, templates and default values of the chart.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ReleasePath,
  query: RevisionQuery,
  ok: json(200, ReleaseOut, { ...release, chart: releaseRow.chart }),
  failures: [...readFailures, ReleaseAmbiguous, ReleaseMissing],
})

const submitFailures = [
  ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, RecordsRefused, RecordUnreadable, ResponseIdTaken, TaskLocked, TooManyTasks,
] as const
const followed =
  'The response names a task, whose progress is published on the bus under `subject` and at `/tasks/{id}`. ' +
  '`response-id` is the last word of `subject`, chosen by the client; the same request with the same value within an hour returns the first response. ' +
  'Returns 409 while another task changes the release.'
const ofValues =
  'Values: `replaceValues` is the complete set, without other fields; otherwise the `valuesFile` of the chart with `valuesPatch` (RFC 6902), or with `valueBytes`, `values` (like `--set`), `stringValues` and `kv_pairs` over it, in that order. '

const chartExample = { name: 'web', version: '1.4.0', sourceKind: 'HelmRepository', sourceNamespace: 'flux-system', sourceName: 'stable' }

export const installRelease = defineRoute({
  id: 'packages.installRelease',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases',
  summary: 'Install a chart as a release',
  description: `${ofValues}\`dryRun\` changes nothing: the result of the task contains the changes. Returns 409 if the name is already in use. ${followed}`,
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: ResponseIdQuery,
  body: body(InstallReleaseOptions, { ...chartExample, releaseName: 'web', namespace: 'shop', createNamespace: true, wait: true, timeout: '5m0s', values: ['replicas=2'] }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...submitFailures, ReleaseNameTaken, ReleaseOptionsRefused, ReleasePending, ValuesRefused],
})

export const upgradeRelease = defineRoute({
  id: 'packages.upgradeRelease',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'Upgrade a release',
  description:
    `${ofValues}Without any of them the values of the former revision are kept. With \`reuseValues\` or \`resetThenReuseValues\` the given values are merged over them. ` +
    `Without \`namespace\` the release is searched in all namespaces. \`install\` creates a release that does not exist. ${followed}`,
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ReleasePath,
  query: ResponseIdQuery,
  body: body(UpgradeReleaseOptions, { ...chartExample, namespace: 'shop', atomic: true, timeout: '10m', maxHistory: 5 }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...submitFailures, ReleaseAmbiguous, ReleaseMissing, ReleaseOptionsRefused, ReleasePending, ValuesRefused],
})

export const uninstallRelease = defineRoute({
  id: 'packages.uninstallRelease',
  method: 'DELETE',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'Uninstall a release',
  description: `Options in a JSON body or in the query. The history is removed unless \`purge=false\`. \`timeout\` is in seconds. ${followed}`,
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ReleasePath,
  query: ResponseIdQuery,
  body: body(UninstallReleaseRequest, { namespace: 'shop', purge: false, timeout: 300 }, { orQuery: true, whenAbsent: {} }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...submitFailures, ReleaseAmbiguous, ReleaseMissing],
})

export const rollbackRelease = defineRoute({
  id: 'packages.rollbackRelease',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/rollback',
  summary: 'Roll a release back to an earlier revision',
  description: `\`version\` 0, or none, is the previous revision. \`dry_run\` changes nothing: the result of the task contains the changes. \`timeout\` is in seconds. ${followed}`,
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ReleasePath,
  query: ResponseIdQuery,
  body: body(RollbackReleaseRequest, { namespace: 'shop', version: 2, wait: true, timeout: 300, description: 'back to the last good one' }, { whenAbsent: {} }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...submitFailures, ReleaseAmbiguous, ReleaseMissing],
})

const driverExample = {
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
  summary: 'Get the storage driver for the releases of a cluster',
  description: 'Returns the default, with id 0, until a driver is set.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ConsoleConfig, driverExample),
  failures: [ClusterMissing],
})

export const setDriver = defineRoute({
  id: 'packages.setDriver',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config',
  summary: 'Set the storage driver for the releases of a cluster',
  description:
    '`Secret` or `ConfigMap`, ignoring case; the default if none is given. The response of a GET is accepted: without `driver`, the one in `data` is used. The driver is used for every release operation on the cluster under this owner. ' +
    'Releases are not moved: those of the other driver are hidden until the driver is set back.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  body: body(TillerOptions, { driver: { pkg3: { driverName: 'ConfigMap' } } }),
  ok: json(200, ConsoleConfig, { ...driverExample, data: { driver: { pkg3: { driverName: 'ConfigMap' } } } }),
  failures: [ClusterMissing, DriverRefused],
})

export const getDefaultDriver = defineRoute({
  id: 'packages.getDefaultDriver',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config/default',
  summary: 'Get the default storage driver',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ConsoleConfig, { ...driverExample, id: 0, createdUnix: 0, updatedUnix: 0 }),
  failures: [ClusterMissing],
})
