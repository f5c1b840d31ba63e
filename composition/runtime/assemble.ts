import { catalogueProblems } from '../../core/authz/schema.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import type { ObjectPlace, ObjectTypeDefinition } from '../../core/kernel/access.ts'
import type { Deployment, Gate } from '../../core/kernel/deployment.ts'
import { isOpen } from '../../core/kernel/deployment.ts'
import type { TaskHandler } from '../../core/tasks/ports.ts'
import type { Access, GrantedAccess, KeyRef } from '../../plugins/kit/access.ts'
import { paramsOf } from '../../plugins/kit/access.ts'
import type { Job } from '../../plugins/kit/group.ts'
import type { Mount } from '../../plugins/kit/mount.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import type { AnyBoundRoute, Method } from '../../plugins/kit/route.ts'
import type { Container } from '../part/container.ts'
import { StartRefused } from '../part/boot.ts'

/**
 * The object types whose relations an object type has. An account is an organization or a user, so it has the relations
 * of both.
 */
const accountTypes: readonly string[] = ['account', 'organization']
const relationHolders: Readonly<Record<string, readonly string[]>> = { account: ['account', 'organization', 'user'] }

/**
 * Returns the faults of a route's access: a missing scope, an unknown relation, or a parameter that the path does not
 * have.
 */
