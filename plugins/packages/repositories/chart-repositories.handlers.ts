import { right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { AuthorizerPort } from '../../../core/authz/ports.ts'
import {
  ChartRepositoryStorePort,
  ChartRepositoryUnitOfWorkPort,
  PemReaderPort,
  RepositoryReaderPort,
} from '../../../core/packages/repositories/ports.ts'
import type { KnownRepository, RepositoryKey } from '../../../core/packages/repositories/repositories.ts'
import {
  makeAskKnown,
  makeAskNamed,
  makeCreateRepository,
  makeDeleteRepository,
  makeEditRepository,
  makeListKnown,
  makeShowRepository,
} from '../../../core/packages/repositories/repositories.ts'
import type { RepositoryClaim } from '../../../core/packages/repositories/repository-rules.ts'
import { makeRepositorySafe } from '../../../core/packages/repositories/repository-rules.ts'
import type { ChartRepository, ChartVersion as Version } from '../../../core/packages/repositories/types.ts'
import { ClusterStorePort } from '../../../core/clusters/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
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

const namedWire = (repository: ChartRepository): t.TypeOf<typeof NamedChartRepository> => ({
  name: repository.name,
  url: repository.url,
  plain_http: repository.isPlainHttp,
  description: repository.description,
  username: repository.username,
  credentials: repository.holds,
  created_at: repository.createdAt,
  updated_at: repository.updatedAt,
})

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

const claimOf = ({ plain_http: plainHttp, ...rest }: t.TypeOf<typeof EditChartRepositoryOption>): RepositoryClaim => ({
  ...rest,
  plainHttp,
})

const versionsWire = (found: readonly Version[]) => found.map(versionWire)

const keyOf = ({
  grant,
  params,
}: {
  readonly grant: AccessGrant
  readonly params: { readonly repository: string }
}): RepositoryKey => ({
  accountId: grant.ownerId,
  name: params.repository,
})

/** The named repositories of an account, and their charts. */
export const namedRepositoryGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    pem: PemReaderPort,
    reader: RepositoryReaderPort,
    repositories: ChartRepositoryStorePort,
    secretBox: SecretBoxPort,
    unitOfWork: ChartRepositoryUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, safe: makeRepositorySafe(given) }
    const ask = makeAskNamed(deps)
    return [
      handle(listNamed, async (_call, { grant, page }) => right(await given.repositories.listOf(grant.ownerId, page)), {
        reply: namedWire,
      }),
      handle(createNamed, makeCreateRepository(deps), {
        input: ({ grant, body: { name, ...claim } }) => ({ accountId: grant.ownerId, name, claim: claimOf(claim) }),
        reply: namedWire,
      }),
      handle(getNamed, makeShowRepository(deps), { input: keyOf, reply: namedWire }),
      handle(editNamed, makeEditRepository(deps), {
        input: ({ grant, params, body, expectedVersion }) => ({
          ...keyOf({ grant, params }),
          claim: claimOf(body),
          expectedVersion,
        }),
        reply: namedWire,
      }),
      handle(deleteNamed, makeDeleteRepository(deps), { input: keyOf }),
      handle(listNamedCharts, ask, {
        input: ({ grant, params }) => ({ ...keyOf({ grant, params }), question: { kind: 'charts' as const } }),
        reply: versionsWire,
      }),
      handle(listNamedVersions, ask, {
        input: ({ grant, params }) => ({
          ...keyOf({ grant, params }),
          question: { kind: 'versions' as const, chart: params.chart },
        }),
        reply: versionsWire,
      }),
    ]
  },
})

const knownWire = ({ owner, repository: { name, url, username } }: KnownRepository) => ({
  name,
  url,
  username: said(username),
  owner,
})

/** The repositories that the caller may install from, and their charts. */
export const knownRepositoryGroup = defineGroup({
  needs: {
    authorizer: AuthorizerPort,
    clusters: ClusterStorePort,
    entropy: EntropyPort,
    reader: RepositoryReaderPort,
    repositories: ChartRepositoryStorePort,
    secretBox: SecretBoxPort,
  },
  routes: (given) => {
    const ask = makeAskKnown({ ...given, safe: makeRepositorySafe(given) })
    return [
      handle(listKnown, makeListKnown(given), { reply: (known) => known.map(knownWire) }),
      handle(listKnownCharts, ask, {
        input: ({ query }) => ({ address: query.url, question: { kind: 'charts' as const } }),
        reply: versionsWire,
      }),
      handle(listKnownVersions, ask, {
        input: ({ query, params }) => ({
          address: query.url,
          question: { kind: 'versions' as const, chart: params.name },
        }),
        reply: versionsWire,
      }),
    ]
  },
})
