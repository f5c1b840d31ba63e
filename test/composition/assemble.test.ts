import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { assemble } from '../../composition/runtime/assemble.ts'
import { bind } from '../../composition/part/binding.ts'
import type { Container } from '../../composition/part/container.ts'
import { makeContainer } from '../../composition/runtime/container.ts'
import { StartRefused } from '../../composition/part/boot.ts'
import { unusedPorts, wiringProblems } from '../../composition/runtime/wiring.ts'
import type { ObjectTypeDefinition } from '../../core/kernel/access.ts'
import type { Deployment } from '../../core/kernel/deployment.ts'
import { optional, portKey } from '../../core/kernel/port-key.ts'
import type { Access } from '../../plugins/kit/access.ts'
import { anyone, memberOf, path, read, requires, signedIn, withPassword } from '../../plugins/kit/access.ts'
import { defineGroup } from '../../plugins/kit/group.ts'
import type { AnyPlugin, Plugin } from '../../plugins/kit/plugin.ts'
import { definePlugin } from '../../plugins/kit/plugin.ts'
import { empty } from '../../plugins/kit/reply.ts'
import type { AnyBoundRoute, BoundRoute, BoundStreamRoute, Route } from '../../plugins/kit/route.ts'

const selfHosted: Deployment = { type: 'SelfHosted', billingEnabled: false, runMode: 'production' }

const route = (id: string, more: Partial<Route> = {}): BoundRoute => ({
  kind: 'json',
  route: {
    id,
    method: 'GET',
    path: `/${id}`,
    summary: id,
    tag: 'test',
    access: anyone,
    ok: empty(204),
    failures: [],
    ...more,
  } as Route,
  handler: async () => right(undefined),
  reply: () => undefined,
})

const guarded = (id: string, access: Access, more: Partial<Route> = {}): BoundRoute =>
  route(id, { access, scope: read('misc'), ...more })

const streamed = (id: string, more: Partial<BoundStreamRoute['route']> = {}): BoundStreamRoute => ({
  kind: 'stream',
  route: {
    id,
    methods: ['GET', 'POST'],
    path: `/${id}/{name}/*`,
    summary: id,
    tag: 'test',
    scopeCategory: 'misc',
    failures: [],
    access: requires('can_view', { type: 'team', id: path('name') }),
    ...more,
  },
  handler: async () => right(undefined),
})

const plugin = (
  id: string,
  routes: readonly AnyBoundRoute[] = [],
  { groups = [], ...more }: Partial<Plugin> = {},
): AnyPlugin =>
  definePlugin({
    id,
    summary: id,
    listener: 'api',
    gate: 'always',
    groups: [defineGroup({ needs: {}, routes: () => routes }), ...groups],
    ...more,
  })

const problemsOf = (plugins: readonly AnyPlugin[], container: Container = makeContainer([])): readonly string[] => {
  try {
    assemble(plugins, container, selfHosted)
    return []
  } catch (error) {
    if (error instanceof StartRefused) return error.problems
    throw error
  }
}

const typeOf = (type: string, relations: ObjectTypeDefinition['relations']): ObjectTypeDefinition => ({
  type,
  listed: true,
  scope: 'misc',
  reading: [],
  relations,
})
const byMembership = [{ by: 'member' as const }]
const teamType: ObjectTypeDefinition = {
  ...typeOf('team', { can_view: byMembership }),
  place: { in: 'any-account', key: 'id', rows: 'own' },
}

