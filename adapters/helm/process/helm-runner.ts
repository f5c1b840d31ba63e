import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { ChartTexts, SchemaChart } from '../../../core/packages/charts/ports.ts'
import { valuesRefused } from '../../../core/packages/charts/ports.ts'
import type {
  HelmChart,
  HelmFailure,
  HelmRendering,
  HelmRunner,
  HelmWork,
} from '../../../core/packages/releases/ports.ts'
import { HelmMissing, HelmRefused, HelmStopped } from '../../../core/packages/releases/ports.ts'
import type { Capabilities, HelmCommand, HelmOperation } from './arguments.ts'
import { argumentsOf, capabilitiesOf, nameProblem } from './arguments.ts'
import type { ChildEnd } from './child-process.ts'
import { cleanLine, runChild } from './child-process.ts'
import type { FoundHelm, HelmFinder } from './helm-finder.ts'
import { howToGetHelm, onPath } from './helm-finder.ts'
import {
  asProgress,
  failureOf,
  isGone,
  isTrace,
  makeRedact,
  readReleaseOutput,
  readTemplateOutput,
} from './helm-output.ts'
import { schemaProblems } from './schema-problems.ts'
import type { HelmLimits } from './limits.ts'
import { makeSlots, wallSecondsOf } from './limits.ts'
import type { HelperProcesses } from '../../system/helper-processes.ts'
import type { LoopbackProxy, ProxyDoor } from './loopback-proxy.ts'
import type { WorkFolder } from './work-folder.ts'
import { environmentOf, makeWorkFolder } from './work-folder.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import type { Redact } from '../../../core/kernel/secret.ts'
import { redactSecrets } from '../../../core/kernel/secret.ts'

/** Limits that the operating system enforces, if the programs for them are installed (Linux). */
export interface Guards {
  /** Returns the command that runs `command` within the limits, in the same process. */
  wrap(
    command: string,
    words: readonly string[],
    memoryLimitMiB: number,
  ): { readonly command: string; readonly words: readonly string[] }
}

/** @param searchPath folders, in the format of PATH. */
export const makeGuards = (searchPath: string, platform: NodeJS.Platform = process.platform): Guards => {
  const find = (name: string): string | undefined => (platform === 'linux' ? onPath(name, searchPath) : undefined)
  const prlimit = find('prlimit')
  const setpriv = find('setpriv')
  return {
    wrap(command, words, memoryLimitMiB) {
      const whole = [
        // A process that survives the service has lost its access to the cluster and might run forever.
        ...(setpriv === undefined ? [] : [setpriv, '--pdeathsig=KILL', '--']),
        ...(prlimit === undefined ? [] : [prlimit, `--as=${memoryLimitMiB * 1024 * 1024}`, '--core=0', '--']),
        command,
        ...words,
      ]
      const [first = command, ...others] = whole
      return { command: first, words: others }
    },
  }
}

export interface HelmProcessDeps {
  readonly finder: HelmFinder
  readonly proxy: LoopbackProxy
  readonly guards: Guards
  readonly limits: HelmLimits
  /** Parent of the working folders. It is created when it is missing. */
  readonly folder: string
  /** Notes what the processes use. */
  readonly helpers: Pick<HelperProcesses, 'watch'>
}

interface AskedOfHelm {
  readonly operation: HelmOperation
  readonly work: HelmWork
  readonly chart?: HelmChart
  readonly revision?: number
  readonly capabilities?: Capabilities
  /** The chart holds schemas only. A process that ends because of the values is returned on the Right. */
  readonly schemas?: SchemaChart
}

