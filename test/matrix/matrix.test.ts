// process: own - keeps its process busy
import test from 'ava'
import { paramsOf } from '../../plugins/kit/access.ts'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import { namingParametersOf, targetOf } from '../support/route-targets.ts'
import type { MadeTenant } from '../support/samples.ts'
import { callers, conflicting, type Caller } from './callers.ts'
import { ask, cellsOf, harmless, isExpected, show } from './cells.ts'

const routesOf = (service: PopulatedService): readonly AssembledRoute[] =>
  service.running.assembly.routes.filter(({ listener }) => listener === 'api')

/** One for all tests: none of them changes anything. */
let service: PopulatedService
let everybody: readonly Caller[]
test.before(async () => {
  service = await startPopulatedService()
  everybody = await callers(service)
})
test.after.always(() => service?.stop())

test.serial('every route answers every caller as declared, with any credential', async (t) => {
  t.timeout(1_800_000)
  const rowsBefore = service.rows('select max(id) as n from audit_events')
  const cells = await cellsOf(service, routesOf(service), everybody, (route) => targetOf(route, service.fixture))
  const routes = new Set(cells.map(({ route }) => route.bound.route.id))
  t.is(routes.size, routesOf(service).length)
  const met = new Set(
    cells.flatMap(({ route, caller, how }) => [`${route.bound.route.id} by ${how}`, `${caller} by ${how}`]),
  )
  for (const { name, presented } of everybody) {
    for (const { how, carrier } of presented) {
      t.true(met.has(`${name} by ${how}`), `${name} by ${how}`)
      if (carrier === 'token')
        t.deepEqual(
          [...routes].filter((id) => !met.has(`${id} by ${how}`)),
          [],
          how,
        )
    }
  }
  for (const decision of ['unauthenticated', 'denied', 'hidden', 'admitted'] as const)
    t.true(
      cells.some(({ expected }) => expected === decision),
      decision,
    )
  t.deepEqual(
    cells.filter((cell) => !isExpected(cell)).map(show),
    [],
    'where the answer is 404 and admitted is expected, add an object of the type to test/<part>/sample.ts',
  )
  const audited = service.rows(
    'select distinct action, result from audit_events where id > ?',
    Number(rowsBefore[0]?.['n'] ?? 0),
  )
  const made = new Set<unknown>(['token.created', 'token.deleted', 'cluster.token_created', 'document.downloaded'])
  t.deepEqual(
    audited.filter(({ action, result }) => result !== 'denied' && !made.has(action)),
    [],
    'nothing was changed but tokens and records of downloads, made by the GETs that make them',
  )
})

test.serial('the routes of a marketplace deployment answer every caller as they are declared', async (t) => {
  t.timeout(1_800_000)
  const market = await startPopulatedService({
    MOORAGE_DEPLOYMENT_TYPE: 'CloudAMarketplaceDeployment',
    MOORAGE_CLOUD_A_IP_RANGES: 'off',
    MOORAGE_RUN_MODE: 'development',
  })
  t.teardown(() => market.stop())
  const known = new Set(routesOf(service).map(({ bound }) => bound.route.id))
  const own = routesOf(market).filter(({ bound }) => !known.has(bound.route.id))
  const cells = await cellsOf(market, own, await callers(market), (route) => targetOf(route, market.fixture))
  t.true(new Set(cells.map(({ route }) => route.bound.route.id)).size >= 11)
  t.deepEqual(cells.filter((cell) => !isExpected(cell)).map(show), [])
})

test.serial("two people's credentials and cross-site sessions are refused", async (t) => {
  const [alice, olga] = [await service.tokenFor('alice'), await service.tokenFor('olga')]
  const session = everybody.find(({ name }) => name === 'olga')?.presented.find(({ carrier }) => carrier === 'session')
  if (session === undefined) return t.fail('not signed in')
  const wrong: string[] = []
  for (const route of routesOf(service)) {
    for (const method of route.methods) {
      for (const presented of conflicting(alice, olga, session)) {
        const { status } = await ask(service, targetOf(route, service.fixture), method, presented)
        if (status !== 401) wrong.push(`${method} ${route.fullPath} by ${presented.how}: ${status}`)
      }
    }
  }
  t.deepEqual(wrong, [])
})

