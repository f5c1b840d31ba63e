import { map, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type {
  makeCreateRepository,
  makeDeleteRepository,
  makeEditRepository,
  makeAskKnown,
  makeAskNamed,
  ListKnown,
  makeShowRepository,
} from '../../core/chart-repositories/repositories.ts'
import type { ChartRepositoryStore } from '../../core/chart-repositories/ports.ts'
import type { RepositoryClaim } from '../../core/chart-repositories/repository-rules.ts'
import type { ChartRepository, ChartVersion as Version } from '../../core/chart-repositories/types.ts'
import { mapPage } from '../../core/kernel/page.ts'
import { handle, handleChange, type BoundRoute } from '../kit/route.ts'
import type { ChartVersion, EditChartRepositoryOption, NamedChartRepository } from './codecs.ts'
import {
  listKnown,
  listKnownCharts,
  listKnownVersions,
  createNamed,
  deleteNamed,
  editNamed,
  getNamed,
  listNamed,
  listNamedCharts,
  listNamedVersions,
} from './chart-repositories.routes.ts'

export interface ChartRepositoryHandlers {
  readonly repositories: Pick<ChartRepositoryStore, 'listOf'>
  readonly show: ReturnType<typeof makeShowRepository>
  readonly create: ReturnType<typeof makeCreateRepository>
  readonly edit: ReturnType<typeof makeEditRepository>
  readonly remove: ReturnType<typeof makeDeleteRepository>
  readonly askNamed: ReturnType<typeof makeAskNamed>
  readonly known: ListKnown
  readonly askKnown: ReturnType<typeof makeAskKnown>
}

const namedWire = (repository: ChartRepository): t.TypeOf<typeof NamedChartRepository> => ({
  name: repository.name,
  url: repository.url,
  plain_http: repository.isPlainHttp,
  description: repository.description,
  username: repository.username,
  credentials: repository.holds,
  created_at: repository.createdAt.toISOString(),
  updated_at: repository.updatedAt.toISOString(),
})

const versionedWire = (repository: ChartRepository) => ({ value: namedWire(repository), version: repository.version })

const said = (text: string): string | undefined => (text === '' ? undefined : text)
const listed = (texts: readonly string[]): readonly string[] | undefined => (texts.length === 0 ? undefined : texts)

const versionWire = (found: Version): t.TypeOf<typeof ChartVersion> => ({
  name: found.name,
  version: found.version,
  description: said(found.description),
  apiVersion: said(found.apiVersion),
  appVersion: said(found.appVersion),
  kubeVersion: said(found.kubeVersion),
  type: said(found.type),
  deprecated: found.deprecated ? true : undefined,
  icon: said(found.icon),
  home: said(found.home),
  keywords: listed(found.keywords),
  sources: listed(found.sources),
  urls: listed(found.urls),
  created: said(found.created),
  digest: said(found.digest),
})

const claimOf = ({ plain_http: plainHttp, ...rest }: t.TypeOf<typeof EditChartRepositoryOption>): RepositoryClaim => ({ ...rest, plainHttp })

const versionsWire = map((found: readonly Version[]) => found.map(versionWire))

const namedRoutes = (h: ChartRepositoryHandlers): readonly BoundRoute[] => [
  handle(listNamed, async ({ grant, page }) => right(mapPage(await h.repositories.listOf(grant.ownerId, page), namedWire))),
  handleChange(createNamed, versionedWire, ({ call, grant, body: { name, ...claim } }) => h.create(call, grant.ownerId, name, claimOf(claim))),
  handle(getNamed, async ({ grant, params }) => map(versionedWire)(await h.show(grant.ownerId, params.repository))),
  handleChange(editNamed, versionedWire, ({ call, grant, params, body, expectedVersion }) =>
    h.edit(call, grant.ownerId, params.repository, claimOf(body), expectedVersion),
  ),
  handle(deleteNamed, ({ call, grant, params }) => h.remove(call, grant.ownerId, params.repository)),
  handle(listNamedCharts, async ({ call, grant, params }) => versionsWire(await h.askNamed(call, grant.ownerId, params.repository, { kind: 'charts' }))),
  handle(listNamedVersions, async ({ call, grant, params }) =>
    versionsWire(await h.askNamed(call, grant.ownerId, params.repository, { kind: 'versions', chart: params.chart })),
  ),
]

const knownRoutes = (h: ChartRepositoryHandlers): readonly BoundRoute[] => [
  handle(listKnown, async ({ call }) =>
    right((await h.known(call)).map(({ owner, repository: { name, url, username } }) => ({ name, url, username: said(username), owner }))),
  ),
  handle(listKnownCharts, async ({ call, query }) => versionsWire(await h.askKnown(call, query.url, { kind: 'charts' }))),
  handle(listKnownVersions, async ({ call, query, params }) => versionsWire(await h.askKnown(call, query.url, { kind: 'versions', chart: params.name }))),
]

export const chartRepositoryHandlers = (h: ChartRepositoryHandlers): readonly BoundRoute[] => [...namedRoutes(h), ...knownRoutes(h)]
