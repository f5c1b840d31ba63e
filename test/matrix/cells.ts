import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { repeats } from '../support/thorough.ts'
import type { Caller, Presented } from './callers.ts'
import type { Decision } from './oracle.ts'
import { decide } from './oracle.ts'

// A change is asked for with an If-Match that no version meets: whoever is admitted is told 412 before anything
// happens.
export const harmless = { 'if-match': 'W/"never"' }

const withQuery = (target: string, query: Readonly<Record<string, string>>): string => {
  const extra = new URLSearchParams(query).toString()
  return extra === '' ? target : `${target}${target.includes('?') ? '&' : '?'}${extra}`
}

/** One route asked by one caller in one way. */
export interface Cell {
  readonly route: AssembledRoute
  readonly method: string
  readonly caller: string
  readonly how: string
  readonly expected: Decision
  readonly status: number
  readonly text: string
}

/** Asks an address as a caller. */
export const ask = async (
  service: PopulatedService,
  target: string,
  method: string,
  presented: Presented,
): Promise<{ status: number; text: string }> => {
  const headers = { ...presented.headers, ...(method === 'GET' ? {} : harmless) }
  const { status, text } = await service.send(method, withQuery(target, presented.query), { headers })
  return { status, text }
}

const verdicts: Readonly<Record<Decision, (status: number) => boolean>> = {
  unauthenticated: (status) => status === 401,
  denied: (status) => status === 403,
  hidden: (status) => status === 403 || status === 404,
  admitted: (status) => ![401, 403, 404].includes(status),
}

/**
 * Reads that answer 404 for a plain no: nobody follows anybody here, shows a membership, has a picture or a task, sees
 * a cluster of others by its UID, and there is no bus outside of the process.
 */
const answersNoBy404 =
  /\/avatars\/\{|\/following\/\{|\/public_members\/\{|\/tasks\/\{|\/clustersv2\/identity\/\{|\/user\/bus\/|\/usage\/\{owner\}\/bus-credentials/

/** Whether the answer is what the declarations say. */
export const isExpected = ({ route, method, expected, status }: Cell): boolean => {
  if (verdicts[expected](status))
    return route.bound.kind === 'stream' || expected !== 'admitted' || method === 'GET' || status === 412
  return expected === 'admitted' && method === 'GET' && status === 404 && answersNoBy404.test(route.fullPath)
}

export const show = ({ route, method, caller, how, expected, status, text }: Cell): string =>
  `${method} ${route.fullPath} as ${caller} by ${how}: ${status}, expected ${expected}; ${text.slice(0, 120)}`

/** Signing out ends the session that the other cells need. */
const endsTheSession = (route: AssembledRoute): boolean => route.fullPath.endsWith('/user/signout')

/**
 * Returns one of the ways to send a token, in rotation; all of them in a thorough run. One reader takes the token from
 * all of them before the route is known. Each route and each caller meets each way.
 */
const waysOf = ({ presented }: Caller, turn: number): readonly Presented[] => {
  const byToken = presented.filter(({ carrier }) => carrier === 'token')
  const chosen = new Set(
    Array.from({ length: repeats(1, byToken.length) }, (_, index) => byToken[(turn + index) % byToken.length]),
  )
  return presented.filter((each) => each.carrier !== 'token' || chosen.has(each))
}

const rowOf = async (
  service: PopulatedService,
  route: AssembledRoute,
  target: string,
  method: string,
  caller: Caller,
  turn: number,
): Promise<readonly Cell[]> => {
  const { assembly } = service.running
  const ways = waysOf(caller, turn).filter(({ carrier }) => carrier !== 'session' || !endsTheSession(route))
  return Promise.all(
    ways.map(async (presented) => {
      const expected = decide(route, method, caller.standing, presented.carrier, assembly)
      return {
        route,
        method,
        caller: caller.name,
        how: presented.how,
        expected,
        ...(await ask(service, target, method, presented)),
      }
    }),
  )
}

/** The cells of routes and callers. `targetOf` returns the address of a route. */
export const cellsOf = async (
  service: PopulatedService,
  routes: readonly AssembledRoute[],
  callers: readonly Caller[],
  targetOf: (route: AssembledRoute) => string,
): Promise<readonly Cell[]> => {
  const cells: Cell[] = []
  for (const [index, route] of routes.entries()) {
    for (const method of route.methods)
      for (const [place, caller] of callers.entries())
        cells.push(...(await rowOf(service, route, targetOf(route), method, caller, 5 * index + place)))
  }
  return cells
}
