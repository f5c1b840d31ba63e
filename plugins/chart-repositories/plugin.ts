import { AuthorizerToken } from '../../core/authz/ports.ts'
import {
  makeCreateRepository,
  makeDeleteRepository,
  makeEditRepository,
  makeAskKnown,
  makeAskNamed,
  makeListKnown,
  makeShowRepository,
} from '../../core/chart-repositories/repositories.ts'
import { makeRepositorySafe } from '../../core/chart-repositories/sealed-credentials.ts'
import { ChartRepositoryStoreToken, ChartRepositoryUnitOfWorkToken, PemReaderToken, RepositoryReaderToken } from '../../core/chart-repositories/ports.ts'
import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { definePlugin } from '../kit/plugin.ts'
import { chartRepositoryHandlers } from './chart-repositories.handlers.ts'
import { chartRepositoryPermissions, chartRepositoryObjectTypes } from './relations.ts'

export const chartRepositoriesPlugin = definePlugin({
  id: 'chart-repositories',
  summary: 'Named chart repositories of organizations and users, and their charts',
  listener: 'api',
  gate: 'always',
  needs: {
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    entropy: EntropyToken,
    pem: PemReaderToken,
    reader: RepositoryReaderToken,
    repositories: ChartRepositoryStoreToken,
    secretBox: SecretBoxToken,
    unitOfWork: ChartRepositoryUnitOfWorkToken,
  },
  permissions: chartRepositoryPermissions,
  objectTypes: chartRepositoryObjectTypes,
  routes: (given) => {
    const deps = { ...given, safe: makeRepositorySafe(given) }
    const known = makeListKnown(deps)
    return chartRepositoryHandlers({
      repositories: given.repositories,
      show: makeShowRepository(deps),
      create: makeCreateRepository(deps),
      edit: makeEditRepository(deps),
      remove: makeDeleteRepository(deps),
      askNamed: makeAskNamed(deps),
      known,
      askKnown: makeAskKnown({ ...deps, listKnown: known }),
    })
  },
})
