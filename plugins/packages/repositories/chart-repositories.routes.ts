import * as t from 'io-ts'
import {
  ChartRepositoryChanged,
  ChartRepositoryMissing,
  ChartRepositoryNameTaken,
  ChartRepositoryOvertaken,
  ChartRepositoryRefused,
  ChartRepositoryUnknown,
} from '../../../core/packages/repositories/ports.ts'
import { ChartMissing, ChartSourceRefused, ChartSourceUnreachable } from '../../../core/packages/charts/ports.ts'
import { requires, signedIn } from '../../kit/access.ts'
import { empty, json, list, packed, versioned } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import {
  accountInPath,
  AccountPath,
  ChartPath,
  ChartRepositoryEntry,
  ChartVersion,
  CreateChartRepositoryOption,
  EditChartRepositoryOption,
  entryExample,
  NamedChartRepository,
  namedExample,
  RepositoryChartPath,
  RepositoryPath,
  RepositoryUrlQuery,
  versionExample,
} from './codecs.ts'

const common = { tag: 'Chart Repositories', scopeCategory: 'cluster' } as const
const listing = { ...common, access: requires('can_list_chart_repositories', accountInPath) } as const
const listRoute = routesOf(listing)
const chartsRoute = routesOf({
  ...listing,
  failures: [ChartMissing, ChartRepositoryMissing, ChartSourceRefused, ChartSourceUnreachable],
})
const manageRoute = routesOf({ ...common, access: requires('can_manage_chart_repositories', accountInPath) })
const known = { ...common, access: signedIn } as const
const knownRoute = routesOf(known)
const knownChartsRoute = routesOf({
  ...known,
  query: RepositoryUrlQuery,
  failures: [ChartMissing, ChartRepositoryUnknown, ChartSourceRefused, ChartSourceUnreachable],
})
const limitBytes = 512 * 1024
const accountWords = '`orgname` is an organization, or your own user name for your own repositories. '

export const listNamed = listRoute({
  id: 'chart-repositories.listNamed',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories',
  summary: 'List the named chart repositories of an organization, by name',
  description: accountWords,
  params: AccountPath,
  ok: list(NamedChartRepository, namedExample),
})

export const createNamed = manageRoute({
  id: 'chart-repositories.createNamed',
  method: 'POST',
  path: '/orgs/{orgname}/chartrepositories',
  summary: 'Create a named chart repository with its credentials',
  description:
    `${accountWords}\`url\` is the https:// address of a directory with an index.yaml, or an oci:// ` +
    'address that is the parent of the charts of a registry. ' +
    'The credentials are encrypted at rest and sent only to that host. The source kind `ChartRepository` ' +
    'installs releases from it.',
  refusesSudo: true,
  params: AccountPath,
  body: body(
    CreateChartRepositoryOption,
    { name: 'internal', url: 'https://charts.example.com/stable', username: 'reader', password: 'a-long-password' },
    { limitBytes },
  ),
  ok: versioned(201, NamedChartRepository, namedExample, 'Created'),
  failures: [ChartRepositoryRefused, ChartRepositoryNameTaken],
})

export const getNamed = listRoute({
  id: 'chart-repositories.getNamed',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Get a named chart repository, without its credentials',
  description: `${accountWords}\`credentials\` names the stored credentials; their values are never returned.`,
  params: RepositoryPath,
  ok: versioned(200, NamedChartRepository, namedExample),
  failures: [ChartRepositoryMissing],
})

export const editNamed = manageRoute({
  id: 'chart-repositories.editNamed',
  method: 'PATCH',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Update a named chart repository',
  description:
    'Omitted fields do not change; an empty string removes a credential. If the host of `url` changes, the ' +
    'stored credentials are removed: send them again.',
  refusesSudo: true,
  params: RepositoryPath,
  body: body(
    EditChartRepositoryOption,
    { description: 'Charts of our own', password: 'another-long-password' },
    { limitBytes },
  ),
  ok: versioned(200, NamedChartRepository, namedExample),
  failures: [ChartRepositoryChanged, ChartRepositoryMissing, ChartRepositoryOvertaken, ChartRepositoryRefused],
})

export const deleteNamed = manageRoute({
  id: 'chart-repositories.deleteNamed',
  method: 'DELETE',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Delete a named chart repository and its credentials',
  description: 'Releases that were installed from it do not change.',
  params: RepositoryPath,
  ok: empty(204),
  failures: [ChartRepositoryMissing],
})

export const listNamedCharts = chartsRoute({
  id: 'chart-repositories.listNamedCharts',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}/charts',
  summary: 'List the charts of a named repository, each with its newest version',
  description: 'By name. Returns 422 for a registry (oci://), which cannot list its charts.',
  params: RepositoryPath,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
})

export const listNamedVersions = chartsRoute({
  id: 'chart-repositories.listNamedVersions',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}/charts/{chart}/versions',
  summary: 'List the versions of a chart of a named repository, newest first',
  description:
    'Requests the index or the registry with the stored credentials. Returns 404 for a chart that it does not have.',
  params: RepositoryChartPath,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
})

const urlWords =
  '`url` must be the address of a repository that `GET /chartrepositories` lists for the caller. No other ' +
  'address is requested. '

export const listKnown = knownRoute({
  id: 'chart-repositories.listKnown',
  method: 'GET',
  path: '/chartrepositories',
  summary: 'List the chart repositories that the caller may install from',
  description: "The caller's own, and those of each organization whose clusters the caller may see.",
  ok: json(200, t.readonlyArray(ChartRepositoryEntry), [entryExample]),
})

export const listKnownCharts = knownChartsRoute({
  id: 'chart-repositories.listKnownCharts',
  method: 'GET',
  path: '/chartrepositories/charts',
  summary: 'List the charts of a repository, each with its newest version',
  description: urlWords,
  ok: packed(json(200, t.readonlyArray(ChartVersion), [versionExample])),
})

export const listKnownVersions = knownChartsRoute({
  id: 'chart-repositories.listKnownVersions',
  method: 'GET',
  path: '/chartrepositories/charts/{name}/versions',
  summary: 'List the versions of a chart, newest first',
  description: urlWords,
  params: ChartPath,
  ok: packed(json(200, t.readonlyArray(ChartVersion), [versionExample])),
})
