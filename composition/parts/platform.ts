import { makeSqlBrandingStore, makeSqlSiteCounts } from '../../adapters/sql/kernel/site-store.ts'
import { BrandingStorePort, PlatformUnitOfWorkPort, SiteFactsPort } from '../../core/platform/ports.ts'
import { platformPlugin } from '../../plugins/platform/plugin.ts'
import { bind, lazily } from '../part/binding.ts'
import { definePart } from '../part/part.ts'
import { bindUnitOfWork } from './units-of-work.ts'

/** Version, limits, appearance and facts of the site. */
export const part = definePart({
  plugin: platformPlugin,
  tags: [{ name: 'Miscellaneous', description: 'Version, limits, documentation.', after: 'Chart Repositories' }],
  provide(boot) {
    const { database } = boot
    const branding = lazily(() => makeSqlBrandingStore(database))
    return [
      bind(BrandingStorePort, {}, () => branding()(database)),
      bindUnitOfWork(database, PlatformUnitOfWorkPort, () => (tx) => ({ branding: branding()(tx) })),
      bind(SiteFactsPort, {}, () => ({
        ...makeSqlSiteCounts(database),
        settings: () => boot.shownSettings(),
        runtime: `Node.js ${process.version}`,
        startedAt: boot.clock.now(),
        runMode: boot.deployment.runMode,
        deploymentType: boot.deployment.type,
      })),
    ]
  },
})