test('a sound set of plugins is put together, with roots, gates and owners', (t) => {
  const GreetingPort = portKey<string>('test.Greeting')
  const container = makeContainer([bind(GreetingPort, {}, () => 'hello')])
  const seen: unknown[] = []
  const group = defineGroup({
    needs: { greeting: GreetingPort },
    routes: (given) => {
      seen.push(given)
      return [
        route('one.get', { path: '/one/{id}' }),
        guarded('one.members', memberOf(path('org')), { path: '/orgs/{org}' }),
      ]
    },
    jobs: () => [{ id: 'one.sweep', summary: '', everySeconds: 5, run: async () => undefined }],
  })
  const one = plugin('one', [], { groups: [group] })
  const two = plugin('two', [streamed('two.proxy')], { objectTypes: [teamType] })
  const hooks = plugin('hooks', [route('hooks.receive', { method: 'POST', path: '/events' })], {
    listener: 'marketplace',
  })
  const assembly = assemble([one, two, hooks], container, selfHosted)
  t.deepEqual(seen, [{ greeting: 'hello' }])
  t.deepEqual(
    assembly.routes.map(({ pluginId, fullPath, methods, gate }) => `${pluginId} ${methods.join()} ${fullPath} ${gate}`),
    [
      'one GET /api/v1/one/{id} always',
      'one GET /api/v1/orgs/{org} always',
      'two GET,POST /api/v1/two.proxy/{name}/* always',
      'hooks POST /marketplace/api/v1/events always',
    ],
  )
  t.deepEqual(
    assembly.jobs.map(({ pluginId, job }) => `${pluginId} ${job.id}`),
    ['one one.sweep'],
  )
})

test('closed plugins and routes are absent, and their ports are not resolved', (t) => {
  const Missing = portKey<string>('test.Missing')
  const closed = plugin('closed', [route('closed.x')], {
    gate: 'vendor-hosted',
    groups: [defineGroup({ needs: { missing: Missing } })],
    permissions: [],
  })
  const open = plugin('open', [route('open.a'), route('open.b', { gate: 'billing-enabled' })])
  const assembly = assemble([closed, open], makeContainer([]), selfHosted)
  t.deepEqual(
    assembly.plugins.map(({ id }) => id),
    ['open'],
  )
  t.deepEqual(
    assembly.routes.map(({ bound }) => bound.route.id),
    ['open.a'],
  )
  const billed = assemble([open], makeContainer([]), { ...selfHosted, billingEnabled: true })
  t.deepEqual(
    billed.routes.map(({ gate }) => gate),
    ['always', 'billing-enabled'],
  )
})

test('one message names every missing port of every plugin', (t) => {
  const groupOf = (...names: string[]) =>
    defineGroup({ needs: Object.fromEntries(names.map((name) => [name, portKey<unknown>(`test.absent.${name}`)])) })
  const problems = problemsOf([
    plugin('one', [], { groups: [groupOf('a', 'b')] }),
    plugin('two', [], { groups: [groupOf('c')] }),
  ])
  t.deepEqual(problems, [
    'Plugin one needs the port test.absent.a, which nothing provides.',
    'Plugin one needs the port test.absent.b, which nothing provides.',
    'Plugin two needs the port test.absent.c, which nothing provides.',
  ])
})

test('two plugins of one id are refused, also when one of them is closed here', (t) => {
  t.deepEqual(problemsOf([plugin('one'), plugin('one', [], { gate: 'vendor-hosted' })]), [
    'The plugin id one is declared twice.',
  ])
})

test('two routes or jobs of one id are refused', (t) => {
  const job = { id: 'x.sweep', summary: '', everySeconds: 1, run: async () => undefined }
  t.deepEqual(
    problemsOf([
      plugin('one', [route('x', { path: '/a' }), route('x', { path: '/b' })], {
        groups: [defineGroup({ needs: {}, jobs: () => [job, job] })],
      }),
    ]),
    ['The route id x is declared twice.', 'The job id x.sweep is declared twice.'],
  )
})

test('two routes of one method and shape are refused under any parameter names', (t) => {
  const first = plugin('one', [route('a', { path: '/teams/{id}' }), route('other', { path: '/teams/{id}/members' })])
  const second = plugin('two', [
    route('b', { path: '/teams/{team}/' }),
    route('c', { path: '/teams/{id}', method: 'PUT' }),
  ])
  t.deepEqual(problemsOf([first, second]), ['GET /api/v1/teams/{team}/ of b is already /api/v1/teams/{id} of a.'])
  t.deepEqual(
    problemsOf([first, plugin('hooks', [route('b', { path: '/teams/{x}' })], { listener: 'marketplace' })]),
    [],
  )
})