test.serial('a session without its CSRF value changes nothing', async (t) => {
  const vera = everybody.find(({ name }) => name === 'vera')
  const session = vera?.presented.find(({ carrier }) => carrier === 'session')
  const other = everybody.find(({ name }) => name === 'olga')?.presented.find(({ carrier }) => carrier === 'session')
  if (session === undefined || other === undefined) return t.fail('not signed in')
  const wrong: string[] = []
  for (const route of routesOf(service).filter(({ bound }) => bound.route.access.kind !== 'password')) {
    const makesToken = route.bound.kind === 'json' && route.bound.route.makesToken === true
    for (const method of route.methods.filter((each) => each !== 'GET' || makesToken)) {
      const { cookie = '' } = session.headers
      const withForeign = { cookie, 'x-csrf-token': other.headers['x-csrf-token'] ?? '' }
      const fromElsewhere = { ...session.headers, 'sec-fetch-site': 'cross-site' }
      for (const headers of [{ cookie }, withForeign, fromElsewhere]) {
        const { status } = await ask(service, targetOf(route, service.fixture), method, { ...session, headers })
        // On a public route an unproven session is nobody's.
        const { access, ok } = route.bound.kind === 'json' ? route.bound.route : { ...route.bound.route, ok: undefined }
        const isSignIn = (ok?.kind === 'cookies' || ok?.setsCookies === true) && headers === fromElsewhere
        const expected =
          access.kind === 'public' && !isSignIn
            ? (await ask(service, targetOf(route, service.fixture), method, { ...session, headers: {} })).status
            : 403
        if (status !== expected)
          wrong.push(`${method} ${route.fullPath}: ${status}, not ${expected}, for ${Object.keys(headers).join('+')}`)
      }
    }
  }
  t.deepEqual(wrong, [])
})

/** The names of a tenant with objects that do not exist in the places of those on which the relation is checked. */
const withAbsent = (route: AssembledRoute, { names }: MadeTenant) => {
  const { access } = route.bound.route
  const checked = access.kind === 'granted' ? paramsOf(access.object).map(({ name }) => name) : []
  const objects = namingParametersOf(route).flatMap(({ name, object }) =>
    checked.includes(name) && 'by' in object ? [object] : [],
  )
  const absent = objects.map(({ object, by }) => {
    const real = names[object]?.[by] ?? ''
    return { object, by, real: String(real), value: typeof real === 'number' ? 999_999 : 'nowhere' }
  })
  return {
    names: {
      ...names,
      ...Object.fromEntries(absent.map(({ object, by, value }) => [object, { ...names[object], [by]: value }])),
    },
    values: absent.flatMap(({ real, value }) => [real, String(value)]),
  }
}

test.serial('hidden and missing objects get one answer for an outsider', async (t) => {
  const token = await service.tokenFor('olga')
  const masked = (text: string, names: readonly string[]): string =>
    names.reduce((left, name) => left.replaceAll(name, '*'), text.replace(/"requestId":"[^"]*"/, ''))
  const differing: string[] = []
  for (const route of routesOf(service)) {
    const { access } = route.bound.route
    if (access.kind !== 'granted') continue
    for (const method of route.methods) {
      const real = targetOf(route, service.fixture)
      const { names: absentNames, values } = withAbsent(route, service.fixture)
      const missing = targetOf(route, { names: absentNames })
      const headers = method === 'GET' ? {} : harmless
      const [there, absent] = [
        await service.send(method, real, { token, headers }),
        await service.send(method, missing, { token, headers }),
      ]
      if (there.status !== absent.status || masked(there.text, values) !== masked(absent.text, values))
        differing.push(`${method} ${route.fullPath}: ${there.text} / ${absent.text}`)
    }
  }
  t.deepEqual(differing, [])
})
