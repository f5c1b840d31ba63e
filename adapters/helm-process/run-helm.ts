import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { HelmMissing, HelmRefused, HelmStopped, type HelmChart, type HelmFailure, type HelmWork } from '../../core/packages/helm-ports.ts'
import { argumentsOf, nameProblem, type HelmCommand, type HelmOperation } from './arguments.ts'
import type { Capabilities } from './capabilities.ts'
import { runChild, type ChildEnd } from './child.ts'
import { failureOf, isGone } from './ended-words.ts'
import type { Guards } from './guards.ts'
import { howToGetHelm, type FoundHelm, type HelmFinder } from './helm-finder.ts'
import { wallSecondsOf, type HelmLimits } from './limits.ts'
import type { LoopbackProxy, ProxyDoor } from './loopback-proxy.ts'
import { asProgress, isTrace, makeRedact, type Redact } from './plain-words.ts'
import { makeSlots } from './slots.ts'
import { environmentOf, makeWorkFolder, type WorkFolder } from './work-folder.ts'

export interface HelmProcessDeps {
  readonly finder: HelmFinder
  readonly proxy: LoopbackProxy
  readonly guards: Guards
  readonly limits: HelmLimits
  /** Where working folders are made; the machine's own folder for such unless told. */
  readonly folder?: string
}

export interface AskedOfHelm {
  readonly operation: HelmOperation
  readonly work: HelmWork
  readonly chart?: HelmChart
  readonly revision?: number
  readonly capabilities?: Capabilities
}

/** Runs one helm process for each thing asked. */
export interface RunHelm {
  find(): Outcome<Failure<'HelmMissing'>, FoundHelm>
  /** Right when helm did what was asked. */
  run(asked: AskedOfHelm, signal: AbortSignal): Outcome<HelmFailure, ChildEnd>
  /** Ends what runs, waits for it, and refuses what comes after. */
  close(): Promise<void>
}

/** Nothing that only looks may stay long; what changes may, as long as its waits. */
const isChange = ({ operation, work }: AskedOfHelm): boolean => operation !== 'template' && work.flags.dryRun === undefined

/** Words for one process. Only what changes a cluster is watched line by line. */
const commandOf = (asked: AskedOfHelm, helm: FoundHelm, files: WorkFolder): HelmCommand => {
  const { operation, work, revision, capabilities } = asked
  return {
    operation,
    major: helm.major,
    flags: work.flags,
    release: work.release,
    isVerbose: isChange(asked),
    ...(files.chartFile === undefined ? {} : { chartFile: files.chartFile }),
    ...(files.valuesFile === undefined ? {} : { valuesFile: files.valuesFile }),
    ...(revision === undefined ? {} : { revision }),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}

/** How long a process may take, and what ends it. */
const boundsOf = (asked: AskedOfHelm, limits: HelmLimits) => {
  const { operation, work } = asked
  const changes = isChange(asked)
  return {
    outputLimitBytes: limits.outputBytes,
    isPatient: changes,
    wallSeconds: changes ? wallSecondsOf(work.flags.timeoutSeconds, limits) : limits.renderSeconds,
    finishSeconds: changes && (operation === 'rollback' || operation === 'uninstall') ? limits.finishSeconds : 0,
    graceSeconds: changes ? limits.changeGraceSeconds : limits.renderGraceSeconds,
  }
}

/** Passes on what helm says, until it begins to tell where in its source it failed. */
const progressTo = (work: HelmWork, redact: Redact) => {
  let hasTrace = false
  return (line: string): void => {
    hasTrace ||= isTrace(line)
    const text = hasTrace ? undefined : asProgress(line)
    if (text !== undefined) work.onEvent?.({ kind: 'line', text: redact(text) })
  }
}

export const makeRunHelm = ({ finder, proxy, guards, limits, folder }: HelmProcessDeps): RunHelm => {
  const renderings = makeSlots(limits.renderings)
  const changes = makeSlots(limits.changes)
  const closing = new AbortController()
  const underWay = new Set<Promise<unknown>>()

  const find = async (): Outcome<Failure<'HelmMissing'>, FoundHelm> => {
    const search = await finder.find()
    return search.found === undefined ? left(HelmMissing(`No helm can be used: ${search.why}. ${howToGetHelm}.`)) : right(search.found)
  }

  const runIn = async (asked: AskedOfHelm, helm: FoundHelm, files: WorkFolder, door: ProxyDoor, signal: AbortSignal): Outcome<HelmFailure, ChildEnd> => {
    const { operation, work, chart } = asked
    const redact = makeRedact(chart?.values, door.url)
    const memoryMiB = isChange(asked) ? limits.changeMemoryMiB : limits.renderMemoryMiB
    const plan = {
      ...guards.wrap(helm.path, argumentsOf(commandOf(asked, helm, files)), memoryMiB),
      ...boundsOf(asked, limits),
      cwd: files.path,
      environment: environmentOf(files.path, work.target.driver === 'Secret' ? 'secret' : 'configmap', Math.floor(memoryMiB / 4)),
      onLine: progressTo(work, redact),
    }
    const end = await runChild(plan, signal)
    if (isGone(end)) finder.forget()
    const failure = failureOf(operation, end, redact, door.trouble())
    return failure === undefined ? right(end) : left(failure)
  }

  const withFiles = async (asked: AskedOfHelm, helm: FoundHelm, signal: AbortSignal): Outcome<HelmFailure, ChildEnd> => {
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
    const slot = await (isChange(asked) ? changes : renderings).take(asked.work.target.tenantId, signal)
    if (isLeft(slot)) return slot
    try {
      return await withFiles(asked, helm.right, signal)
    } finally {
      slot.right()
    }
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
    async close() {
      closing.abort()
      await Promise.allSettled(underWay)
      await proxy.close()
    },
  }
}
