import { isLeft } from 'fp-ts/lib/Either.js'
import { makeChartSource, makeOpenRepository, makeRepositoryReader } from '../../adapters/charts/chart-source.ts'
import { makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import { makeEgressAllowance, readEgressTarget, makeUserUrlPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import type { RepositoryAccess } from '../../core/packages/repositories/types.ts'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { EmbeddedCharts, FetchedChart } from '../../core/packages/charts/ports.ts'
import type { SourceRef } from '../../core/packages/types.ts'

export interface SourceFixtureOptions {
  /** Beside public addresses. */
  readonly allow?: readonly string[]
  /** Of tenant 1. */
  readonly named?: Readonly<Record<string, RepositoryAccess>>
  readonly embedded?: EmbeddedCharts
  readonly cluster?: MemberCluster
}

/** The real source over real sockets. */
export const sourceFixture = ({
  allow = ['localhost'],
  named = {},
  embedded = new Map(),
  cluster,
}: SourceFixtureOptions = {}) => {
  // The first job waits for its thread to start, which takes long on a busy machine.
  const threads = makeChartThreads({ jobMilliseconds: 120_000 })
  const allowance = makeEgressAllowance(allow.flatMap((text) => readEgressTarget(text) ?? []))
  const open = makeOpenRepository({ fetch: makeGuardedFetch(makeUserUrlPolicy(allowance)), threads })
  const source = makeChartSource({
    open,
    threads,
    embedded,
    named: { find: (tenantId, name) => Promise.resolve(tenantId === 1 ? named[name] : undefined) },
  })
  return {
    reader: makeRepositoryReader(open),
    close: () => threads.close(),
    fetch: async (
      from: Partial<SourceRef>,
      name = 'web',
      version = '',
      tenantId = 1,
    ): Promise<FetchedChart | Failure> => {
      const ref = { name, version, source: { apiGroup: '', kind: 'Legacy', namespace: '', name: '', ...from } }
      const fetched = await source.fetch(ref, { cluster, tenantId }, new AbortController().signal)
      return isLeft(fetched) ? fetched.left : fetched.right
    },
  }
}

/** The version that came, or the failure's tag. */
export const outcomeOf = (fetched: FetchedChart | Failure): string =>
  'tag' in fetched ? fetched.tag : fetched.ref.version
