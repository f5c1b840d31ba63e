import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBrandingStore, makeSqlSiteCounts } from '../../adapters/sql/platform/site-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { BrandingStoreToken, PlatformUnitOfWorkToken, SiteFactsToken } from '../../core/platform/ports.ts'
import type { Boot, Provide } from '../boot.ts'
import type { Settings, SettingRow } from '../config/settings.ts'
import { fileKey, settingsTable } from '../config/settings.ts'

const rows = Object.entries(settingsTable as Readonly<Record<string, SettingRow<unknown>>>)

/** Returns the settings as `moorage config print` shows them. */
const shownSettings = (settings: Settings): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    rows.map(([name, row]) => {
      const value = (settings as Readonly<Record<string, unknown>>)[name]
      return [fileKey(row), value === undefined ? null : row.type.show(value)]
    }),
  )

export const providePlatform: Provide = (container, boot: Boot) => {
  const { database } = boot
  const branding = makeSqlBrandingStore(database)
  container.provide(BrandingStoreToken, () => branding(database))
  container.provide(PlatformUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ branding: branding(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
  container.provideValue(SiteFactsToken, {
    ...makeSqlSiteCounts(database),
    settings: () => shownSettings(boot.settings),
    runtime: `Node.js ${process.version}`,
    startedAt: boot.clock.now(),
    runMode: boot.deployment.runMode,
    deploymentType: boot.deployment.type,
  })
}
