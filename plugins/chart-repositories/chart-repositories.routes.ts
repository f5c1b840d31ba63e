import * as t from 'io-ts'
import {
  ChartRepositoryChanged,
  ChartRepositoryMissing,
  ChartRepositoryNameTaken,
  ChartRepositoryOvertaken,
  ChartRepositoryRefused,
  ChartRepositoryUnknown,
} from '../../core/chart-repositories/ports.ts'
import { ChartMissing, ChartSourceRefused, ChartSourceUnreachable } from '../../core/packages/charts/ports.ts'
import { read, requires, signedIn, write } from '../kit/access.ts'
import { empty, json, list, versioned } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
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

const tag = 'Chart Repositories'
const limitBytes = 512 * 1024
const accountWords = '`orgname` is an organization, or your own user name for your own repositories. '

export const listNamed = defineRoute({
  id: 'chart-repositories.listNamed',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories',
  summary: 'List the named chart repositories of an organization, by name',
  description: accountWords,
  tag,
  access: requires('can_list_chart_repositories', accountInPath),
  scope: read('cluster'),
  params: AccountPath,
  ok: list(NamedChartRepository, namedExample),
  failures: [],
})

export const createNamed = defineRoute({
  id: 'chart-repositories.createNamed',
  method: 'POST',
  path: '/orgs/{orgname}/chartrepositories',
  summary: 'Create a named chart repository with its credentials',
  description:
    `${accountWords}\`url\` is the https:// address of a directory with an index.yaml, or an oci:// address that is the parent of the charts of a registry. ` +
    'The credentials are encrypted at rest and sent only to that host. The source kind `ChartRepository` installs releases from it.',
  tag,
  access: requires('can_manage_chart_repositories', accountInPath),
  scope: write('cluster'),
  refusesSudo: true,
  params: AccountPath,
  body: body(CreateChartRepositoryOption, { name: 'internal', url: 'https://charts.example.com/stable', username: 'reader', password: 'a-long-password' }, { limitBytes }),
  ok: versioned(201, NamedChartRepository, namedExample, 'Created'),
  failures: [ChartRepositoryRefused, ChartRepositoryNameTaken],
})

export const getNamed = defineRoute({
  id: 'chart-repositories.getNamed',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Get a named chart repository, without its credentials',
  tag,
  access: requires('can_list_chart_repositories', accountInPath),
  scope: read('cluster'),
  params: RepositoryPath,
  ok: versioned(200, NamedChartRepository, namedExample),
  failures: [ChartRepositoryMissing],
})

export const editNamed = defineRoute({
  id: 'chart-repositories.editNamed',
  method: 'PATCH',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Update a named chart repository',
  description:
    'Omitted fields do not change; an empty string removes a credential. If the host of `url` changes, the stored credentials are removed: send them again.',
  tag,
  access: requires('can_manage_chart_repositories', accountInPath),
  scope: write('cluster'),
  refusesSudo: true,
  params: RepositoryPath,
  body: body(EditChartRepositoryOption, { description: 'Charts of our own', password: 'another-long-password' }, { limitBytes }),
  ok: versioned(200, NamedChartRepository, namedExample),
  failures: [ChartRepositoryChanged, ChartRepositoryMissing, ChartRepositoryOvertaken, ChartRepositoryRefused],
})

export const deleteNamed = defineRoute({
  id: 'chart-repositories.deleteNamed',
  method: 'DELETE',
  path: '/orgs/{orgname}/chartrepositories/{repository}',
  summary: 'Delete a named chart repository and its credentials',
  description: 'Releases that were installed from it do not change.',
  tag,
  access: requires('can_manage_chart_repositories', accountInPath),
  scope: write('cluster'),
  params: RepositoryPath,
  ok: empty(204),
  failures: [ChartRepositoryMissing],
})

const readFailures = [ChartMissing, ChartRepositoryMissing, ChartSourceRefused, ChartSourceUnreachable] as const

export const listNamedCharts = defineRoute({
  id: 'chart-repositories.listNamedCharts',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}/charts',
  summary: 'List the charts of a named repository, each with its newest version',
  description: 'By name. Returns 422 for a registry (oci://), which cannot list its charts.',
  tag,
  access: requires('can_list_chart_repositories', accountInPath),
  scope: read('cluster'),
  params: RepositoryPath,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
  failures: [...readFailures],
})

export const listNamedVersions = defineRoute({
  id: 'chart-repositories.listNamedVersions',
  method: 'GET',
  path: '/orgs/{orgname}/chartrepositories/{repository}/charts/{chart}/versions',
  summary: 'List the versions of a chart of a named repository, newest first',
  tag,
  access: requires('can_list_chart_repositories', accountInPath),
  scope: read('cluster'),
  params: RepositoryChartPath,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
  failures: [...readFailures],
})

const urlWords = '`url` must be the address of a repository that `GET /chartrepositories` lists for the caller. No other address is requested. '

export const listKnown = defineRoute({
  id: 'chart-repositories.listKnown',
  method: 'GET',
  path: '/chartrepositories',
  summary: 'List the chart repositories that the caller may install from',
  description: "The caller's own, and those of each organization whose clusters the caller may see.",
  tag,
  access: signedIn,
  scope: read('cluster'),
  ok: json(200, t.readonlyArray(ChartRepositoryEntry), [entryExample]),
  failures: [],
})

export const listKnownCharts = defineRoute({
  id: 'chart-repositories.listKnownCharts',
  method: 'GET',
  path: '/chartrepositories/charts',
  summary: 'List the charts of a repository, each with its newest version',
  description: urlWords,
  tag,
  access: signedIn,
  scope: read('cluster'),
  query: RepositoryUrlQuery,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
  failures: [ChartMissing, ChartRepositoryUnknown, ChartSourceRefused, ChartSourceUnreachable],
})

export const listKnownVersions = defineRoute({
  id: 'chart-repositories.listKnownVersions',
  method: 'GET',
  path: '/chartrepositories/charts/{name}/versions',
  summary: 'List the versions of a chart, newest first',
  description: urlWords,
  tag,
  access: signedIn,
  scope: read('cluster'),
  params: ChartPath,
  query: RepositoryUrlQuery,
  ok: json(200, t.readonlyArray(ChartVersion), [versionExample]),
  failures: [ChartMissing, ChartRepositoryUnknown, ChartSourceRefused, ChartSourceUnreachable],
})
