import type { Assembly, AssembledRoute } from '../../composition/runtime/assemble.ts'
import { assemble } from '../../composition/runtime/assemble.ts'
import { anyPort } from '../../composition/runtime/closed-routes.ts'
import type { Container } from '../../composition/part/container.ts'
import { loadParts } from '../../composition/parts.ts'
import type { Tag } from '../../composition/part/tag.ts'
import { tagsOf } from '../../composition/runtime/http/openapi/document.ts'
import type { Deployment } from '../../core/kernel/deployment.ts'
import { deploymentTypes } from '../../core/kernel/deployment.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'

const parts = await loadParts()

/** The plugins of this repository that no setting has to ask for. */
export const ownPlugins: readonly AnyPlugin[] = parts
  .filter(({ isWanted }) => isWanted === undefined)
  .map(({ plugin }) => plugin)

/** The tag groups of the document, of every part. */
export const documentTags: readonly Tag[] = tagsOf(parts)

const portless: Pick<Container, 'resolve' | 'has'> = {
  resolve: <A>() => anyPort as A,
  has: () => true,
}

/** What a deployment is made of, without a single adapter: for tests that read declarations. */
export const assemblyOf = (deployment: Deployment, extraPlugins: readonly AnyPlugin[] = []): Assembly =>
  assemble([...ownPlugins, ...extraPlugins], portless, deployment)

const everyDeployment: readonly Deployment[] = deploymentTypes.map((type) => ({
  type,
  billingEnabled: true,
  runMode: 'production',
}))

/** Every route that some deployment serves, each once. */
export const declaredRoutes = (): readonly AssembledRoute[] => {
  const byId = new Map<string, AssembledRoute>()
  for (const deployment of everyDeployment)
    for (const route of assemblyOf(deployment).routes) byId.set(route.bound.route.id, route)
  return [...byId.values()]
}
