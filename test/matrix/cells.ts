import type { AssembledRoute } from '../../composition/assemble.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import type { Caller, Presented } from './callers.ts'
import type { Decision } from './oracle.ts'
import { decide } from './oracle.ts'

// A change is asked for with an If-Match that no version meets: whoever is admitted is told 412 before anything happens.
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
export const ask = async (service: PopulatedService, target: string, method: string, presented: Presented): Promise<{ status: number; text: string }> => {
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

/** Reads that answer 404 for a plain no: nobody follows anybody here, shows a membership, has a picture or a task, sees a cluster of others by its UID, and there is no bus outside of the process. */
const answersNoBy404 = /\/avatars\/\{|\/following\/\{|\/public_members\/\{|\/tasks\/\{|\/clustersv2\/identity\/\{|\/user\/bus\/|\/usage\/\{owner\}\/bus-credentials/

/** Whether the answer is what the declarations say. */
export const isExpected = ({ route, method, expected, status }: Cell): boolean => {
  if (verdicts[expected](status)) return route.bound.kind === 'stream' || expected !== 'admitted' || method === 'GET' || status === 412
  return expected === 'admitted' && method === 'GET' && status === 404 && answersNoBy404.test(route.fullPath)
}

export const show = ({ route, method, caller, how, expected, status, text }: Cell): string =>
  `${method} ${route.fullPath} as ${caller} by ${how}: ${status}, expected ${expected}; ${text.slice(0, 120)}`

/** Signing out ends the session that the other cells need. */
const endsTheSession = (route: AssembledRoute): boolean => route.fullPath.endsWith('/user/signout')

/** The cells of one caller, with every carrier of the credential. */
export const rowOf = async (service: PopulatedService, route: AssembledRoute, target: string, method: string, caller: Caller): Promise<readonly Cell[]> => {
  const { assembly } = service.running
  const ways = endsTheSession(route) ? caller.presented.filter(({ carrier }) => carrier !== 'session') : caller.presented
  return Promise.all(
    ways.map(async (presented) => {
      const expected = decide(route, method, caller.standing, presented.carrier, assembly)
      return { route, method, caller: caller.name, how: presented.how, expected, ...(await ask(service, target, method, presented)) }
    }),
  )
}
