import * as t from 'io-ts'
import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
} from '../../../core/clusters/ports.ts'
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
import { requires } from '../../kit/access.ts'
import { ResponseIdQuery, taskExample, TaskResponse } from '../../kit/codecs.ts'
import { json } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { clusterInPath, ClusterPath, ReleaseOut, ReleasePath } from '../codecs.ts'
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

const common = { tag: 'Helm', access: requires('can_connect', clusterInPath), scopeCategory: 'cluster' } as const
const readFailures = [
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
  RecordsRefused,
  RecordUnreadable,
] as const
const namedFailures = [...readFailures, ReleaseAmbiguous, ReleaseMissing] as const
const submitFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const
const listRoute = routesOf({ ...common, params: ClusterPath, failures: readFailures })
const readRoute = routesOf({ ...common, params: ReleasePath, failures: namedFailures })
const installRoute = routesOf({
  ...common,
  params: ClusterPath,
  query: ResponseIdQuery,
  failures: [...readFailures, ...submitFailures],
})
const taskRoute = routesOf({
  ...common,
  params: ReleasePath,
  query: ResponseIdQuery,
  failures: [...namedFailures, ...submitFailures],
})
const driverRoute = routesOf({ ...common, params: ClusterPath, failures: [ClusterMissing] })

/** A row of a list, without the large fields. */
const releaseRow = {
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
  chart: {
    ...releaseRow.chart,
    lock: null,
    templates: [{ name: 'templates/service.yaml', data: 'YXBpVmVyc2lvbjogdjE=' }],
    values: { replicas: 1 },
    schema: null,
    files: [],
  },
  config: { replicas: 2 },
  manifest: '---\n# Source: web/templates/service.yaml\napiVersion: v1\nkind: Service\n...',
  hooks: [],
}

export const listReleases = listRoute({
  id: 'packages.listReleases',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases',
  summary: 'List the Helm releases of a cluster',
  description:
    'The newest revision of each release, read from the cluster as the caller. The options are those of ' +
    '`helm list`, in a JSON body or in the query; ' +
    'without options, lists the deployed and failed releases of all namespaces, by name. `sort` is `name`, ' +
    '`name-desc`, `date`, `date-desc`, or 1 to 3 for the last three. ' +
    'Rows lack templates, values, manifest and notes unless `full=true`.',
  body: body(
    ReleaseListOptions,
    { namespace: 'shop', all: true, sort: 'date-desc', limit: 50 },
    { orQuery: true, whenAbsent: {} },
  ),
  ok: json(200, t.array(ReleaseOut), [releaseRow]),
  failures: [FilterRefused, ListOptionRefused],
})

export const getReleaseHistory = readRoute({
  id: 'packages.getReleaseHistory',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'List the stored revisions of a release',
  description:
    'The newest `max` (256 by default), oldest first. Without `namespace` the release is searched in all ' +
    'namespaces; `namespace` is required if several of them have a release with the name.',
  query: HistoryQuery,
  ok: json(200, t.array(ReleaseOut), [releaseRow]),
})

export const getReleaseContent = readRoute({
  id: 'packages.getReleaseContent',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/content',
  summary: 'Get one complete revision of a release',
  description:
    'Returns the newest revision unless `version` names another. The record in the format of Helm: chart ' +
    'with templates, values and files, manifest, hooks, notes.',
  query: RevisionQuery,
  ok: json(200, ReleaseOut, release),
})

export const getReleaseStatus = readRoute({
  id: 'packages.getReleaseStatus',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/status',
  summary: 'Get the state of one revision of a release',
  description: 'Like `content`, without the files, templates and default values of the chart.',
  query: RevisionQuery,
  ok: json(200, ReleaseOut, { ...release, chart: releaseRow.chart }),
})

const followed =
  'The response names a task, whose progress is published on the bus under `subject` and at `/tasks/{id}`. ' +
  '`response-id` is the last word of `subject`, chosen by the client; the same request with the same value ' +
  'within an hour returns the first response. ' +
  'Returns 409 while another task changes the release.'
const ofValues =
  'Values: `replaceValues` is the complete set, without other fields; otherwise the `valuesFile` of the ' +
  'chart with `valuesPatch` (RFC 6902), or with `valueBytes`, `values` (like `--set`), `stringValues` and ' +
  '`kv_pairs` over it, in that order. '

