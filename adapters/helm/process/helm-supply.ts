import type { Log } from '../../../core/kernel/log.ts'
import type { BundledHelm } from './bundled-helm.ts'
import { howToGetHelm, type HelmFinder } from './helm-finder.ts'
import { removeLeftOvers } from './work-folder.ts'

/** Provides a helm program at the start of the service. */
export interface HelmSupply {
  /**
   * Searches for helm and logs the result. If there is none, fetches the bundled one in the background. Resolves after the
   * first message; never rejects.
   */
  start(): Promise<void>
  /** Cancels the download. */
  stop(): Promise<void>
}

export const makeHelmSupply = (deps: {
  readonly finder: HelmFinder
  readonly bundled: BundledHelm
  readonly log: Log
  /** MOORAGE_HELM. If it is set, nothing is fetched. */
  readonly setting: string | undefined
  /** The parent of working folders left by an earlier process; the system's temporary folder by default. */
  readonly folder?: string
}): HelmSupply => {
  const { finder, bundled, log, setting } = deps
  const stopping = new AbortController()
  const told = Promise.withResolvers<void>()
  let running: Promise<void> | undefined

  const say = async (): Promise<string | undefined> => {
    const { found, ...rest } = await finder.find()
    if (found === undefined) return 'why' in rest ? rest.why : 'none was found'
    log.info({ version: found.version, origin: found.origin, path: found.path }, 'helm is there')
    return undefined
  }

  const fetch = async (why: string): Promise<void> => {
    log.info({ reason: why }, 'no helm was found, so the bundled one is fetched in the background; packages cannot be changed before')
    told.resolve()
    await bundled.install((line) => log.info({ isStep: true }, line), stopping.signal)
    finder.forget()
    await say()
  }

  const supply = async (): Promise<void> => {
    const leftOvers = await removeLeftOvers(deps.folder)
    if (leftOvers > 0) log.info({ folders: leftOvers }, 'working folders of helm that an earlier process left behind were removed')
    const why = await say()
    if (why === undefined) return
    if (setting === 'off') return log.info({}, 'helm is off: packages can be read, not changed')
    if (setting !== undefined) return log.warn({ reason: why }, `no helm can be used. ${howToGetHelm}`)
    try {
      await fetch(why)
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ reason: (error as Error).message }, `helm could not be fetched; packages can be read, not changed. ${howToGetHelm}`)
    }
  }

  return {
    start() {
      running ??= supply()
        .catch((error: unknown) => log.warn({ reason: (error as Error).message }, 'helm could not be looked for'))
        .finally(() => told.resolve())
      return told.promise
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