test('a stream route claims each of its methods', (t) => {
  const proxy = plugin('one', [streamed('p'), streamed('q', { path: '/p/{other}/*', methods: ['POST'] })], {
    objectTypes: [teamType],
  })
  t.deepEqual(problemsOf([proxy]), [
    'POST /api/v1/p/{other}/* of q is already /api/v1/p/{name}/* of p.',
    'Route q takes its object from the path parameter name, which /api/v1/p/{other}/* does not have.',
  ])
})

test('a route without a scope is refused unless it is public or wants the password', (t) => {
  const bare = (id: string, access: Access) => route(id, { access })
  t.deepEqual(problemsOf([plugin('one', [bare('a', anyone), bare('b', withPassword), bare('c', signedIn)])]), [
    'Route c says no token scope: every token would pass.',
  ])
})

test('an undefined relation is refused, and organization membership is built in', (t) => {
  const routes = [
    guarded('a', requires('can_view', { type: 'team', id: path('id') }), { path: '/a/{id}' }),
    guarded('b', requires('can_paint', { type: 'team', id: path('id') }), { path: '/b/{id}' }),
    guarded('c', memberOf(path('org')), { path: '/c/{org}' }),
    guarded('d', requires('can_view', { type: 'cluster', account: path('owner'), name: path('name') }), {
      path: '/d/{owner}/{name}',
    }),
    guarded('e', requires('toString', { type: 'team', id: path('id') }), { path: '/e/{id}' }),
  ]
  t.deepEqual(problemsOf([plugin('one', routes, { objectTypes: [teamType] })]), [
    'Route b requires the relation can_paint on team, which no plugin defines.',
    'Route d requires the relation can_view on cluster, which no plugin defines.',
    'Route e requires the relation toString on team, which no plugin defines.',
  ])
})

test('an object that is named in another way than its type demands is refused', (t) => {
  const cabin: ObjectTypeDefinition = {
    ...typeOf('cabin', { can_view: byMembership }),
    place: { in: { type: 'ship' }, key: 'name', rows: 'own' },
  }
  const ship: ObjectTypeDefinition = {
    ...typeOf('ship', { can_view: byMembership }),
    place: { in: 'account', key: 'id', rows: 'own' },
  }
  const at = { path: '/{id}/{name}/{owner}' }
  const routes = [
    guarded('a', requires('can_view', { type: 'team', name: path('name') }), { path: '/a/{name}' }),
    guarded('b', requires('can_view', { type: 'team', account: path('owner'), id: path('id') }), {
      path: `/b${at.path}`,
    }),
    guarded('c', requires('can_view', { type: 'cabin', account: path('owner'), name: path('name') }), {
      path: `/c${at.path}`,
    }),
    guarded(
      'd',
      requires('can_view', { type: 'cabin', account: path('owner'), within: { id: path('id') }, name: path('name') }),
      { path: `/d${at.path}` },
    ),
    guarded('e', requires('can_view', { type: 'raft', name: path('name') }), { path: '/e/{name}' }),
  ]
  t.deepEqual(
    problemsOf([
      plugin('one', routes, { objectTypes: [teamType, ship, cabin, typeOf('raft', { can_view: byMembership })] }),
    ]),
    [
      'Route a names a team by name: its place demands id.',
      'Route b names a team by account, id: its place demands id.',
      'Route c names a cabin by account, name: its place demands account, within.id, name.',
      'Route e names an object of type raft, which has no place.',
    ],
  )
})

test("an account's relations are those of organizations and users", (t) => {
  const access = requires('can_edit', { type: 'account', name: path('name') })
  const organization = typeOf('organization', { can_view: byMembership, can_edit: byMembership })
  const routes = [guarded('a', access, { path: '/a/{name}' })]
  t.deepEqual(problemsOf([plugin('one', routes, { objectTypes: [organization] })]), [])
  t.is(problemsOf([plugin('one', routes)]).length, 1)
})

test('an object named by a parameter that the path does not have is refused', (t) => {
  const routes = [guarded('a', memberOf(path('org')), { path: '/a/{organization}' })]
  t.deepEqual(problemsOf([plugin('one', routes)]), [
    'Route a takes its object from the path parameter org, which /api/v1/a/{organization} does not have.',
  ])
})

