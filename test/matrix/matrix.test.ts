import test from 'ava'
import type { AssembledRoute } from '../../composition/assemble.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { Caller, Presented } from './callers.ts'
import { callers, conflicting } from './callers.ts'
import type { Decision } from './oracle.ts'
import { decide } from './oracle.ts'

// A change is asked for with an If-Match that no version meets: whoever is admitted is told 412 before anything happens.
const harmless = { 'if-match': 'W/"never"' }

const withQuery = (target: string, query: Readonly<Record<string, string>>): string => {
  const extra = new URLSearchParams(query).toString()
  return extra === '' ? target : `${target}${target.includes('?') ? '&' : '?'}${extra}`
}

interface Cell {
  readonly route: AssembledRoute
  readonly method: string
  readonly caller: string
  readonly how: string
  readonly expected: Decision
  readonly status: number
  readonly text: string
}

const ask = async (service: PopulatedService, route: AssembledRoute, method: string, presented: Presented): Promise<{ status: number; text: string }> => {
  const target = withQuery(targetOf(route, service.world), presented.query)
  const { status, text } = await service.send(method, target, { headers: { ...presented.headers, ...(method === 'GET' ? {} : harmless) } })
  return { status, text }
}

const verdicts: Readonly<Record<Decision, (status: number) => boolean>> = {
  unauthenticated: (status) => status === 401,
  denied: (status) => status === 403,
  hidden: (status) => status === 403 || status === 404,
  admitted: (status) => ![401, 403, 404].includes(status),
}

