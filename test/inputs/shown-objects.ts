import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { BoundRoute } from '../../plugins/kit/route.ts'
import { shapeOf } from '../spec-coverage/rows.ts'
import { declaredRoutes } from '../support/declared-routes.ts'

export type JsonRoute = AssembledRoute & { readonly bound: BoundRoute }

const isJson = (route: AssembledRoute): route is JsonRoute => route.bound.kind === 'json'

/** Every JSON route of some deployment. */
export const declaredJsonRoutes: readonly JsonRoute[] = declaredRoutes().filter(isJson)

/** The routes that show one object. */
export const shownRoutes: readonly JsonRoute[] = declaredJsonRoutes.filter(
  ({ bound }) => bound.route.method === 'GET' && ['json', 'versioned'].includes(bound.route.ok.kind),
)

/** Returns the route that shows one object at an address. */
export const readAt = (fullPath: string): JsonRoute | undefined =>
  shownRoutes.find((route) => shapeOf('GET', route.fullPath) === shapeOf('GET', fullPath))
