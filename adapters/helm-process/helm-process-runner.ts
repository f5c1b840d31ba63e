import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { ChartTexts } from '../../core/packages/chart-ports.ts'
import { HelmRefused, type HelmChart, type HelmFailure, type HelmRendering, type HelmRunner, type HelmWork } from '../../core/packages/helm-ports.ts'
import { capabilitiesOf } from './capabilities.ts'
import { readReleaseOutput, readTemplateOutput } from './rendered-text.ts'
import { cleanLine } from './stderr-lines.ts'
import { makeRunHelm, type AskedOfHelm, type HelmProcessDeps } from './run-helm.ts'

/** A HelmRunner that is stopped with the service. */
export interface HelmProcessRunner extends HelmRunner {
  /** Ends what runs, as the port tells, waits for it, and refuses what comes after. */
  close(): Promise<void>
}

/** The failures of a Helm 4 rendering that are about the cluster's objects, not about the chart. */
const isAboutObjects = (failure: Failure): boolean =>
  failure.tag === 'HelmRefused' && /unable to build kubernetes objects|ensure CRDs are installed|cannot be imported|unable to continue with install/i.test(failure.message)

const withDryRun = (work: HelmWork, dryRun: 'server' | 'client'): HelmWork => ({
  ...work,
  // Whose objects they are, and whether their fields are known, is not asked of a look.
  flags: { ...work.flags, dryRun, takeOwnership: true, disableOpenApiValidation: true },
})

const longestLine = 500
const mostLines = 100

/** HelmRunner by one process of the helm program for each operation. */
export const makeHelmProcessRunner = (deps: HelmProcessDeps & { readonly chartTexts: Pick<ChartTexts, 'parseAll' | 'pick'> }): HelmProcessRunner => {
  const helm = makeRunHelm(deps)

  const render = async (asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, HelmRendering> => {
    const end = await helm.run(asked, signal)
    return isLeft(end) ? end : right(await readTemplateOutput(deps.chartTexts, end.right.stdout.toString('utf8')))
  }

  const template = async (work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering> => {
    const operation = 'template'
    if (work.flags.dryRun === 'client') return render({ operation, work, chart }, signal)
    const found = await helm.find()
    if (isLeft(found)) return found
    const onServer = withDryRun(work, 'server')
    const told = async (): Promise<Pick<AskedOfHelm, 'capabilities'>> => {
      const capabilities = await capabilitiesOf(work.target.cluster, signal)
      return capabilities === undefined ? {} : { capabilities }
    }
    if (found.right.major === 3) return render({ operation, work: onServer, chart, ...(await told()) }, signal)
    // Helm 4 builds and checks the objects too, which a look at a chart whose CRDs are missing must survive.
    const asked = await render({ operation, work: onServer, chart }, signal)
    return isLeft(asked) && isAboutObjects(asked.left) ? render({ operation, work: withDryRun(work, 'client'), chart, ...(await told()) }, signal) : asked
  }

  const change = async (operation: 'install' | 'upgrade', work: HelmWork, chart: HelmChart, signal: AbortSignal): Outcome<HelmFailure, HelmRendering> => {
    const end = await helm.run({ operation, work, chart }, signal)
    if (isLeft(end)) return end
    const rendering = end.right.isCutShort ? undefined : await readReleaseOutput(deps.chartTexts, end.right.stdout)
    if (rendering === undefined && work.flags.dryRun !== undefined) return left(HelmRefused('What helm printed about the attempt cannot be read.'))
    // What was changed is changed, though helm printed more than is read.
    return right(rendering ?? { manifest: '', hooks: [], notes: '', release: undefined })
  }

  const withoutChart = async (asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, void> => {
    const end = await helm.run(asked, signal)
    if (isLeft(end)) return end
    // What was kept by its resource policy is said here.
    for (const line of end.right.stdout.toString('utf8').split('\n', mostLines)) {
      const text = cleanLine(line).trim().slice(0, longestLine)
      if (text !== '') asked.work.onEvent?.({ kind: 'line', text })
    }
    return right(undefined)
  }

  return {
    async version() {
      const found = await helm.find()
      if (isLeft(found)) return undefined
      const { version, major, origin } = found.right
      return { version, major, origin }
    },
    template,
    install: (work, chart, signal) => change('install', work, chart, signal),
    upgrade: (work, chart, signal) => change('upgrade', work, chart, signal),
    rollback: (work, revision, signal) => withoutChart({ operation: 'rollback', work, revision }, signal),
    uninstall: (work, signal) => withoutChart({ operation: 'uninstall', work }, signal),
    close: () => helm.close(),
  }
}
