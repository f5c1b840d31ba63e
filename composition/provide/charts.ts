import { makeChartSource } from '../../adapters/charts/chart-source.ts'
import { makeChartTexts } from '../../adapters/charts/chart-texts.ts'
import { makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import { makeChartTools } from '../../adapters/charts/chart-tools.ts'
import { fastJsonPatches } from '../../adapters/charts/fast-json-patches.ts'
import { makeOpenRepository } from '../../adapters/charts/repositories.ts'
import { makeRepositoryReader } from '../../adapters/charts/repository-reader.ts'
import { makeTextDiff } from '../../adapters/charts/text-diff.ts'
import { embedSource } from '../../adapters/editors/embed-source.ts'
import { embeddedEditorCharts } from '../../adapters/editors/embedded-editors.ts'
import { makeTimeSlices } from '../../adapters/helm/time-slices.ts'
import { makeEgressAllowance } from '../../adapters/outbound/egress-allowance.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import { makeUserUrlPolicy } from '../../adapters/outbound/user-url-policy.ts'
import { NamedRepositoriesToken, RepositoryReaderToken } from '../../core/chart-repositories/ports.ts'
import { ChartSourceToken, ChartTextsToken, ChartToolsToken, EmbeddedChartsToken } from '../../core/packages/chart-ports.ts'
import { JsonPatchesToken } from '../../core/packages/ports.ts'
import { TextDiffToken } from '../../core/packages/release-task-ports.ts'
import type { Provide } from '../boot.ts'

/** Of reading short texts, before everything else has its turn. */
const sliceMilliseconds = 4

/** Charts: where they come from, what may be in them, and the texts that they are made of. */
export const provideCharts: Provide = (container, boot) => {
  const threads = makeChartThreads()
  const slices = makeTimeSlices(sliceMilliseconds)
  boot.onStop('threads that read charts', () => threads.close())
  const fetch = makeGuardedFetch(makeUserUrlPolicy(makeEgressAllowance(boot.settings.egressAllow)))
  const open = makeOpenRepository({ fetch, threads })
  container.provideValue(ChartTextsToken, makeChartTexts(threads, slices))
  container.provideValue(TextDiffToken, makeTextDiff(threads, slices))
  container.provideValue(JsonPatchesToken, fastJsonPatches)
  container.provideValue(EmbeddedChartsToken, new Map([[embedSource.name, embeddedEditorCharts]]))
  container.provide(ChartToolsToken, () => makeChartTools(threads))
  container.provide(RepositoryReaderToken, () => makeRepositoryReader(open))
  container.provide(ChartSourceToken, (resolve) => makeChartSource({ open, threads, named: resolve(NamedRepositoriesToken), embedded: resolve(EmbeddedChartsToken) }))
}
