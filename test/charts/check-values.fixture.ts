import { tmpdir } from 'node:os'
import { isLeft } from 'fp-ts/lib/Either.js'
import { archiveLimits } from '../../adapters/charts/archives.ts'
import { readChart } from '../../adapters/charts/chart-archives.ts'
import { makeChartThreads, makeChartTools } from '../../adapters/charts/chart-threads.ts'
import { makeHelmFinder } from '../../adapters/helm/process/helm-finder.ts'
import { makeGuards, makeHelmProcessRunner, type HelmProcessRunner } from '../../adapters/helm/process/helm-runner.ts'
import { usualLimits } from '../../adapters/helm/process/limits.ts'
import { makeLoopbackProxy } from '../../adapters/helm/process/loopback-proxy.ts'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { HelmWork } from '../../core/packages/releases/ports.ts'
import { checkValues } from '../../core/packages/releases/preflight.ts'
import { chartTexts } from '../packages/texts.ts'
import { chartArchive, chartYaml } from '../support/charts/archive.ts'
import { unwatchedHelpers } from '../support/child-processes.ts'
import { helm } from '../support/components/available.ts'
import type { HelmCommands } from '../support/components/helm.ts'
import { needing } from '../support/components/needing.ts'

/** Values checked by our code, with both versions of helm. */
const test = needing('helm')
export const versions = ['helm3', 'helm4'] as const
export type Version = (typeof versions)[number]

const threads = makeChartThreads({ jobMilliseconds: 60_000 })
export const tools = makeChartTools(threads)
export const runners = new Map<Version, HelmProcessRunner>()
export let commands: HelmCommands
test.before(async () => {
  commands = (await helm())!
  for (const version of versions) {
    const finder = makeHelmFinder({
      setting: commands[version],
      floor: '3.0.0',
      searchPath: '',
      bundled: async () => undefined,
    })
    runners.set(
      version,
      makeHelmProcessRunner({
        chartTexts,
        finder,
        proxy: makeLoopbackProxy(),
        guards: makeGuards(process.env['PATH'] ?? ''),
        limits: usualLimits(2),
        folder: tmpdir(),
        helpers: unwatchedHelpers,
      }),
    )
  }
})
test.after.always(async () => {
  await threads.close()
  for (const runner of runners.values()) await runner.close()
})

export type Files = Readonly<Record<string, string>>
export const work: HelmWork = {
  target: { cluster: { name: 'wharf' } as MemberCluster, driver: 'Secret', tenantId: 1 },
  release: { namespace: 'harbour', name: 'tide' },
  flags: {},
}
export const archiveWith = (schema: unknown, more: Files = {}, yaml = ''): Promise<Uint8Array> =>
  chartArchive({
    'Chart.yaml': chartYaml('web', yaml),
    'values.schema.json': typeof schema === 'string' ? schema : JSON.stringify(schema),
    ...more,
  })

/** The problems of one version of helm; empty if the values fit. */
export const problems = async (
  schema: unknown,
  values: FreeObject,
  { more = {}, yaml = '', version = 'helm4' as Version }: { more?: Files; yaml?: string; version?: Version } = {},
): Promise<readonly string[]> => {
  const chart = await readChart(await archiveWith(schema, more, yaml), archiveLimits)
  const checked = await checkValues(
    { helm: runners.get(version)!, chartTools: tools },
    work,
    { chart, values },
    new AbortController().signal,
  )
  if (!isLeft(checked)) return []
  if (checked.left.tag !== 'ValuesRefused' || checked.left.kind !== 'Unprocessable')
    throw new Error(checked.left.message)
  return checked.left.errors ?? [checked.left.message]
}
