import type { Deployment, Gate } from '../../core/kernel/deployment.ts'
import { isOpen } from '../../core/kernel/deployment.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import { assembledRoute } from './assemble.ts'
import type { MatchPath } from './http/request/request-target.ts'
import { makeMatchPath } from './http/request/request-target.ts'

const settingOf: Readonly<Record<Gate, string>> = {
  always: '',
  'vendor-hosted': 'MOORAGE_DEPLOYMENT_TYPE=VendorHosted',
  'vendor-or-marketplace': 'MOORAGE_DEPLOYMENT_TYPE=VendorHosted, or of a marketplace',
  'billing-enabled': 'MOORAGE_BILLING_ENABLED=true',
  'vendor-billing': 'MOORAGE_BILLING_ENABLED=true and MOORAGE_DEPLOYMENT_TYPE=VendorHosted',
  'cloud-a-marketplace': 'MOORAGE_DEPLOYMENT_TYPE=CloudAMarketplaceDeployment',
  'cloud-c-marketplace': 'MOORAGE_DEPLOYMENT_TYPE=CloudCMarketplaceDeployment',
  'any-marketplace': 'MOORAGE_DEPLOYMENT_TYPE of a marketplace',
}

/** Stands for every port, and for what a port returns, where only the declarations of routes are read. @internal */
export const anyPort: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === 'then' || key === Symbol.toPrimitive ? undefined : anyPort),
  apply: () => anyPort,
})

interface ClosedRoute {
  readonly match: MatchPath
  readonly reason: string
}

/** A plugin of a deployer that cannot declare its routes without its ports has none here. */
const routesOf = (plugin: AnyPlugin): ReturnType<AnyPlugin['routes']> => {
  try {
    return plugin.routes(Object.fromEntries(Object.keys(plugin.needs).map((name) => [name, anyPort])))
  } catch {
    return []
  }
}

/** Returns the sentence about a path of the API that only other deployments serve: its part, and the setting for it. */
export type WhyClosed = (path: string) => string | undefined

/** Reads the declarations of the closed routes at the first path that is not served. */
export const makeWhyClosed = (plugins: readonly AnyPlugin[], deployment: Deployment): WhyClosed => {
  let closed: readonly ClosedRoute[] | undefined
  const read = (): readonly ClosedRoute[] =>
    plugins
      .filter(({ listener }) => listener === 'api')
      .flatMap((plugin) => routesOf(plugin).map((bound) => assembledRoute(plugin, bound)))
      .filter(({ gate }) => !isOpen(gate, deployment))
      .map(({ fullPath, gate, pluginId }) => ({
        match: makeMatchPath(fullPath),
        reason: `This deployment does not have the path: the part ${pluginId} needs ${settingOf[gate]}.`,
      }))
  return (path) => (closed ??= read()).find(({ match }) => match(path) !== undefined)?.reason
}