const chartExample = {
  name: 'web',
  version: '1.4.0',
  sourceKind: 'HelmRepository',
  sourceNamespace: 'flux-system',
  sourceName: 'stable',
}

export const installRelease = installRoute({
  id: 'packages.installRelease',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases',
  summary: 'Install a chart as a release',
  description:
    `${ofValues}\`dryRun\` changes nothing: the result of the task contains the changes. Returns 409 if the ` +
    `name is already in use. ${followed}`,
  body: body(InstallReleaseOptions, {
    ...chartExample,
    releaseName: 'web',
    namespace: 'shop',
    createNamespace: true,
    wait: true,
    timeout: '5m0s',
    values: ['replicas=2'],
  }),
  ok: json(200, TaskResponse, taskExample),
  failures: [ReleaseNameTaken, ReleaseOptionsRefused, ReleasePending, ValuesRefused],
})

export const upgradeRelease = taskRoute({
  id: 'packages.upgradeRelease',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'Upgrade a release',
  description:
    `${ofValues}Without any of them the values of the former revision are kept. With \`reuseValues\` or ` +
    `\`resetThenReuseValues\` the given values are merged over them. ` +
    `Without \`namespace\` the release is searched in all namespaces. \`install\` creates a release that ` +
    `does not exist. ${followed}`,
  body: body(UpgradeReleaseOptions, {
    ...chartExample,
    namespace: 'shop',
    atomic: true,
    timeout: '10m',
    maxHistory: 5,
  }),
  ok: json(200, TaskResponse, taskExample),
  failures: [ReleaseOptionsRefused, ReleasePending, ValuesRefused],
})

export const uninstallRelease = taskRoute({
  id: 'packages.uninstallRelease',
  method: 'DELETE',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}',
  summary: 'Uninstall a release',
  description:
    `Options in a JSON body or in the query. The history is removed unless \`purge=false\`. \`timeout\` is ` +
    `in seconds. ${followed}`,
  body: body(
    UninstallReleaseRequest,
    { namespace: 'shop', purge: false, timeout: 300 },
    { orQuery: true, whenAbsent: {} },
  ),
  ok: json(200, TaskResponse, taskExample),
})

export const rollbackRelease = taskRoute({
  id: 'packages.rollbackRelease',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/rollback',
  summary: 'Roll a release back to an earlier revision',
  description:
    `\`version\` 0, or none, is the previous revision. \`dry_run\` changes nothing: the result of the task ` +
    `contains the changes. \`timeout\` is in seconds. ${followed}`,
  body: body(
    RollbackReleaseRequest,
    { namespace: 'shop', version: 2, wait: true, timeout: 300, description: 'back to the last good one' },
    { whenAbsent: {} },
  ),
  ok: json(200, TaskResponse, taskExample),
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

export const getDriver = driverRoute({
  id: 'packages.getDriver',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config',
  summary: 'Get the storage driver for the releases of a cluster',
  description: 'Returns the default, with id 0, until a driver is set.',
  ok: json(200, ConsoleConfig, driverExample),
})

export const setDriver = driverRoute({
  id: 'packages.setDriver',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config',
  summary: 'Set the storage driver for the releases of a cluster',
  description:
    '`Secret` or `ConfigMap`, ignoring case; the default if none is given. The response of a GET is ' +
    'accepted: without `driver`, the one in `data` is used. The driver is used for every release operation ' +
    'on the cluster under this owner. ' +
    'Releases are not moved: those of the other driver are hidden until the driver is set back.',
  body: body(TillerOptions, { driver: { pkg3: { driverName: 'ConfigMap' } } }),
  ok: json(200, ConsoleConfig, { ...driverExample, data: { driver: { pkg3: { driverName: 'ConfigMap' } } } }),
  failures: [DriverRefused],
})

export const getDefaultDriver = driverRoute({
  id: 'packages.getDefaultDriver',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/helm/tiller-config/default',
  summary: 'Get the default storage driver',
  description: 'Returns the setting that is used until another driver is set, `Secret`, with id 0 and times 0.',
  ok: json(200, ConsoleConfig, { ...driverExample, id: 0, createdUnix: 0, updatedUnix: 0 }),
})
