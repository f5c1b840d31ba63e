import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeBunyanLog } from '../../adapters/logging/bunyan-log.ts'
import { loadConfig } from '../../composition/moorage.ts'
import type { RunningService } from '../../composition/runtime/service/running-service.ts'
import { startRunning } from '../../composition/runtime/service/running-service.ts'
import { testEnvironment } from '../support/service.ts'

/** Starts a service in this process, as `moorage serve` does. */
export const start = async (
  environment: Record<string, string | undefined>,
  options: { readonly acceptsKeyring?: boolean } = {},
): Promise<RunningService> =>
  startRunning({
    ...options,
    config: await loadConfig({ environment }),
    log: makeBunyanLog({ level: 'fatal', lines: { add: () => undefined } }),
  })

/** The settings of a service without a first password, on a database of its own. */
export const environmentOn = async (
  t: { teardown(fn: () => void): void },
  database: 'sqlite' | 'mysql',
): Promise<Record<string, string | undefined>> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-first-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return { ...(await testEnvironment(folder, database)), MOORAGE_ADMIN_PASSWORD: undefined }
}
