import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf } from '../command-context.ts'
import { describeDeployment } from '../describe-deployment.ts'
import { toWireJson } from '../../core/kernel/wire-json.ts'
import { buildDocument } from '../http/openapi/document.ts'

export const printOpenApi = async (context: CommandContext, options: CommonOptions): Promise<ExitCode> => {
  const { settings } = await configOf(context, options)
  const { assembly, boot } = await describeDeployment(settings)
  const facts = { baseUrl: boot.baseUrl(), sessionCookie: settings.sessionCookie, deployment: boot.deployment }
  context.print(indented(toWireJson(buildDocument(assembly.routes, facts))))
  return 0
}

const indented = (json: string): string => JSON.stringify(JSON.parse(json), null, 2)
