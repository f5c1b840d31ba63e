import * as t from 'io-ts'
import { ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import { RecordsRefused, RecordUnreadable, ReleaseAmbiguous, ReleaseMissing } from '../../core/packages/ports.ts'
import { FilterRefused, ListOptionRefused } from '../../core/packages/read-ports.ts'
import { read, requires } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { clusterInPath, ClusterPath, ReleaseOut, ReleasePath } from './codecs.ts'
import { HistoryQuery, ReleaseListOptions, RevisionQuery } from './release-reads-codecs.ts'

const tag = 'Helm'
const readFailures = [ClusterMissing, ClusterNotConnected, ClusterUnreachable, CredentialRefused, RecordsRefused, RecordUnreadable] as const

/** A row as lists have it, without what is big. */
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
    'The newest revision of each release, read from the cluster as the caller. Options as those of `helm list`, in a JSON body or in the query: ' +
    'without any, releases that are deployed or failed, of all namespaces, by name. `sort` is `name`, `name-desc`, `date`, `date-desc`, or 1 to 3 for the last three. ' +
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
  description: 'The newest `max` (256 unless told), oldest first. Without `namespace` the release is looked for in all; where several have one of that name it must be said.',
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
  summary: 'Get one revision of a release, whole',
  description: 'The newest one unless `version` names another. The record as Helm wrote it: chart with templates, values and files, manifest, hooks, notes.',
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
  description: 'As `content`, without the files, templates and default values of its chart.',
  tag,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ReleasePath,
  query: RevisionQuery,
  ok: json(200, ReleaseOut, { ...release, chart: releaseRow.chart }),
  failures: [...readFailures, ReleaseAmbiguous, ReleaseMissing],
})
