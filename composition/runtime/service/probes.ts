import { releaseVersion } from '../../../core/platform/version.ts'
import { orBindRefused } from '../../part/boot.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { ListenAddress } from '../../part/setting-type.ts'
import type { ApiServer } from '../http/api-server.ts'
import type { Metrics } from '../http/metrics.ts'
import { makeMetrics } from '../http/metrics.ts'
import type { ReadinessCheck } from '../../part/readiness-check.ts'
import type { OpsServer, OpsServerDeps } from '../http/ops-server.ts'
import { makeOpsServer } from '../http/ops-server.ts'
import type { StopSequence } from './compose.ts'

/** The operations listener, which answers from the beginning of the start, and what it shows. */
export interface Probes {
  readonly opsAddress: ListenAddress
  readonly metrics: Metrics
  addChecks(checks: readonly ReadinessCheck[]): void
  setStarted(): void
  setStopping(): void
}

export interface ProbesInput {
  readonly settings: Pick<RuntimeSettings, 'opsListen'>
  /** Serves the listener elsewhere, in a worker. */
  readonly makeOps: ((deps: OpsServerDeps) => OpsServer) | undefined
  /** Returns what the start waits for. */
  readonly waitsFor: () => string | undefined
  readonly stops: StopSequence
}

export const openProbes = async ({
  settings,
  makeOps = makeOpsServer,
  waitsFor,
  stops,
}: ProbesInput): Promise<Probes> => {
  let isStarted = false
  let isStopping = false
  const metrics = makeMetrics(releaseVersion)
  const reason = (): string => waitsFor() ?? 'the start is not complete'
  const checks: ReadinessCheck[] = [{ name: 'started', check: async () => isStarted, reason }]
  const ops = makeOps({ checks, isStopping: () => isStopping, metrics })
  const opsAddress = await listenAt('MOORAGE_OPS_LISTEN', settings.opsListen, ops)
  // Until the end, probes see that the service is alive and not ready.
  stops.addLast('operations listener', () => ops.close())
  return {
    opsAddress,
    metrics,
    addChecks: (more) => void checks.push(...more),
    setStarted: () => void (isStarted = true),
    setStopping: () => void (isStopping = true),
  }
}

export const listenAt = (
  name: string,
  address: ListenAddress,
  server: Pick<ApiServer, 'listen'>,
): Promise<ListenAddress> => orBindRefused(name, address, () => server.listen(address))
