import { makeUserFetch } from '../../../adapters/outbound/user-fetch.ts'
import { makeWorkloadTokens } from '../../../adapters/workload-identities/workload-tokens.ts'
import {
  ApiUrlPort,
  AuthorizationServerUnitOfWorkPort,
  ClusterDirectoryPort,
} from '../../../core/authorization-server/ports.ts'
import { makeTokenExchange } from '../../../core/authorization-server/workloads/exchange.ts'
import {
  TokenExchangePort,
  WorkloadClustersPort,
  WorkloadStorePort,
  WorkloadTokensPort,
} from '../../../core/authorization-server/workloads/ports.ts'
import { makeAccessToken } from '../../../core/identity/tokens/access-tokens.ts'
import { TokenDigestPort } from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { optional } from '../../../core/kernel/port-key.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { bind } from '../../part/binding.ts'
import type { Boot } from '../../part/boot.ts'

/** What exchanges tokens of other issuers. */
export const workloadBindings = (boot: Boot<object>) => [
  bind(WorkloadTokensPort, { clock: ClockPort }, ({ clock }) =>
    makeWorkloadTokens({ clock, fetch: makeUserFetch(boot) }),
  ),
  bind(
    TokenExchangePort,
    {
      apiUrl: ApiUrlPort,
      clock: ClockPort,
      directory: ClusterDirectoryPort,
      clusters: optional(WorkloadClustersPort),
      digest: TokenDigestPort,
      entropy: EntropyPort,
      unitOfWork: AuthorizationServerUnitOfWorkPort,
      workloads: WorkloadStorePort,
      workloadTokens: WorkloadTokensPort,
    },
    ({ entropy, ...given }) =>
      makeTokenExchange({ ...given, newAccessToken: () => makeAccessToken(entropy, given.digest) }),
  ),
]
