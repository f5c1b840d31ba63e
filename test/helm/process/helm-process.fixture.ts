import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import type { HelmProcessRunner } from '../../../adapters/helm/process/helm-runner.ts'
import { makeGuards, makeHelmProcessRunner } from '../../../adapters/helm/process/helm-runner.ts'
import { unwatchedHelpers } from '../../support/child-processes.ts'
import { makeHelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import { usualLimits, type HelmLimits } from '../../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../../adapters/helm/process/loopback-proxy.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { unwrap } from '../../support/outcome.ts'
import type { RunnerFixture } from './helm-runner.suite.ts'
import { memberOf } from './member-of.ts'
import { trialChart } from './trial-charts.ts'
import { chartTexts } from '../../packages/texts.ts'

/** The real program with a folder of its own. */
export interface ProcessFixture extends RunnerFixture {
  readonly runner: HelmProcessRunner
  /** The cluster as another caller. */
  as(login: string): Promise<MemberCluster>
  /** A further runner over the same program. */
  withLimits(limits: Partial<HelmLimits>): HelmProcessRunner
  /** What lies in the folder of working folders. */
  leftOvers(): readonly string[]
  stop(): Promise<void>
}

interface RecordItem {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
}

/** Helm 3.17.3, older than what the service takes, stands for all of Helm 3. */
const testFloor = '3.17.0'

/** A Kubernetes API that the fixture's cluster is. */
export interface ApiServer {
  readonly kubeconfig: string
  readonly uid: string
  makeNamespace(name: string): Promise<void>
}

export const makeProcessFixture = async (binary: string, api: ApiServer): Promise<ProcessFixture> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-runner-test-'))
  const member = memberOf(api.kubeconfig, api.uid)
  const runners: HelmProcessRunner[] = []
  const withLimits = (limits: Partial<HelmLimits>): HelmProcessRunner => {
    const runner = makeHelmProcessRunner({
      chartTexts,
      finder: makeHelmFinder({ setting: binary, searchPath: '', bundled: async () => undefined, floor: testFloor }),
      proxy: makeLoopbackProxy(),
      guards: makeGuards(process.env['PATH'] ?? ''),
      limits: { ...usualLimits(2), ...limits },
      folder,
      helpers: unwatchedHelpers,
    })
    runners.push(runner)
    return runner
  }
  const cluster = await member.as('ann')
  return {
    runner: withLimits({ renderings: { inAll: 3, perTenant: 3, waitingPerTenant: 100 } }),
    cluster,
    as: (login) => member.as(login),
    withLimits,
    chart: trialChart,
    async namespace() {
      const name = `run-${randomBytes(5).toString('hex')}`
      await api.makeNamespace(name)
      return name
    },
    async records(namespace, name) {
      const target = `/api/v1/namespaces/${namespace}/secrets?labelSelector=owner%3Dhelm%2Cname%3D${name}`
      const { json } = unwrap(await cluster.request({ method: 'GET', target }, new AbortController().signal))
      const labels = (json as { readonly items: readonly RecordItem[] }).items.map(({ metadata }) => metadata.labels)
      return labels
        .toSorted((a, b) => Number(a['version']) - Number(b['version']))
        .map((each) => `${each['version']} ${each['status']}`)
    },
    leftOvers: () => readdirSync(folder),
    async stop() {
      await Promise.all(runners.map((runner) => runner.close()))
      await member.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