test('a path must start with a slash, a stream path end in a wildcard', (t) => {
  const problems = problemsOf([
    plugin('one', [route('a', { path: 'a' }), streamed('b', { path: '/b/{name}' })], { objectTypes: [teamType] }),
  ])
  t.deepEqual(problems, ['The path of a must start with a slash.', 'The path of b must end in /*.'])
})

test('repeated or unknown permissions are refused before a port is made', (t) => {
  const CataloguePort = portKey<string>('test.Catalogue')
  const container = makeContainer([bind(CataloguePort, {}, () => t.fail('made from a wrong catalogue') as never)])
  const edit = { namespace: 'org', action: 'edit', description: '', level: 'admin' as const }
  const painted = typeOf('team', {
    can_view: byMembership,
    can_paint: [{ by: 'permission', namespace: 'team', action: 'paint' }],
  })
  const one = plugin('one', [], {
    permissions: [edit],
    groups: [defineGroup({ needs: { catalogue: CataloguePort } })],
  })
  const problems = problemsOf([one, plugin('two', [], { permissions: [edit], objectTypes: [painted] })], container)
  t.is(problems.length, 2)
  t.regex(problems[0] ?? '', /org\/edit is declared twice/)
  t.regex(problems[1] ?? '', /team\.can_paint asks for an unknown permission/)
})

test('plugins in JavaScript are checked at startup as a compiler would check them', (t) => {
  const misspelt = guarded('misspelt', { kind: 'siteAdmin' } as unknown as Access)
  const problems = problemsOf([
    plugin('one', [
      misspelt,
      guarded('absent', undefined as unknown as Access),
      route('odd', { method: 'FETCH' as 'GET' }),
      route('long', { path: '/long?x=1' }),
    ]),
  ])
  t.is(problems.length, 4)
  t.regex(problems[0] ?? '', /The access of misspelt is of no known kind/)
  t.regex(problems[1] ?? '', /The access of absent is of no known kind/)
  t.regex(problems[2] ?? '', /The method of odd is FETCH/)
  t.regex(problems[3] ?? '', /The path of long must end before the query/)
})

test('a job without an id or without a period is refused', (t) => {
  const job = { id: 'one.turn', summary: '', everySeconds: 60, run: async () => undefined }
  const withJobs = (...jobs: readonly unknown[]) =>
    problemsOf([plugin('one', [], { groups: [defineGroup({ needs: {}, jobs: () => jobs as [typeof job] })] })])
  t.deepEqual(withJobs(job), [])
  t.regex(withJobs({ ...job, everySeconds: 0 }).join(), /everySeconds of the job one\.turn must be at least 1/)
  t.regex(withJobs({ ...job, everySeconds: '60 s' }).join(), /at least 1/)
  t.regex(withJobs({ ...job, id: undefined }).join(), /A job of the plugin one has no id/)
})

test('an error of a plugin that declares its routes names the plugin', (t) => {
  const routes = (): never => {
    throw new Error('no tables')
  }
  t.regex(
    problemsOf([plugin('one', [], { groups: [defineGroup({ needs: {}, routes })] })]).join(),
    /^The plugin one could not .*: no tables/,
  )
})

interface Greeter {
  greet(): string
}
const GreeterPort = portKey<Greeter>('test.Greeter')
const NamePort = portKey<string>('test.Name')

test('a port is made once on first use, after its dependencies', (t) => {
  let made = 0
  const container = makeContainer([
    bind(GreeterPort, { name: NamePort }, ({ name }) => {
      made += 1
      return { greet: () => `hello ${name}` }
    }),
    bind(NamePort, {}, () => 'quay'),
  ])
  t.is(made, 0)
  t.is(container.resolve(GreeterPort).greet(), 'hello quay')
  t.is(container.resolve(GreeterPort), container.resolve(GreeterPort))
  t.is(made, 1)
  t.is(container.give({ greeter: GreeterPort }).greeter, container.resolve(GreeterPort))
})

test('falsy values are values', (t) => {
  t.is(makeContainer([bind(NamePort, {}, () => '')]).resolve(NamePort), '')
})