/** Reads that answer 404 for a plain no: nobody follows anybody here, shows a membership, has a picture or a task, and there is no bus outside of the process. */
const answersNoBy404 = /\/avatars\/\{|\/following\/\{|\/public_members\/\{|\/tasks\/\{|\/user\/bus\//

const isExpected = ({ route, method, expected, status }: Cell): boolean => {
  if (verdicts[expected](status)) return route.bound.kind === 'stream' || expected !== 'admitted' || method === 'GET' || status === 412
  return expected === 'admitted' && method === 'GET' && status === 404 && answersNoBy404.test(route.fullPath)
}

const show = ({ route, method, caller, how, expected, status, text }: Cell): string =>
  `${method} ${route.fullPath} as ${caller} by ${how}: ${status}, expected ${expected}; ${text.slice(0, 120)}`

/** Signing out ends the session that the other cells need. */
const endsTheSession = (route: AssembledRoute): boolean => route.fullPath.endsWith('/user/signout')

const rowOf = async (service: PopulatedService, route: AssembledRoute, method: string, caller: Caller): Promise<readonly Cell[]> => {
  const { assembly } = service.running
  const ways = endsTheSession(route) ? caller.presented.filter(({ carrier }) => carrier !== 'session') : caller.presented
  return Promise.all(
    ways.map(async (presented) => {
      const expected = decide(route, method, caller.standing, presented.carrier, assembly)
      return { route, method, caller: caller.name, how: presented.how, expected, ...(await ask(service, route, method, presented)) }
    }),
  )
}

const routesOf = (service: PopulatedService): readonly AssembledRoute[] => service.running.assembly.routes.filter(({ listener }) => listener === 'api')

test.serial('every route answers every caller as it is declared, however the credential travels', async (t) => {
  t.timeout(150_000)
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const everybody = await callers(service)
  const rowsBefore = service.sql('select max(id) as n from audit_events')
  const cells: Cell[] = []
  for (const route of routesOf(service)) {
    for (const method of route.methods) for (const caller of everybody) cells.push(...(await rowOf(service, route, method, caller)))
  }
  const routes = new Set(cells.map(({ route }) => route.bound.route.id))
  t.is(routes.size, routesOf(service).length)
  t.true(cells.length > routes.size * 60, `${cells.length} cells`)
  for (const decision of ['unauthenticated', 'denied', 'hidden', 'admitted'] as const) t.true(cells.some(({ expected }) => expected === decision), decision)
  t.deepEqual(cells.filter((cell) => !isExpected(cell)).map(show), [])
  const audited = service.sql('select distinct action, result from audit_events where id > ?', Number(rowsBefore[0]?.['n'] ?? 0))
  const made = new Set<unknown>(['token.created', 'token.deleted', 'cluster.token_created'])
  t.deepEqual(audited.filter(({ action, result }) => result !== 'denied' && !made.has(action)), [], 'nothing was changed but tokens made by the GET that makes them')
})

test.serial('two credentials of two people are refused everywhere, and so is a session where it may not change', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const [alice, olga] = [await service.tokenFor('alice'), await service.tokenFor('olga')]
  const session = (await callers(service)).find(({ name }) => name === 'olga')?.presented.find(({ carrier }) => carrier === 'session')
  if (session === undefined) return t.fail('not signed in')
  const wrong: string[] = []
  for (const route of routesOf(service)) {
    for (const method of route.methods) {
      for (const presented of conflicting(alice, olga, session)) {
        const { status } = await ask(service, route, method, presented)
        if (status !== 401) wrong.push(`${method} ${route.fullPath} by ${presented.how}: ${status}`)
      }
    }
  }
  t.deepEqual(wrong, [])
})

test.serial('a session without its CSRF value changes nothing', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const vera = (await callers(service)).find(({ name }) => name === 'vera')
  const session = vera?.presented.find(({ carrier }) => carrier === 'session')
  const other = (await callers(service)).find(({ name }) => name === 'olga')?.presented.find(({ carrier }) => carrier === 'session')
  if (session === undefined || other === undefined) return t.fail('not signed in')
  const wrong: string[] = []
  for (const route of routesOf(service).filter(({ bound }) => bound.route.access.kind !== 'password')) {
    const makesToken = route.bound.kind === 'json' && route.bound.route.makesToken === true
    for (const method of route.methods.filter((each) => each !== 'GET' || makesToken)) {
      const { cookie = '' } = session.headers
      const withForeign = { cookie, 'x-csrf-token': other.headers['x-csrf-token'] ?? '' }
      const fromElsewhere = { ...session.headers, 'sec-fetch-site': 'cross-site' }
      for (const headers of [{ cookie }, withForeign, fromElsewhere]) {
        const { status } = await ask(service, route, method, { ...session, headers })
        // On a public route an unproven session is nobody's.
        const { access, ok } = route.bound.kind === 'json' ? route.bound.route : { ...route.bound.route, ok: undefined }
        const isSignIn = ok?.kind === 'cookies' && headers === fromElsewhere
        const expected = access.kind === 'public' && !isSignIn ? (await ask(service, route, method, { ...session, headers: {} })).status : 403
        if (status !== expected) wrong.push(`${method} ${route.fullPath}: ${status}, not ${expected}, for ${Object.keys(headers).join('+')}`)
      }
    }
  }
  t.deepEqual(wrong, [])
})

test.serial('to an outsider, what is hidden and what does not exist are one answer', async (t) => {
  const service = await startPopulatedService()
  t.teardown(() => service.stop())
  const token = await service.tokenFor('olga')
  const masked = (text: string, names: readonly string[]): string =>
    names.reduce((left, name) => left.replaceAll(name, '*'), text.replace(/"requestId":"[^"]*"/, ''))
  const differing: string[] = []
  for (const route of routesOf(service)) {
    const { access } = route.bound.route
    if (access.kind !== 'granted') continue
    for (const method of route.methods) {
      const real = targetOf(route, service.world)
      const { teamIds, org, cluster, roleId } = service.world
      const swaps = [[`/${org}`, '/nowhere'], [`org=${org}`, 'org=nowhere'], [`/teams/${teamIds.Editors}`, '/teams/999999'], [`/${cluster}`, '/noship'], [`/roles/${roleId}`, '/roles/999999']] as const
      const missing = swaps.reduce((target, [from, to]) => target.replace(from, to), real)
      const headers = method === 'GET' ? {} : harmless
      const [there, absent] = [await service.send(method, real, { token, headers }), await service.send(method, missing, { token, headers })]
      const names = [org, 'nowhere', String(teamIds.Editors), '999999', cluster, 'noship']
      if (there.status !== absent.status || masked(there.text, names) !== masked(absent.text, names)) differing.push(`${method} ${route.fullPath}: ${there.text} / ${absent.text}`)
    }
  }
  t.deepEqual(differing, [])
})
