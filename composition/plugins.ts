import type { AnyPlugin } from '../plugins/kit/plugin.ts'
import { identityPlugin } from '../plugins/identity/plugin.ts'
import { platformPlugin } from '../plugins/platform/plugin.ts'
import type { Provide } from './boot.ts'
import { provideIdentity } from './provide/identity.ts'
import { provideKernel } from './provide/kernel.ts'

/** Every part of the service, in the order in which one may use another's ports. A deployer's own come by MOORAGE_PLUGINS. */
export const plugins: readonly AnyPlugin[] = [platformPlugin, identityPlugin]

/** What ties the ports of each part to adapters. */
export const providers: readonly Provide[] = [provideKernel, provideIdentity]