test('an optional port is undefined where nothing provides it, an unknown one is named', (t) => {
  const named = bind(GreeterPort, { name: optional(NamePort) }, ({ name = 'nobody' }) => ({ greet: () => name }))
  t.is(makeContainer([named]).resolve(GreeterPort).greet(), 'nobody')
  t.is(
    makeContainer([named, bind(NamePort, {}, () => 'quay')])
      .resolve(GreeterPort)
      .greet(),
    'quay',
  )
  t.throws(() => makeContainer([]).resolve(NamePort), { message: /Nothing provides the port test\.Name/ })
})

test('only ports that were made are closed, with their contents', async (t) => {
  const closed: string[] = []
  const closes: (() => Promise<void>)[] = []
  const container = makeContainer(
    [
      bind(
        NamePort,
        {},
        () => 'quay',
        (name) => closed.push(name),
      ),
      bind(
        GreeterPort,
        {},
        () => ({ greet: () => '' }),
        () => t.fail('was never made'),
      ),
    ],
    { onMade: (_port, close) => void (close === undefined ? undefined : closes.push(close)) },
  )
  t.is(closes.length, 0)
  container.resolve(NamePort)
  for (const close of closes) await close()
  t.deepEqual(closed, ['quay'])
})

test('two containers share nothing', (t) => {
  t.true(makeContainer([bind(NamePort, {}, () => 'one')]).has(NamePort))
  t.false(makeContainer([]).has(NamePort))
})

const greeterOf = (needs: Parameters<typeof bind>[1]) => bind(GreeterPort, needs, () => ({ greet: () => '' }))
const neverMade = bind(NamePort, {}, () => {
  throw new Error('made while the wiring is checked')
})

test('wiring gaps, cycles and repetitions are all reported before startup', (t) => {
  const Absent = portKey<string>('test.Absent')
  const Other = portKey<string>('test.Other')
  const circle = [
    bind(NamePort, { greeter: GreeterPort }, () => ''),
    greeterOf({ other: Other }),
    bind(Other, { name: NamePort, absent: Absent, maybe: optional(Absent) }, () => ''),
  ]
  const problems = wiringProblems({
    sources: [
      { owner: 'the part one', bindings: circle },
      { owner: 'the part two', bindings: [neverMade] },
    ],
    wanted: [{ owner: 'Plugin two', needs: { absent: Absent } }],
    whyMissing: ({ name }) => (name === 'test.Absent' ? 'which the part three provides: it is closed' : undefined),
  })
  t.deepEqual(problems, [
    'the part two provides the port test.Name, which the part one already provides.',
    'Plugin two needs the port test.Absent, which the part three provides: it is closed.',
    'The port test.Other of the part one needs the port test.Absent, which the part three provides: it is closed.',
  ])
  t.deepEqual(wiringProblems({ sources: [{ owner: 'the part one', bindings: circle.slice(0, 3) }], wanted: [] }), [
    'The port test.Other of the part one needs the port test.Absent, which nothing provides.',
    'Ports need each other in a circle: test.Name -> test.Greeter -> test.Other -> test.Name.',
  ])
})

test('one third-party part can replace a port, two cannot', (t) => {
  const ours = { owner: 'the part one', bindings: [bind(NamePort, {}, () => 'ours')] }
  const theirs = { owner: 'the part theirs', isOutside: true, bindings: [bind(NamePort, {}, () => 'theirs')] }
  t.deepEqual(wiringProblems({ sources: [ours, theirs], wanted: [] }), [])
  t.is(makeContainer([...ours.bindings, ...theirs.bindings]).resolve(NamePort), 'theirs')
  t.deepEqual(wiringProblems({ sources: [ours, theirs, { ...theirs, owner: 'the part third' }], wanted: [] }), [
    'the part third provides the port test.Name, which the part theirs already provides.',
  ])
})

test('a port that nothing needs, directly or for another port, is reported', (t) => {
  const sources = [{ owner: 'the part one', bindings: [greeterOf({ name: NamePort }), neverMade] }]
  t.deepEqual(unusedPorts({ sources, wanted: [{ owner: 'Plugin one', needs: { greeter: GreeterPort } }] }), [])
  t.deepEqual(unusedPorts({ sources, wanted: [{ owner: 'Plugin one', needs: { name: NamePort } }] }), ['test.Greeter'])
})
