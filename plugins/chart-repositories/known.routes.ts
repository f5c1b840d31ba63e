import * as t from 'io-ts'
import { ChartRepositoryUnknown } from '../../core/chart-repositories/ports.ts'
import { ChartMissing, ChartSourceRefused, ChartSourceUnreachable } from '../../core/packages/chart-ports.ts'
import { read, signedIn } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { ChartPath, ChartRepositoryEntry, ChartVersion, RepositoryUrlQuery } from './codecs.ts'
import { entryExample, versionExample } from './examples.ts'

const tag = 'Chart Repositories'
const urlWords = '`url` must be that of a repository which the caller knows by name (`GET /chartrepositories`): no other address is asked. '

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