const accessProblems = (
  route: { readonly bound: AnyBoundRoute; readonly fullPath: string },
  objectTypes: readonly ObjectTypeDefinition[],
): readonly string[] => {
  const { bound, fullPath } = route
  const { id, access } = bound.route
  const problems: string[] = []
  if (!bound.route.path.startsWith('/')) problems.push(`The path of ${id} must start with a slash.`)
  if (/[?#]/.test(bound.route.path))
    problems.push(`The path of ${id} must end before the query: declare its parameters as \`query\`.`)
  problems.push(
    ...methodsOf(bound)
      .filter((method) => !knownMethods.includes(method))
      .map((method) => `The method of ${id} is ${method}: it must be one of ${knownMethods.join(', ')}.`),
  )
  // Without this, a misspelt access would be that of every signed-in user.
  if (!accessKinds.includes(access?.kind))
    return [
      ...problems,
      `The access of ${id} is of no known kind: use anyone, signedIn, siteAdmin, requires(…) and the ` +
        'others of plugins/kit/access.',
    ]
  if (bound.kind === 'stream' && !bound.route.path.endsWith('/*')) problems.push(`The path of ${id} must end in /*.`)
  if (bound.kind === 'json' && bound.route.scope === undefined && !['public', 'password'].includes(access.kind)) {
    problems.push(`Route ${id} says no token scope: every token would pass.`)
  }
  if (access.kind !== 'granted') return problems
  if (!isKnownRelation(access, objectTypes)) {
    problems.push(
      `Route ${id} requires the relation ${access.relation} on ${access.object.type}, which no plugin defines.`,
    )
  } else problems.push(...namingProblems(id, access, objectTypes))
  for (const { name } of paramsOf(access.object).filter((param) => param.in === 'path')) {
    if (!fullPath.includes(`{${name}}`))
      problems.push(`Route ${id} takes its object from the path parameter ${name}, which ${fullPath} does not have.`)
  }
  return problems
}

const isKnownRelation = (access: GrantedAccess, objectTypes: readonly ObjectTypeDefinition[]): boolean => {
  const holders = relationHolders[access.object.type] ?? [access.object.type]
  if (access.relation === 'member' && holders.includes('organization')) return true
  return objectTypes.some(({ type, relations }) => holders.includes(type) && Object.hasOwn(relations, access.relation))
}

const keyOf = (key: KeyRef): ObjectPlace['key'] => ('name' in key ? 'name' : 'id')

/** Returns the way in which the objects of a type are named: `account, within.name, id`. */
const namingOf = (place: ObjectPlace | undefined, outer: ObjectPlace | undefined): string => {
  if (place === undefined) return 'name'
  const isInAccount = (outer ?? place).in === 'account'
  return [...(isInAccount ? ['account'] : []), ...(outer === undefined ? [] : [`within.${outer.key}`]), place.key].join(
    ', ',
  )
}

/** Returns the fault of a route that names its object in another way than the type's place demands. */
const namingProblems = (
  id: string,
  { object }: GrantedAccess,
  objectTypes: readonly ObjectTypeDefinition[],
): readonly string[] => {
  const placeOf = (type: string): ObjectPlace | undefined =>
    objectTypes.find((definition) => definition.type === type && definition.place !== undefined)?.place
  const place = placeOf(object.type)
  if (place === undefined && !accountTypes.includes(object.type))
    return [`Route ${id} names an object of type ${object.type}, which has no place.`]
  const outer = typeof place?.in === 'object' ? placeOf(place.in.type) : undefined
  const wanted = namingOf(place, outer)
  const given = [
    ...(object.account === undefined ? [] : ['account']),
    ...(object.within === undefined ? [] : [`within.${keyOf(object.within)}`]),
    keyOf(object),
  ].join(', ')
  return given === wanted ? [] : [`Route ${id} names a ${object.type} by ${given}: its place demands ${wanted}.`]
}

const accessKinds: readonly unknown[] = [
  'public',
  'password',
  'signed-in',
  'site-admin',
  'granted',
] satisfies readonly Access['kind'][]
const knownMethods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies readonly Method[]

const methodsOf = (bound: AnyBoundRoute): readonly Method[] =>
  bound.kind === 'stream' ? bound.route.methods : [bound.route.method]

/** Returns the faults of a job: a missing id has no lease, and a period of less than a second is a loop. */
const jobProblems = ({ pluginId, job: { id, everySeconds } }: AssembledJob): readonly string[] => [
  ...(typeof id === 'string' && id !== '' ? [] : [`A job of the plugin ${pluginId} has no id.`]),
  ...(everySeconds >= 1 ? [] : [`everySeconds of the job ${id} must be at least 1.`]),
]

export type Listener = AnyPlugin['listener']

export const listenerRoots: Readonly<Record<Listener, string>> = { api: '/api/v1', marketplace: '/marketplace/api/v1' }

/** A route that exists on this deployment. */
export interface AssembledRoute {
  readonly pluginId: string
  readonly listener: Listener
  /** Includes the listener's root: `/api/v1/authz/roles/{id}`. */
  readonly fullPath: string
  readonly methods: readonly Method[]
  /** The narrower of the gates of the plugin and of the route. */
  readonly gate: Gate
  readonly bound: AnyBoundRoute
}

interface AssembledJob {
  readonly pluginId: string
  readonly job: Job
}

/** The parts of this deployment. */
export interface Assembly extends Catalogue {
  readonly plugins: readonly AnyPlugin[]
  readonly routes: readonly AssembledRoute[]
  readonly jobs: readonly AssembledJob[]
  /** The kinds of tasks that this deployment accepts. */
  readonly tasks: readonly TaskHandler[]
  /** What libraries answer outside of the API. */
  readonly mounts: readonly Mount[]
}

const openPlugins = (plugins: readonly AnyPlugin[], deployment: Deployment): readonly AnyPlugin[] =>
  plugins.filter((plugin) => isOpen(plugin.gate, deployment))

/** Returns the union of what the open plugins contribute. */
export const catalogueOf = (plugins: readonly AnyPlugin[], deployment: Deployment): Catalogue => {
  const open = openPlugins(plugins, deployment)
  return {
    permissions: open.flatMap((plugin) => plugin.permissions ?? []),
    objectTypes: open.flatMap((plugin) => plugin.objectTypes ?? []),
  }
}

/** Returns the ids that two plugins have, of which one may be closed. */
export const pluginIdProblems = (plugins: readonly AnyPlugin[]): readonly string[] => repeatedIds(plugins, 'plugin id')

/**
 * Gives each open plugin its ports and collects routes, jobs and kinds of tasks. Throws StartRefused with every problem
 * at once. Missing ports and a wrong catalogue are reported first, since without them plugins cannot declare routes.
 */
export const assemble = (
  plugins: readonly AnyPlugin[],
  container: Pick<Container, 'resolve' | 'has'>,
  deployment: Deployment,
): Assembly => {
  const open = openPlugins(plugins, deployment)
  const catalogue = catalogueOf(plugins, deployment)
  refuseIfAny([...pluginIdProblems(plugins), ...missingNeeds(open, container), ...catalogueProblems(catalogue)])
  const routes: AssembledRoute[] = []
  const jobs: AssembledJob[] = []
  const tasks: TaskHandler[] = []
  const mounts: Mount[] = []
  for (const plugin of open) {
    try {
      const given = Object.fromEntries(
        Object.entries(plugin.needs).map(([name, need]) => [name, container.resolve(need)]),
      )
      routes.push(...plugin.routes(given).map((bound) => assembledRoute(plugin, bound)))
      jobs.push(...plugin.jobs(given).map((job) => ({ pluginId: plugin.id, job })))
      tasks.push(...plugin.tasks(given))
      mounts.push(...plugin.mounts(given))
    } catch (cause) {
      throw cause instanceof StartRefused
        ? cause
        : new StartRefused([
            `The plugin ${plugin.id} could not be given its ports or declare its routes, jobs and tasks: ` +
              `${reasonOf(cause)}`,
          ])
    }
  }
  refuseIfAny([
    ...repeatedIds(
      routes.map(({ bound }) => bound.route),
      'route id',
    ),
    ...repeatedIds(
      jobs.map(({ job }) => job),
      'job id',
    ),
    ...repeatedIds(
      tasks.map(({ kind }) => ({ id: kind })),
      'task kind',
    ),
    ...repeatedIds(mounts, 'mount id'),
    ...repeatedShapes(routes),
    ...jobs.flatMap(jobProblems),
    ...routes.flatMap((route) => accessProblems(route, catalogue.objectTypes)),
  ])
  return {
    plugins: open,
    routes: routes.filter((route) => isOpen(route.gate, deployment)),
    jobs,
    tasks,
    mounts,
    ...catalogue,
  }
}

const ourRoot = new URL('../../', import.meta.url).href

/**
 * Returns the first line of an error, since Node adds lines about the requiring modules, and the nearest place outside
 * of this package.
 */
export const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const place = (cause.stack ?? '').match(/file:\/\/[^\s()]+:\d+/g)?.find((frame) => !frame.startsWith(ourRoot))
  return `${cause.message.split('\n')[0] ?? ''}${place === undefined ? '' : ` (${place.replace('file://', '')})`}`
}

const refuseIfAny = (problems: readonly string[]): void => {
  if (problems.length > 0) throw new StartRefused(problems)
}

/** Returns a route of a plugin with its full path and gate. */
export const assembledRoute = (plugin: AnyPlugin, bound: AnyBoundRoute): AssembledRoute => ({
  pluginId: plugin.id,
  listener: plugin.listener,
  fullPath: listenerRoots[plugin.listener] + bound.route.path,
  methods: methodsOf(bound),
  gate: (bound.kind === 'json' ? bound.route.gate : undefined) ?? plugin.gate,
  bound,
})

const missingNeeds = (plugins: readonly AnyPlugin[], container: Pick<Container, 'has'>): readonly string[] =>
  plugins.flatMap((plugin) =>
    Object.values(plugin.needs)
      .filter((need) => need.isOptional !== true && !container.has(need))
      .map(({ name }) => `Plugin ${plugin.id} needs the port ${name}, which nothing provides.`),
  )

const repeatedIds = (things: readonly { readonly id: string }[], noun: string): readonly string[] => {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { id } of things) (seen.has(id) ? repeated : seen).add(id)
  return [...repeated].map((id) => `The ${noun} ${id} is declared twice.`)
}

/**
 * Returns the routes that occur twice. Routes with the same method and path are equal, regardless of parameter names.
 */
const repeatedShapes = (routes: readonly AssembledRoute[]): readonly string[] => {
  const seen = new Map<string, AssembledRoute>()
  const problems: string[] = []
  for (const route of routes) {
    for (const method of route.methods) {
      const shape = `${method} ${route.fullPath.replaceAll(/\{[^}]*\}/g, '{}').replace(/\/$/, '')}`
      const earlier = seen.get(shape)
      if (earlier === undefined) seen.set(shape, route)
      else
        problems.push(
          `${method} ${route.fullPath} of ${route.bound.route.id} is already ${earlier.fullPath} of ` +
            `${earlier.bound.route.id}.`,
        )
    }
  }
  return problems
}
