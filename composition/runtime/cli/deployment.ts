import { fromWireJson, toWireJson } from '../../../core/kernel/json.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { Assembly } from '../assemble.ts'
import { IdentitySettingsPort } from '../../../core/identity/ports.ts'
import type { LoadedConfig } from '../config/config.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { buildDocument } from '../http/openapi/document.ts'
import { documentOfTag } from '../http/openapi/tagged.ts'
import type { Composition } from '../service/compose.ts'
import { compose, makeStopSequence } from '../service/compose.ts'
import { passingFoundation } from '../service/foundation.ts'
import type { CommonOptions, ExitCode } from '../../part/command-context.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { printJson } from '../../part/command-context.ts'
import { configOf } from './config.ts'

const nothing = (): void => undefined
const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Returns the plugins and routes of the deployment, composed over an empty in-memory database that is then closed. */
export const describeDeployment = async (config: LoadedConfig): Promise<Composition> => {
  const foundation = await passingFoundation()
  const stops = makeStopSequence(silentLog)
  stops.add('database', () => foundation.database.close())
  try {
    return compose({ config, foundation, log: silentLog, stops })
  } finally {
    await stops.run()
  }
}

/** Composes the deployment without its data. It fails where `serve` would refuse to start. */
export const checkConfig = async (context: RuntimeContext, options: CommonOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const { settings, file } = config
  const { assembly } = await describeDeployment(config)
  if (options.json === true) printJson(context, resultOf(settings, assembly))
  else printResult(context, settings, assembly, file)
  return 0
}

interface CheckResult {
  readonly deploymentType: string
  readonly plugins: readonly {
    readonly id: string
    readonly gate: string
    readonly summary: string
    readonly routes: readonly string[]
  }[]
  readonly jobs: readonly string[]
}

const resultOf = (settings: RuntimeSettings, assembly: Assembly): CheckResult => ({
  deploymentType: settings.deploymentType,
  plugins: assembly.plugins.map(({ id, gate, summary }) => ({ id, gate, summary, routes: routesOf(assembly, id) })),
  jobs: assembly.jobs.map(({ job }) => job.id),
})

const routesOf = (assembly: Assembly, pluginId: string): readonly string[] =>
  assembly.routes
    .filter((route) => route.pluginId === pluginId)
    .map(({ methods, fullPath }) => `${methods.join(',')} ${fullPath}`)

const printResult = (
  context: RuntimeContext,
  settings: RuntimeSettings,
  assembly: Assembly,
  file: string | undefined,
): void => {
  context.print(
    `The configuration${file === undefined ? '' : ` of ${file}`} is valid. Deployment type: ` +
      `${settings.deploymentType}.`,
  )
  for (const { id, gate, summary } of assembly.plugins) {
    const routes = routesOf(assembly, id)
    context.print(`\n${id} (${gate}): ${summary}`)
    for (const route of routes) context.print(`  ${route}`)
    if (routes.length === 0) context.print('  no routes')
  }
  context.print(`\n${assembly.plugins.length} plugins, ${assembly.routes.length} routes, ${assembly.jobs.length} jobs.`)
}

export interface OpenApiOptions extends CommonOptions {
  readonly tag?: string
}

export const printOpenApi = async (context: RuntimeContext, options: OpenApiOptions): Promise<ExitCode> => {
  const { assembly, boot, container, tags } = await describeDeployment(await configOf(context, options))
  const { sessionCookie } = container.resolve(IdentitySettingsPort)
  const facts = { baseUrl: boot.baseUrl(), sessionCookie, deployment: boot.deployment, tags }
  const whole = buildDocument(assembly.routes, facts)
  const document = options.tag === undefined ? whole : documentOfTag(whole, options.tag)
  if (document === undefined) {
    context.say(`There is no tag ${options.tag}. The tags are: ${whole.tags.map(({ name }) => name).join('; ')}`)
    return 2
  }
  context.print(indented(toWireJson(document)))
  return 0
}

const indented = (json: string): string => toWireJson(fromWireJson(json), 2)
