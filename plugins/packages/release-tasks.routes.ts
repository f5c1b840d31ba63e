import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import { ValuesRefused } from '../../core/packages/chart-ports.ts'
import { RecordsRefused, RecordUnreadable, ReleaseAmbiguous, ReleaseMissing } from '../../core/packages/ports.ts'
import { ReleaseNameTaken, ReleaseOptionsRefused, ReleasePending } from '../../core/packages/release-task-ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../core/tasks/ports.ts'
import { requires, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { clusterInPath, ClusterPath, ReleasePath, ResponseIdQuery, taskExample, TaskResponse } from './codecs.ts'
import { InstallReleaseOptions, RollbackReleaseRequest, UninstallReleaseRequest, UpgradeReleaseOptions } from './release-task-codecs.ts'

const tag = 'Helm'
const submitFailures = [
  ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, RecordsRefused, RecordUnreadable, ResponseIdTaken, TaskLocked, TooManyTasks,
] as const
const followed =
  'The answer names a task: its progress is on the bus under `subject` and at `/tasks/{id}`. ' +
  '`response-id` is what the client chooses as the last word of `subject`; the same request with it within an hour is answered as the first time. ' +
  'While a task works on a release, another one for it is refused by 409.'
const ofValues =
  'Values: `replaceValues` alone is the whole set; else the chart\'s `valuesFile` with `valuesPatch` (RFC 6902); else with `valueBytes`, `values` (as `--set`), `stringValues` and `kv_pairs` over it, in that order. '

const chartExample = { name: 'web', version: '1.4.0', sourceKind: 'HelmRepository', sourceNamespace: 'flux-system', sourceName: 'stable' }

export const installRelease = defineRoute({
  id: 'packages.installRelease',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/helm/v3/releases',
  summary: 'Install a chart as a release',
  description: `${ofValues}\`dryRun\` changes nothing: the task's result holds what would change. A name that is in use is refused by 409. ${followed}`,
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
    `${ofValues}Without any of them the values of the former revision stay. With \`reuseValues\` or \`resetThenReuseValues\` the ones given are put over those. ` +
    `Without \`namespace\` the release is looked for in all. \`install\` makes a release that is not there. ${followed}`,
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
  description: `\`version\` 0, or none, is the revision before. \`dry_run\` changes nothing: the task's result holds what would change. \`timeout\` is in seconds. ${followed}`,
  tag,
  access: requires('can_connect', clusterInPath),
  scope: write('cluster'),
  params: ReleasePath,
  query: ResponseIdQuery,
  body: body(RollbackReleaseRequest, { namespace: 'shop', version: 2, wait: true, timeout: 300, description: 'back to the last good one' }, { whenAbsent: {} }),
  ok: json(200, TaskResponse, taskExample),
  failures: [...submitFailures, ReleaseAmbiguous, ReleaseMissing],
})
