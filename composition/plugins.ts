import type { AnyPlugin } from '../plugins/kit/plugin.ts'
import { auditPlugin } from '../plugins/audit/plugin.ts'
import { authzPlugin } from '../plugins/authz/plugin.ts'
import { cloudsPlugin } from '../plugins/clouds/plugin.ts'
import { busPlugin } from '../plugins/bus/plugin.ts'
import { clustersPlugin } from '../plugins/clusters/plugin.ts'
import { identityPlugin } from '../plugins/identity/plugin.ts'
import { mailPlugin } from '../plugins/mail/plugin.ts'
import { organizationsPlugin } from '../plugins/organizations/plugin.ts'
import { platformPlugin } from '../plugins/platform/plugin.ts'
import type { Provide } from './boot.ts'
import { provideAudit } from './provide/audit.ts'
import { provideAuthz } from './provide/authz.ts'
import { provideClouds } from './provide/clouds.ts'
import { provideBus } from './provide/bus.ts'
import { provideClusters } from './provide/clusters.ts'
import { provideIdentity } from './provide/identity.ts'
import { provideKernel } from './provide/kernel.ts'
import { provideMail } from './provide/mail.ts'
import { provideOrganizations } from './provide/organizations.ts'
import { providePlatform } from './provide/platform.ts'

/** Every part of the service, in the order in which one may use another's ports. A deployer's own come by MOORAGE_PLUGINS. */
export const plugins: readonly AnyPlugin[] = [platformPlugin, mailPlugin, identityPlugin, organizationsPlugin, authzPlugin, auditPlugin, busPlugin, clustersPlugin, cloudsPlugin]

/** What ties the ports of each part to adapters. */
export const providers: readonly Provide[] = [provideKernel, providePlatform, provideMail, provideIdentity, provideOrganizations, provideAuthz, provideAudit, provideBus, provideClusters, provideClouds]