/** Runs one helm process for each operation. */
interface RunHelm {
  find(): Outcome<Failure<'HelmMissing'>, FoundHelm>
  /** Returns Right if helm succeeded. */
  run(asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, ChildEnd>
  load(): { readonly renderings: PoolLoad; readonly changes: PoolLoad }
  /** Ends running processes, waits for them, and refuses further operations. */
  close(): Promise<void>
}

/** An operation that only reads has a short limit. One that changes something may run for as long as its waits. */
const isChange = ({ operation, work }: AskedOfHelm): boolean =>
  operation !== 'template' && work.flags.dryRun === undefined

/** Returns the command line of one process. Only operations that change a cluster are watched line by line. */
const commandOf = (asked: AskedOfHelm, helm: FoundHelm, files: WorkFolder): HelmCommand => {
  const { operation, work, revision, capabilities, schemas } = asked
  return {
    operation,
    major: helm.major,
    flags: work.flags,
    release: work.release,
    isVerbose: isChange(asked),
    ...definedFields({
      chartFile: files.chartFile,
      valuesFile: files.valuesFile,
      revision,
      capabilities,
      checksSchemas: schemas === undefined ? undefined : true,
    }),
  }
}

/** Returns the time limits of a process, in words too, and the conditions that end it. */
const boundsOf = (asked: AskedOfHelm, limits: HelmLimits) => {
  const { operation, work } = asked
  const changes = isChange(asked)
  return {
    outputLimitBytes: limits.outputBytes,
    isPatient: changes,
    wallSeconds: changes ? wallSecondsOf(work.flags.timeoutSeconds, limits) : limits.renderSeconds,
    finishSeconds: changes && (operation === 'rollback' || operation === 'uninstall') ? limits.finishSeconds : 0,
    graceSeconds: changes ? limits.changeGraceSeconds : limits.renderGraceSeconds,
    timeLimit: changes
      ? `the ${wallSecondsOf(work.flags.timeoutSeconds, limits)} s that its timeout allows (four times the timeout and ` +
        'a minute): a longer `timeout` of the request raises it'
      : `the ${limits.renderSeconds} s that a rendering may take: an operator raises it by MOORAGE_HELM_RENDER_SECONDS`,
  }
}

/** Reports helm's lines until the source trace of a failure. */
const progressTo = (work: HelmWork, redact: Redact) => {
  let hasTrace = false
  return (line: string): void => {
    hasTrace ||= isTrace(line)
    const text = hasTrace ? undefined : asProgress(line)
    if (text !== undefined) work.onEvent?.({ kind: 'line', text: redact(text) })
  }
}

const makeRunHelm = ({ finder, proxy, guards, limits, folder, helpers }: HelmProcessDeps): RunHelm => {
  const renderings = makeSlots(limits.renderings, 'helm-renderings')
  const changes = makeSlots(limits.changes, 'helm-changes')
  const closing = new AbortController()
  const underWay = new Set<Promise<unknown>>()

  const find = async (): Outcome<Failure<'HelmMissing'>, FoundHelm> => {
    const search = await finder.find()
    return search.found === undefined
      ? left(HelmMissing(`No helm can be used: ${search.why}. ${howToGetHelm}.`))
      : right(search.found)
  }

  const runIn = async (
    asked: AskedOfHelm,
    helm: FoundHelm,
    files: WorkFolder,
    door: ProxyDoor,
    signal: AbortSignal,
  ): Outcome<HelmFailure, ChildEnd> => {
    const { operation, work, chart } = asked
    const redact = makeRedact(chart?.values, door.url)
    const memoryMiB = isChange(asked) ? limits.changeMemoryMiB : limits.renderMemoryMiB
    const { timeLimit, ...bounds } = boundsOf(asked, limits)
    const plan = {
      ...guards.wrap(helm.path, argumentsOf(commandOf(asked, helm, files)), memoryMiB),
      ...bounds,
      cwd: files.path,
      environment: environmentOf(
        files.path,
        work.target.driver === 'Secret' ? 'secret' : 'configmap',
        Math.floor(memoryMiB / 4),
      ),
      onLine: progressTo(work, redact),
      helpers,
    }
    const end = await runChild(plan, signal)
    if (isGone(end)) finder.forget()
    if (asked.schemas !== undefined && schemaProblems(end.stderr, asked.schemas) !== undefined) return right(end)
    const failure = failureOf(operation, end, redact, timeLimit, door.trouble())
    return failure === undefined ? right(end) : left(failure)
  }

  const withFiles = async (
    asked: AskedOfHelm,
    helm: FoundHelm,
    signal: AbortSignal,
  ): Outcome<HelmFailure, ChildEnd> => {
    const { work, chart } = asked
    const door = await proxy.open({ cluster: work.target.cluster, onEvent: work.onEvent ?? (() => undefined) })
    try {
      const files = await makeWorkFolder({ server: door.url, namespace: work.release.namespace, chart }, folder)
      try {
        return await runIn(asked, helm, files, door, signal)
      } finally {
        await files.remove()
      }
    } finally {
      door.close()
    }
  }

  const start = async (asked: AskedOfHelm, given: AbortSignal): Outcome<HelmFailure, ChildEnd> => {
    const problem = nameProblem(asked.work.release)
    if (problem !== undefined) return left(HelmRefused(problem))
    if (closing.signal.aborted) return left(HelmStopped('The service stops.'))
    const signal = AbortSignal.any([given, closing.signal])
    const helm = await find()
    if (isLeft(helm)) return helm
    const slots = isChange(asked) ? changes : renderings
    return slots.run(asked.work.target.tenantId, signal, () => withFiles(asked, helm.right, signal))
  }

  return {
    find,
    run(asked, signal) {
      const running = start(asked, signal)
      underWay.add(running)
      const forget = (): void => void underWay.delete(running)
      running.then(forget, forget)
      return running
    },
    load: () => ({ renderings: renderings.load(), changes: changes.load() }),
    async close() {
      closing.abort()
      await Promise.allSettled(underWay)
      await proxy.close()
    },
  }
}

/** A HelmRunner that is stopped with the service. */
export interface HelmProcessRunner extends HelmRunner {
  /** The processes that only render, and those that change something. */
  load(): { readonly renderings: PoolLoad; readonly changes: PoolLoad }
  /** Ends running processes as the port describes, waits for them, and refuses further operations. */
  close(): Promise<void>
}

/** Reports whether a Helm 4 rendering failed because of the cluster's objects, not the chart. */
const isAboutObjects = (failure: Failure): boolean =>
  failure.tag === 'HelmRefused' &&
  /unable to build kubernetes objects|ensure CRDs are installed|cannot be imported|unable to continue with install/i.test(
    failure.message,
  )

const withDryRun = (work: HelmWork, dryRun: 'server' | 'client'): HelmWork => ({
  ...work,
  // A preview does not check the ownership of objects or whether their fields are known.
  flags: { ...work.flags, dryRun, takeOwnership: true, disableOpenApiValidation: true },
})

const longestLine = 500
const mostLines = 100

/** HelmRunner with one process of the helm program for each operation. */
export const makeHelmProcessRunner = (
  deps: HelmProcessDeps & { readonly chartTexts: Pick<ChartTexts, 'parseAll' | 'pick'> },
): HelmProcessRunner => {
  const helm = makeRunHelm(deps)

  const render = async (asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, HelmRendering> => {
    const end = await helm.run(asked, signal)
    return isLeft(end) ? end : right(await readTemplateOutput(deps.chartTexts, end.right.stdout.toString('utf8')))
  }

  const template = async (
    work: HelmWork,
    chart: HelmChart,
    signal: AbortSignal,
  ): Outcome<HelmFailure, HelmRendering> => {
    const operation = 'template'
    if (work.flags.dryRun === 'client') return render({ operation, work, chart }, signal)
    const found = await helm.find()
    if (isLeft(found)) return found
    const onServer = withDryRun(work, 'server')
    const told = async (): Promise<Pick<AskedOfHelm, 'capabilities'>> =>
      definedFields({ capabilities: await capabilitiesOf(work.target.cluster, signal) })
    if (found.right.major === 3) return render({ operation, work: onServer, chart, ...(await told()) }, signal)
    // Helm 4 also builds and checks the objects. A preview of a chart whose CRDs are missing must still work.
    const asked = await render({ operation, work: onServer, chart }, signal)
    return isLeft(asked) && isAboutObjects(asked.left)
      ? render({ operation, work: withDryRun(work, 'client'), chart, ...(await told()) }, signal)
      : asked
  }

  const checkValues = async (
    work: HelmWork,
    schemas: SchemaChart,
    values: FreeObject,
    signal: AbortSignal,
  ): Outcome<HelmFailure | Failure<'ValuesRefused'>, void> => {
    const end = await helm.run(
      {
        operation: 'template',
        work: { ...work, flags: { dryRun: 'client' } },
        chart: { archive: schemas.archive, values },
        schemas,
      },
      signal,
    )
    if (isLeft(end)) return end
    const problems = schemaProblems(end.right.stderr, schemas)
    const redact = redactSecrets(values)
    return problems === undefined ? right(undefined) : left(valuesRefused(problems.map((line) => redact(line))))
  }

  const change = async (
    operation: 'install' | 'upgrade',
    work: HelmWork,
    chart: HelmChart,
    signal: AbortSignal,
  ): Outcome<HelmFailure, HelmRendering> => {
    const end = await helm.run({ operation, work, chart }, signal)
    if (isLeft(end)) return end
    const rendering = end.right.isCutShort ? undefined : await readReleaseOutput(deps.chartTexts, end.right.stdout)
    if (rendering === undefined && work.flags.dryRun !== undefined)
      return left(HelmRefused('What helm printed about the attempt cannot be read.'))
    // The change was made even if helm printed more than is read.
    return right(rendering ?? { manifest: '', hooks: [], notes: '', release: undefined })
  }

  const withoutChart = async (asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, void> => {
    const end = await helm.run(asked, signal)
    if (isLeft(end)) return end
    // Objects kept by their resource policy are reported here.
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
    checkValues,
    install: (work, chart, signal) => change('install', work, chart, signal),
    upgrade: (work, chart, signal) => change('upgrade', work, chart, signal),
    rollback: (work, revision, signal) => withoutChart({ operation: 'rollback', work, revision }, signal),
    uninstall: (work, signal) => withoutChart({ operation: 'uninstall', work }, signal),
    load: () => helm.load(),
    close: () => helm.close(),
  }
}
