import type { AnyPlugin } from '../plugins/kit/plugin.ts'
import { auditPlugin } from '../plugins/audit/plugin.ts'
import { authzPlugin } from '../plugins/authz/plugin.ts'
import { clustersPlugin } from '../plugins/clusters/plugin.ts'
import { identityPlugin } from '../plugins/identity/plugin.ts'
import { organizationsPlugin } from '../plugins/organizations/plugin.ts'
import { platformPlugin } from '../plugins/platform/plugin.ts'
import type { Provide } from './boot.ts'
import { provideAudit } from './provide/audit.ts'
import { provideAuthz } from './provide/authz.ts'
import { provideClusters } from './provide/clusters.ts'
import { provideIdentity } from './provide/identity.ts'
import { provideKernel } from './provide/kernel.ts'
import { provideOrganizations } from './provide/organizations.ts'

/** Every part of the service, in the order in which one may use another's ports. A deployer's own come by MOORAGE_PLUGINS. */
export const plugins: readonly AnyPlugin[] = [platformPlugin, identityPlugin, organizationsPlugin, authzPlugin, auditPlugin, clustersPlugin]

/** What ties the ports of each part to adapters. */
export const providers: readonly Provide[] = [provideKernel, provideIdentity, provideOrganizations, provideAuthz, provideAudit, provideClusters]
